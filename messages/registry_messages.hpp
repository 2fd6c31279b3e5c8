// Messages to the page registry.
#pragma once

#include "messages/address.hpp"
#include "messages/parts.hpp"

namespace kvferry {

/// A request's id becomes known, before its actor says anything.
struct register_request {
  request_id request;
  KVFERRY_FIELDS(register_request, request)
  static constexpr message_info info{"register_request", "engine", actor_kind::page_registry, "request_registered",
                                     "the runtime has ended: runtime_stopped"};
};

/// Opens a claim in prefill with the longest prefix that is there.
struct match_prefix {
  request_id request;
  call_id call;
  std::string adapter; ///< namespace, tagged fields
  std::string salt;
  block_keys keys; ///< of all whole blocks of the prompt, and all its tokens
  std::uint32_t prompt_tokens = 0;
  KVFERRY_FIELDS(match_prefix, request, call, adapter, salt, keys, prompt_tokens)
  static constexpr message_info info{"match_prefix", "request_cache", actor_kind::page_registry,
                                     "pages_granted | transition_refused", "the runtime has ended: runtime_stopped"};
};

enum class transition : std::uint8_t {
  advance, ///< history, capacity, commit
  enter_decode,
  suspend,
  resume,
  shrink, ///< capacity
  drop,   ///< all pages of a suspended request
};

constexpr std::string_view to_string(transition kind) {
  switch (kind) {
  case transition::advance: return "advance";
  case transition::enter_decode: return "enter_decode";
  case transition::suspend: return "suspend";
  case transition::resume: return "resume";
  case transition::shrink: return "shrink";
  case transition::drop: return "drop";
  }
  return "?";
}

/// A request's claim changes. Planned without writing, then done as a whole or refused.
struct owner_transition {
  request_id request;
  call_id call;
  transition kind = transition::advance;
  history_report history;
  std::uint32_t capacity_blocks = 0; ///< length of the block table wanted; but for a shrink, less than it has: as it is
  block_keys commit;                 ///< blocks that enter the index
  bool only_free = false;            ///< of an advance: as there
  KVFERRY_FIELDS(owner_transition, request, call, kind, history, capacity_blocks, commit, only_free)
  static constexpr message_info info{"owner_transition", "request_cache", actor_kind::page_registry,
                                     "advanced | pages_granted | offload_accepted | transition_refused",
                                     "the runtime has ended: runtime_stopped"};
};

/// The request ends: it lets go of all its blocks.
struct release_owners {
  request_id request;
  history_report history;
  KVFERRY_FIELDS(release_owners, request, history)
  static constexpr message_info info{"release_owners", "request_cache", actor_kind::page_registry, "owners_released",
                                     "the runtime has ended: runtime_stopped"};
};

/// From now on this batch's publisher acknowledges the request's numbers; none: the request does.
struct batch_changed {
  request_id request;
  batch_id batch;
  KVFERRY_FIELDS(batch_changed, request, batch)
  static constexpr message_info info{"batch_changed", "request_cache", actor_kind::page_registry, "", "ignored"};
};

/// A request without a row acknowledges its own number.
struct row_acknowledged {
  request_id request;
  row_seq seq = 0;
  KVFERRY_FIELDS(row_acknowledged, request, seq)
  static constexpr message_info info{"row_acknowledged", "request_cache", actor_kind::page_registry, "", "ignored"};
};

/// A publication: the numbers it shows, and the requests that no version names any more. Sent for every `publish`, also
/// when it changed nothing; with version 0 by a batch that closes, and for a request that went without having been
/// shown.
struct rows_published {
  batch_id batch;
  version_number version = 0;
  std::vector<row_number> shown; ///< rows that this publication changed
  std::vector<request_id> gone;  ///< have ended
  std::vector<request_id> left;  ///< go on without a row
  fence_set readers;             ///< behind all readers of earlier versions
  KVFERRY_FIELDS(rows_published, batch, version, shown, gone, left, readers)
  static constexpr message_info info{"rows_published", "batch_publisher", actor_kind::page_registry, "", "ignored"};
};

/// Copies are on a stream: they may be waited for.
struct copies_submitted {
  std::vector<page_move> moves;
  fence submitted;
  KVFERRY_FIELDS(copies_submitted, moves, submitted)
  static constexpr message_info info{"copies_submitted", "storage", actor_kind::page_registry, "", "ignored"};
};

/// Each move is answered once.
struct copies_done {
  std::vector<move_result> results;
  KVFERRY_FIELDS(copies_done, results)
  static constexpr message_info info{"copies_done", "storage", actor_kind::page_registry, "", "ignored"};
};

/// Fences that the registry had asked for have passed.
struct fence_passed {
  fence_set passed;
  KVFERRY_FIELDS(fence_passed, passed)
  static constexpr message_info info{"fence_passed", "completions", actor_kind::page_registry, "", "ignored"};
};

/// The end of a step: what was decided is submitted. Passed on to storage behind all copies decided before it, when
/// there are any.
struct flush_copies {
  KVFERRY_NO_FIELDS
  static constexpr message_info info{"flush_copies", "engine", actor_kind::page_registry, "", "ignored"};
};

/// A publication that shows what the one before showed, for which the publisher was not asked. What was decided is
/// submitted as by flush_copies.
struct published_unchanged {
  batch_id batch; ///< for those who read a record
  KVFERRY_FIELDS(published_unchanged, batch)
  static constexpr message_info info{"published_unchanged", "engine", actor_kind::page_registry, "", "ignored"};
};

/// A request's actor has died.
struct request_down {
  request_id request;
  KVFERRY_FIELDS(request_down, request)
  static constexpr message_info info{"request_down", "request_cache", actor_kind::page_registry, "", "ignored"};
};

/// The engine has closed a request whose actor had died in no row: what still ran it is known now.
struct bury_request {
  request_id request;
  history_report history;
  KVFERRY_FIELDS(bury_request, request, history)
  static constexpr message_info info{"bury_request", "engine", actor_kind::page_registry, "", "ignored"};
};

struct query_blockers {
  call_id call;
  request_id request;
  group_id group;
  block_ordinal ordinal = 0;
  KVFERRY_FIELDS(query_blockers, call, request, group, ordinal)
  static constexpr message_info info{"query_blockers", "engine", actor_kind::page_registry, "blockers_told",
                                     "the runtime has ended: runtime_stopped"};
};

struct query_counters {
  call_id call;
  KVFERRY_FIELDS(query_counters, call)
  static constexpr message_info info{"query_counters", "engine", actor_kind::page_registry, "counters_told",
                                     "the runtime has ended: runtime_stopped"};
};

/// Asks for what invariants Q need, when nothing is pending.
struct query_quiet {
  call_id call;
  KVFERRY_FIELDS(query_quiet, call)
  static constexpr message_info info{"query_quiet", "engine", actor_kind::page_registry, "quiet_told",
                                     "the runtime has ended: runtime_stopped"};
};

/// Asks for all blocks of the prefix index that routers were told of.
struct query_index {
  call_id call;
  KVFERRY_FIELDS(query_index, call)
  static constexpr message_info info{"query_index", "engine", actor_kind::page_registry, "index_told",
                                     "the runtime has ended: runtime_stopped"};
};

} // namespace kvferry
