// One batch's publisher: rows, the mirror of the tables, what is not published yet, versions, and who still reads them.
//
// A publication shows each row whole before or whole after a change, uploads what changed and nothing else, and waits
// for exactly the numbers that its caller had been told of. It knows nothing of blocks. A plain class, bound in
// batch_publisher_actor.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "actors/table_mirror.hpp"
#include "device/device.hpp"
#include "device/staging_ring.hpp"
#include "kvferry/configuration.hpp"
#include "messages/any_message.hpp"

namespace kvferry {

struct publisher_options {
  staging_ring_options staging = {};
  std::size_t by_value_max = table_entries_by_value; ///< entries of a publication that needs no staging memory
};

class batch_publisher {
public:
  /// `tables` is the allocation that `table_layout` describes; it and `target` outlive this.
  batch_publisher(batch_id id, std::size_t groups, const batch_config& config, device& target, device_memory& tables,
                  publisher_options options = {});

  void handle(const join_row& message, outbox& out);
  void handle(const row_changed& message, outbox& out);
  void handle(const leave_row& message, outbox& out);
  void handle(const drop_row& message, outbox& out);
  void handle(const publish& message, outbox& out);
  void handle(const begin_read& message, outbox& out);
  void handle(const end_read& message, outbox& out);
  void handle(const close_batch& message, outbox& out);
  void handle(const check_rows& message, outbox& out);

  bool ended() const { return ended_; }

  /// Nothing to be held against within the publisher: `check_rows` compares its rows with what the registry says.
  void check_touched() const {}

private:
  struct row_state {
    request_id request;     // none: a hole
    row_seq seq = 0;        // latest number that the mirror shows
    row_seq told = 0;       // latest number that rows_published has named
    bool changed = false;   // since the last publication
    bool oversized = false; // does not fit: shown as a hole
    bool listed = false;    // in `touched_`
  };

  /// A request whose row was shown and is not any more; told of at the next publication.
  struct departure {
    request_id request;
    bool closing = false;
  };

  std::optional<row_id> row_of(request_id request) const;
  void touch(row_id row);
  void change_row(row_id row, row_seq seq, bool whole, const std::vector<page_change>& pages,
                  const std::vector<group_history>& history);
  void set_oversized(row_id row, bool oversized);
  void empty_row(row_id row);
  void depart(request_id request, bool closing, outbox& out);
  bool shows(const row_number& wanted) const;
  void publish_when_told(outbox& out);
  std::optional<std::vector<row_id>> rows_in_order() const;
  void publish_now(const publish& message, outbox& out);
  void tell(rows_published told, outbox& out);
  bool frees_pages() const;
  void follow_readers(stream_id stream);
  bool upload(const publish& message, published& done);
  fence end_of_publication(stream_id stream);

  const batch_id id_;
  device& device_;
  device_memory& tables_;
  table_mirror mirror_;
  staging_ring staging_;
  std::vector<table_entry> by_value_; // in `upload`; as many as need no staging memory
  std::vector<row_state> rows_;
  std::vector<row_id> touched_;   // may have changed, or have a number that was not told, since the last publication
  std::uint32_t oversized_ = 0;   // rows
  std::vector<request_id> order_; // the engine's, of the latest publication
  bool members_changed_ = true;   // of `order_`: others of it have rows than the mirror says
  std::unordered_map<request_id, row_id> row_of_;
  std::unordered_set<request_id> shown_;   // requests that the latest version names
  std::unordered_set<request_id> dropped_; // dead before they had a row
  std::vector<departure> departed_;
  std::vector<row_number> left_numbers_; // numbers of requests that have left, to be acknowledged
  std::optional<publish> asked_;         // waits for numbers
  version_number version_ = 0;
  stream_id stream_;                  // of the latest publication
  fence end_;                         // behind its table writes, when somebody needed it
  fence_set readers_;                 // on other streams, left by end_read since
  bool pages_left_ = false;           // since the latest publication an entry lost a page that a version may show
  bool read_elsewhere_ = false;       // there have been reads on other streams: each publication needs its end
  std::vector<stream_id> open_reads_; // one for each
  std::uint64_t publications_ = 0;
  std::uint64_t entries_ = 0;
  bool ended_ = false;
};

} // namespace kvferry
