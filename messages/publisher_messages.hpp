// Messages to a batch's publisher.
#pragma once

#include "messages/address.hpp"
#include "messages/parts.hpp"

namespace kvferry {

/// A request wants a row and says what it shows.
struct join_row {
  request_id request;
  row_seq seq = 0;
  std::vector<page_change> pages;
  std::vector<group_history> history;
  KVFERRY_FIELDS(join_row, request, seq, pages, history)
  static constexpr message_info info{"join_row", "request_cache", actor_kind::batch_publisher, "row_joined",
                                     "the runtime has ended: runtime_stopped"};
};

/// A change of a row. Sent for every number of a request that ever had a row here, also after it has left.
struct row_changed {
  request_id request;
  row_seq seq = 0;
  bool whole = false; ///< the row shows `changes` and nothing else
  std::vector<page_change> changes;
  std::vector<group_history> history; ///< groups whose published history changes; with `whole`, all others are 0
  KVFERRY_FIELDS(row_changed, request, seq, whole, changes, history)
  static constexpr message_info info{"row_changed", "request_cache", actor_kind::batch_publisher, "", "ignored"};
};

struct leave_row {
  request_id request;
  bool closing = false; ///< the request ends: the registry is told when it is gone; else the request is
  KVFERRY_FIELDS(leave_row, request, closing)
  static constexpr message_info info{"leave_row", "request_cache", actor_kind::batch_publisher,
                                     "row_left; behind the next publication row_gone, or rows_published when it closes",
                                     "the runtime has ended: runtime_stopped"};
};

/// The request's actor has died: its row goes with the next publication.
struct drop_row {
  request_id request;
  KVFERRY_FIELDS(drop_row, request)
  static constexpr message_info info{"drop_row", "page_registry", actor_kind::batch_publisher, "rows_published",
                                     "ignored"};
};

struct publish {
  call_id call;
  std::vector<row_number> seen; ///< numbers that the publication must show
  /// The step's requests, in the engine's order. None: as in the publication before, which was not refused.
  std::optional<std::vector<request_id>> order;
  stream_id stream;
  fence_set after;  ///< the stream waits for these first
  fence_set passed; ///< what is known to have passed: staging memory that can be used again
  KVFERRY_FIELDS(publish, call, seen, order, stream, after, passed)
  static constexpr message_info info{"publish", "engine", actor_kind::batch_publisher, "published",
                                     "the runtime has ended: runtime_stopped"};
};

struct begin_read {
  call_id call;
  stream_id stream;
  KVFERRY_FIELDS(begin_read, call, stream)
  static constexpr message_info info{"begin_read", "engine", actor_kind::batch_publisher, "read_changed",
                                     "the runtime has ended: runtime_stopped"};
};

struct end_read {
  call_id call;
  stream_id stream;
  KVFERRY_FIELDS(end_read, call, stream)
  static constexpr message_info info{"end_read", "engine", actor_kind::batch_publisher, "read_changed",
                                     "the runtime has ended: runtime_stopped"};
};

/// The batch ends: all rows are detached as if they had left and that had been published.
struct close_batch {
  call_id call;
  fence_set readers; ///< behind everything that may still read the tables
  KVFERRY_FIELDS(close_batch, call, readers)
  static constexpr message_info info{"close_batch", "engine", actor_kind::batch_publisher, "batch_closed",
                                     "batch_closed (idempotent)"};
};

/// Compares the tables with what the registry says, when nothing is pending (invariants 7 and 8).
struct check_rows {
  call_id call;
  std::vector<claim_pages> claims;
  KVFERRY_FIELDS(check_rows, call, claims)
  static constexpr message_info info{"check_rows", "engine", actor_kind::batch_publisher, "rows_checked",
                                     "the runtime has ended: runtime_stopped"};
};

} // namespace kvferry
