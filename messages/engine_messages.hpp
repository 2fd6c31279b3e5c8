// Replies and events to the engine-facing API.
#pragma once

#include "messages/address.hpp"
#include "messages/parts.hpp"

namespace kvferry {

struct request_registered {
  request_id request;
  KVFERRY_FIELDS(request_registered, request)
  static constexpr message_info info{"request_registered", "page_registry", actor_kind::engine, "", "ignored"};
};

struct request_opened {
  call_id call;
  request_id request;
  std::uint32_t matched_tokens = 0;
  bool loading = false;
  fence_set after;
  std::vector<row_number> unnames;
  std::optional<refusal> refused;
  KVFERRY_FIELDS(request_opened, call, request, matched_tokens, loading, after, unnames, refused)
  static constexpr message_info info{"request_opened", "request_cache", actor_kind::engine, "", "ignored"};
};

/// The answer to a call on a request.
struct call_done {
  call_id call;
  request_id request;
  row_seq seq = 0;                 ///< number that the next publication must show; 0: the request has no row
  fence_set after;                 ///< the batch's stream waits for these before the next launch
  std::vector<row_number> unnames; ///< further numbers that the next publication must show
  std::uint32_t capacity_tokens = 0;
  std::uint32_t moving = 0;
  std::uint32_t rebound = 0;
  std::uint32_t deferred = 0;
  bool loading = false;
  row_id row;
  std::optional<refusal> refused;
  KVFERRY_FIELDS(call_done, call, request, seq, after, unnames, capacity_tokens, moving, rebound, deferred, loading,
                 row, refused)
  static constexpr message_info info{"call_done", "request_cache", actor_kind::engine, "", "ignored"};
};

struct request_closed {
  call_id call;
  request_id request;
  KVFERRY_FIELDS(request_closed, call, request)
  static constexpr message_info info{"request_closed", "request_cache", actor_kind::engine, "", "ignored"};
};

/// Its loads have ended: the request may run, unless it was suspended meanwhile.
struct request_ready {
  request_id request;
  row_seq seq = 0;
  std::uint32_t history_tokens = 0;
  std::uint32_t capacity_tokens = 0; ///< of the cut table, when a load failed
  bool runs = true;                  ///< false: it is suspended, and told of a load that failed
  bool load_failed = false;
  KVFERRY_FIELDS(request_ready, request, seq, history_tokens, capacity_tokens, runs, load_failed)
  static constexpr message_info info{"request_ready", "request_cache", actor_kind::engine, "", "ignored"};
};

/// A request's actor has died: calls on it are answered with actor_died.
struct request_lost {
  request_id request;
  KVFERRY_FIELDS(request_lost, request)
  static constexpr message_info info{"request_lost", "page_registry", actor_kind::engine, "", "ignored"};
};

struct published {
  call_id call;
  version_number version = 0;
  std::uint64_t entries = 0;
  std::vector<request_id> failed;
  std::optional<refusal> refused;
  KVFERRY_FIELDS(published, call, version, entries, failed, refused)
  static constexpr message_info info{"published", "batch_publisher", actor_kind::engine, "", "ignored"};
};

struct read_changed {
  call_id call;
  version_number version = 0;
  std::optional<refusal> refused;
  KVFERRY_FIELDS(read_changed, call, version, refused)
  static constexpr message_info info{"read_changed", "batch_publisher", actor_kind::engine, "", "ignored"};
};

struct batch_closed {
  call_id call;
  std::uint64_t publications = 0;
  std::uint64_t entries = 0;
  fence_set readers; ///< behind all that may still read the tables
  KVFERRY_FIELDS(batch_closed, call, publications, entries, readers)
  static constexpr message_info info{"batch_closed", "batch_publisher", actor_kind::engine, "", "ignored"};
};

/// The request's block table, as its owner knows it.
struct storage_told {
  call_id call;
  request_id request;
  row_seq seq = 0;
  std::uint32_t blocks = 0;
  std::vector<page_change> pages;
  std::vector<group_history> history;
  KVFERRY_FIELDS(storage_told, call, request, seq, blocks, pages, history)
  static constexpr message_info info{"storage_told", "request_cache", actor_kind::engine, "", "ignored"};
};

struct host_pages_told {
  call_id call;
  std::vector<block_ordinal> ordinals; ///< ascending
  KVFERRY_FIELDS(host_pages_told, call, ordinals)
  static constexpr message_info info{"host_pages_told", "request_cache", actor_kind::engine, "", "ignored"};
};

/// As `blocker::cause`.
enum class blocker_cause : std::uint8_t { owner, host_full, copy_failed, copy_under_way };

constexpr std::string_view to_string(blocker_cause cause) {
  switch (cause) {
  case blocker_cause::owner: return "owner";
  case blocker_cause::host_full: return "host_full";
  case blocker_cause::copy_failed: return "copy_failed";
  case blocker_cause::copy_under_way: return "copy_under_way";
  }
  return "?";
}

struct told_blocker {
  blocker_cause cause = blocker_cause::owner;
  request_id request;
  block_ordinal ordinal = 0;
  KVFERRY_FIELDS(told_blocker, cause, request, ordinal)
};

struct blockers_told {
  call_id call;
  std::vector<told_blocker> blockers;
  std::optional<refusal> refused;
  KVFERRY_FIELDS(blockers_told, call, blockers, refused)
  static constexpr message_info info{"blockers_told", "page_registry", actor_kind::engine, "", "ignored"};
};

/// Invariants of the registry that do not hold, and what rows should show.
struct quiet_told {
  call_id call;
  std::vector<std::string> findings;
  std::vector<claim_pages> claims;
  KVFERRY_FIELDS(quiet_told, call, findings, claims)
  static constexpr message_info info{"quiet_told", "page_registry", actor_kind::engine, "", "ignored"};
};

/// Invariants of the tables that do not hold.
struct rows_checked {
  call_id call;
  std::vector<std::string> findings;
  KVFERRY_FIELDS(rows_checked, call, findings)
  static constexpr message_info info{"rows_checked", "batch_publisher", actor_kind::engine, "", "ignored"};
};

/// Counters of the registry, and what a shutdown would leave behind.
struct counters_told {
  call_id call;
  std::uint64_t pages_allocated = 0;
  std::uint64_t pages_offloaded = 0;
  std::uint64_t pages_spilled = 0;
  std::uint64_t pages_demoted = 0;
  std::uint64_t pages_rebound_without_copy = 0;
  std::uint64_t pages_deferred = 0;
  std::uint64_t pages_retried = 0;
  std::uint64_t pages_loaded = 0;
  std::uint64_t pages_branched = 0;
  std::uint64_t pages_evicted = 0;
  std::uint64_t copies_failed = 0;
  std::uint64_t prefix_blocks_hit = 0;
  std::vector<std::uint64_t> pages_by_host_run; ///< as in `statistics`
  std::uint64_t bytes_to_host = 0;
  std::uint64_t bytes_to_gpu = 0;
  std::uint64_t slots_in_use = 0; ///< neither free nor an idle block's
  std::uint64_t owners = 0;
  std::uint64_t copies = 0;
  KVFERRY_FIELDS(counters_told, call, pages_allocated, pages_offloaded, pages_spilled, pages_demoted,
                 pages_rebound_without_copy, pages_deferred, pages_retried, pages_loaded, pages_branched, pages_evicted,
                 copies_failed, prefix_blocks_hit, pages_by_host_run, bytes_to_host, bytes_to_gpu, slots_in_use, owners,
                 copies)
  static constexpr message_info info{"counters_told", "page_registry", actor_kind::engine, "", "ignored"};
};

/// What became of the prefix index in one handling, for routers outside; sent when there is something and
/// `router_events_max` is not 0.
struct index_changed {
  std::uint64_t first = 0; ///< number of the first of `events`, from 1
  std::vector<index_event> events;
  KVFERRY_FIELDS(index_changed, first, events)
  static constexpr message_info info{"index_changed", "page_registry", actor_kind::engine, "", "ignored"};
};

/// What routers were told of, and is there: a `stored` for each block and tier, parents first.
struct index_told {
  call_id call;
  std::uint64_t last = 0; ///< number of the last event that it includes
  std::vector<index_event> events;
  KVFERRY_FIELDS(index_told, call, last, events)
  static constexpr message_info info{"index_told", "page_registry", actor_kind::engine, "", "ignored"};
};

} // namespace kvferry
