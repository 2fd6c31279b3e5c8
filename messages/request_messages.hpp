// Messages to a request's cache: calls of the engine, answers of the registry, words of the publisher.
#pragma once

#include "messages/address.hpp"
#include "messages/parts.hpp"

namespace kvferry {

// -- from the engine
// ---------------------------------------------------------------------------------------------------

struct open_request {
  call_id call;
  std::vector<token> prompt;
  std::string adapter;
  std::string salt;
  KVFERRY_FIELDS(open_request, call, prompt, adapter, salt)
  static constexpr message_info info{"open_request", "engine", actor_kind::request_cache, "request_opened",
                                     "actor_died"};
};

/// History, capacity and commit, in one call.
struct advance {
  call_id call;
  history_report history;
  std::vector<token> accepted;       ///< tokens behind those that are known
  std::uint32_t capacity_tokens = 0; ///< less than there is: as it is
  bool commit = false;               ///< complete blocks enter the index
  bool only_free = false;            ///< capacity only from slots that are free; too few: it stays as it is
  KVFERRY_FIELDS(advance, call, history, accepted, capacity_tokens, commit, only_free)
  static constexpr message_info info{"advance", "engine", actor_kind::request_cache, "call_done", "actor_died"};
};

struct enter_decode {
  call_id call;
  history_report history;
  std::vector<token> accepted;
  KVFERRY_FIELDS(enter_decode, call, history, accepted)
  static constexpr message_info info{"enter_decode", "engine", actor_kind::request_cache, "call_done", "actor_died"};
};

struct suspend_request {
  call_id call;
  history_report history;
  std::vector<token> accepted;
  KVFERRY_FIELDS(suspend_request, call, history, accepted)
  static constexpr message_info info{"suspend_request", "engine", actor_kind::request_cache, "call_done", "actor_died"};
};

struct resume_request {
  call_id call;
  KVFERRY_FIELDS(resume_request, call)
  static constexpr message_info info{"resume_request", "engine", actor_kind::request_cache, "call_done", "actor_died"};
};

/// Gives slots back: capacity shrinks to this many tokens, or to the history if that is more.
struct shrink_request {
  call_id call;
  history_report history;
  std::uint32_t capacity_tokens = 0;
  KVFERRY_FIELDS(shrink_request, call, history, capacity_tokens)
  static constexpr message_info info{"shrink_request", "engine", actor_kind::request_cache, "call_done", "actor_died"};
};

/// A suspended request gives up all its pages; from then on it can only be closed.
struct drop_request {
  call_id call;
  KVFERRY_FIELDS(drop_request, call)
  static constexpr message_info info{"drop_request", "engine", actor_kind::request_cache, "call_done", "actor_died"};
};

struct close_request {
  call_id call;
  history_report history;
  KVFERRY_FIELDS(close_request, call, history)
  static constexpr message_info info{"close_request", "engine", actor_kind::request_cache, "request_closed",
                                     "request_closed (idempotent)"};
};

struct join_batch {
  call_id call;
  batch_id batch;
  KVFERRY_FIELDS(join_batch, call, batch)
  static constexpr message_info info{"join_batch", "engine", actor_kind::request_cache, "call_done", "actor_died"};
};

struct leave_batch {
  call_id call;
  KVFERRY_FIELDS(leave_batch, call)
  static constexpr message_info info{"leave_batch", "engine", actor_kind::request_cache, "call_done", "actor_died"};
};

struct query_storage {
  call_id call;
  KVFERRY_FIELDS(query_storage, call)
  static constexpr message_info info{"query_storage", "engine", actor_kind::request_cache, "storage_told",
                                     "unknown_request"};
};

/// Which of a group's blocks are bound to host pages.
struct query_host_pages {
  call_id call;
  group_id group;
  KVFERRY_FIELDS(query_host_pages, call, group)
  static constexpr message_info info{"query_host_pages", "engine", actor_kind::request_cache, "host_pages_told",
                                     "unknown_request"};
};

// -- from the registry
// -------------------------------------------------------------------------------------------------

/// Answers match_prefix and a resume: the claim stands; copies into its pages may be under way.
struct pages_granted {
  call_id call;
  grant granted;
  std::uint32_t matched_tokens = 0;
  bool loading = false;
  KVFERRY_FIELDS(pages_granted, call, granted, matched_tokens, loading)
  static constexpr message_info info{"pages_granted", "page_registry", actor_kind::request_cache, "", "ignored"};
};

/// Answers advance, suspend, shrink and drop.
struct advanced {
  call_id call;
  grant granted;
  std::uint32_t committed_blocks = 0;
  KVFERRY_FIELDS(advanced, call, granted, committed_blocks)
  static constexpr message_info info{"advanced", "page_registry", actor_kind::request_cache, "", "ignored"};
};

/// Answers enter_decode.
struct offload_accepted {
  call_id call;
  grant granted;
  std::uint32_t moving = 0;
  std::uint32_t rebound = 0;
  std::uint32_t deferred = 0;
  KVFERRY_FIELDS(offload_accepted, call, granted, moving, rebound, deferred)
  static constexpr message_info info{"offload_accepted", "page_registry", actor_kind::request_cache, "", "ignored"};
};

/// Answers any call of the registry that could not be done: everything is as before.
struct transition_refused {
  call_id call;
  refusal why;
  KVFERRY_FIELDS(transition_refused, call, why)
  static constexpr message_info info{"transition_refused", "page_registry", actor_kind::request_cache, "", "ignored"};
};

/// Pages of the request have moved, one message for all of one handling.
struct owners_rebound {
  row_seq seq = 0;
  std::vector<page_change> changes;
  KVFERRY_FIELDS(owners_rebound, seq, changes)
  static constexpr message_info info{"owners_rebound", "page_registry", actor_kind::request_cache, "", "ignored"};
};

/// The last load into the request's pages has ended.
struct loads_done {
  row_seq seq = 0;
  std::vector<page_change> changes;
  std::uint32_t blocks = 0; ///< length of the table: cut before the first lost block
  bool lost = false;
  KVFERRY_FIELDS(loads_done, seq, changes, blocks, lost)
  static constexpr message_info info{"loads_done", "page_registry", actor_kind::request_cache, "", "ignored"};
};

struct owners_released {
  KVFERRY_NO_FIELDS
  static constexpr message_info info{"owners_released", "page_registry", actor_kind::request_cache, "", "ignored"};
};

// -- from the publisher
// ------------------------------------------------------------------------------------------------

struct row_joined {
  batch_id batch;
  row_id row; ///< none: the batch is full
  KVFERRY_FIELDS(row_joined, batch, row)
  static constexpr message_info info{"row_joined", "batch_publisher", actor_kind::request_cache, "", "ignored"};
};

/// The row is the request's no more; it is shown until the next publication.
struct row_left {
  batch_id batch;
  KVFERRY_FIELDS(row_left, batch)
  static constexpr message_info info{"row_left", "batch_publisher", actor_kind::request_cache, "", "ignored"};
};

/// No version shows the request any more: it may join another batch.
struct row_gone {
  batch_id batch;
  KVFERRY_FIELDS(row_gone, batch)
  static constexpr message_info info{"row_gone", "batch_publisher", actor_kind::request_cache, "", "ignored"};
};

} // namespace kvferry
