#include "actors/batch_publisher.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "actors/planted_fault.hpp"
#include "kvferry/contract.hpp"

namespace kvferry {

batch_publisher::batch_publisher(batch_id id, std::size_t groups, const batch_config& config, device& target,
                                 device_memory& tables, publisher_options options)
    : id_(id), device_(target), tables_(tables), mirror_(groups, config), staging_(target, options.staging),
      by_value_(options.by_value_max), rows_(config.rows) {
  KVFERRY_REQUIRE(tables.size_bytes() >= mirror_.layout().bytes, "batch {}: tables of {} bytes in {}", id.value(),
                  mirror_.layout().bytes, tables.size_bytes());
}

std::optional<row_id> batch_publisher::row_of(request_id request) const {
  auto found = row_of_.find(request);
  return found == row_of_.end() ? std::nullopt : std::optional{found->second};
}

/// What a publication costs depends on the rows that it has to look at, so those are listed.
void batch_publisher::touch(row_id row) {
  if (!std::exchange(rows_[row.value()].listed, true))
    touched_.push_back(row);
}

// -- rows
// --------------------------------------------------------------------------------------------------------------

void batch_publisher::handle(const join_row& message, outbox& out) {
  if (dropped_.contains(message.request))
    return; // rule 10: late words of the dead
  auto hole = std::find_if(rows_.begin(), rows_.end(), [](const row_state& r) { return r.request.is_none(); });
  if (hole == rows_.end()) {
    out.send(message.request, row_joined{id_, row_id::none()});
    return;
  }
  const row_id row{static_cast<std::uint32_t>(hole - rows_.begin())};
  hole->request = message.request;
  row_of_[message.request] = row;
  members_changed_ = true;
  change_row(row, message.seq, true, message.pages, message.history);
  out.send(message.request, row_joined{id_, row});
  publish_when_told(out);
}

void batch_publisher::handle(const row_changed& message, outbox& out) {
  if (auto row = row_of(message.request))
    change_row(*row, message.seq, message.whole, message.changes, message.history);
  else // it has left: the next publication does not show it, and that acknowledges the number
    left_numbers_.push_back({message.request, message.seq});
  publish_when_told(out);
}

void batch_publisher::change_row(row_id row, row_seq seq, bool whole, const std::vector<page_change>& pages,
                                 const std::vector<group_history>& history) {
  row_state& state = rows_[row.value()];
  touch(row);
  state.seq = std::max(state.seq, seq);
  state.changed = state.changed || whole || !pages.empty() || !history.empty();
  if (whole)
    mirror_.clear_pages(row);
  set_oversized(row, (state.oversized && !whole) || std::any_of(pages.begin(), pages.end(), [&](const page_change& p) {
                       return p.ordinal >= mirror_.layout().max_blocks;
                     }));
  mirror_.set_owner(row, state.oversized ? request_id::none() : state.request);
  if (state.oversized) {
    mirror_.clear_pages(row);
    pages_left_ = true; // which pages it would have shown is not known any more
    return;
  }
  for (const page_change& page : pages)
    mirror_.set_page(row, page.group, page.ordinal, page.on, page.slot);
  for (const group_history& h : history)
    mirror_.set_history(row, h.group, h.blocks);
}

void batch_publisher::set_oversized(row_id row, bool oversized) {
  if (std::exchange(rows_[row.value()].oversized, oversized) == oversized)
    return;
  oversized ? ++oversized_ : --oversized_;
  members_changed_ = true;
}

void batch_publisher::empty_row(row_id row) {
  mirror_.clear_pages(row);
  mirror_.set_owner(row, request_id::none());
  set_oversized(row, false);
  touch(row);
  row_state& state = rows_[row.value()];
  row_of_.erase(state.request);
  members_changed_ = true;
  state = row_state{};
  state.changed = state.listed = true;
}

void batch_publisher::handle(const leave_row& message, outbox& out) {
  depart(message.request, message.closing, out);
  out.send(message.request, row_left{id_});
  publish_when_told(out);
}

void batch_publisher::handle(const drop_row& message, outbox& out) {
  dropped_.insert(message.request);
  depart(message.request, true, out);
  publish_when_told(out);
}

/// Leaving counts only with a publication that does not show the row (rule 4).
void batch_publisher::depart(request_id request, bool closing, outbox& out) {
  if (auto row = row_of(request)) {
    left_numbers_.push_back({request, rows_[row->value()].seq});
    empty_row(*row);
  }
  auto known =
      std::find_if(departed_.begin(), departed_.end(), [&](const departure& d) { return d.request == request; });
  if (known != departed_.end()) {
    known->closing = known->closing || closing;
  } else if (shown_.contains(request) && !planted(fault::gone_at_leaving)) {
    departed_.push_back({request, closing});
  } else if (closing) {
    out.send(rows_published{id_, 0, {}, {request}, {}, {}});
  } else {
    out.send(request, row_gone{id_});
  }
}

// -- publications
// ------------------------------------------------------------------------------------------------------

void batch_publisher::handle(const publish& message, outbox& out) {
  if (!open_reads_.empty() || asked_) {
    out.send(
        published{message.call,
                  version_,
                  0,
                  {},
                  refusal{error_code::read_open,
                          asked_ ? "another publication waits" : fmt::format("{} reads are open", open_reads_.size()),
                          {}}});
    return;
  }
  asked_ = message;
  publish_when_told(out);
}

/// A request that has ended, or left, satisfies whatever is asked of it.
bool batch_publisher::shows(const row_number& wanted) const {
  auto row = row_of(wanted.request);
  return !row || rows_[row->value()].seq >= wanted.seq;
}

void batch_publisher::publish_when_told(outbox& out) {
  const bool waits = asked_ && !planted(fault::seen_ignored);
  if (!asked_ ||
      (waits && !std::all_of(asked_->seen.begin(), asked_->seen.end(), [&](const row_number& w) { return shows(w); })))
    return;
  publish message = std::move(*asked_);
  asked_.reset();
  publish_now(message, out);
}

/// Rows in the engine's order; none: a request stands there twice.
std::optional<std::vector<row_id>> batch_publisher::rows_in_order() const {
  std::vector<row_id> order;
  std::vector<bool> listed(rows_.size());
  for (request_id request : order_)
    if (auto row = row_of(request); row && !rows_[row->value()].oversized) {
      if (listed[row->value()])
        return std::nullopt;
      listed[row->value()] = true;
      order.push_back(*row);
    }
  return order;
}

void batch_publisher::publish_now(const publish& message, outbox& out) {
  if (message.order)
    order_ = *message.order;
  if (message.order || members_changed_) {
    const auto rows = rows_in_order();
    if (!rows) {
      out.send(published{
          message.call, version_, 0, {}, refusal{error_code::invalid_argument, "order: it names a request twice", {}}});
      return;
    }
    mirror_.set_active(*rows);
    members_changed_ = false;
  }
  if (!message.after.empty())
    device_.wait(message.stream, message.after);
  if (version_ != 0 && message.stream != stream_) { // also when nothing changes: the new stream's steps read the tables
    device_.wait(message.stream, device_.record(stream_)); // so what reads there is behind every later end, too
  }

  std::sort(touched_.begin(), touched_.end());
  published done{message.call, version_, 0, {}, {}};
  rows_published told{id_, version_, {}, {}, {}, {}};
  pages_left_ = mirror_.took_pages_away() || pages_left_;
  const bool changed = mirror_.changed();
  if (changed && !upload(message, done)) {
    out.send(std::move(done));
    return;
  }
  if (!changed)
    follow_readers(message.stream);         // the step behind it writes into pages that they have read
  if (told.version != 0 && frees_pages()) { // of the versions before: nothing reads the new one yet
    if (!changed)
      end_ = {};
    told.readers = end_of_publication(message.stream);
  }
  pages_left_ = false;
  stream_ = message.stream; // not of one that was refused: as its caller has it
  told.version = done.version;
  for (row_id touched : std::exchange(touched_, {})) {
    row_state& row = rows_[touched.value()];
    row.changed = row.listed = false;
    if (row.request.is_none() || row.told == row.seq)
      continue;
    row.told = row.seq;
    shown_.insert(row.request);
    told.shown.push_back({row.request, row.seq});
  }
  for (auto row = rows_.begin(); done.failed.size() < oversized_; ++row)
    if (row->oversized)
      done.failed.push_back(row->request);
  out.send(std::move(done));
  tell(std::move(told), out);
}

/// What the registry hears of rows, with all who have left since the last time; then those of them that go on.
void batch_publisher::tell(rows_published told, outbox& out) {
  for (const row_number& left : std::exchange(left_numbers_, {}))
    told.shown.push_back(left);
  for (const departure& d : std::exchange(departed_, {})) {
    shown_.erase(d.request);
    (d.closing ? told.gone : told.left).push_back(d.request);
  }
  const std::vector<request_id> left = told.left;
  out.send(std::move(told)); // first: its readers are known before a number is acknowledged from elsewhere
  for (request_id request : left)
    out.send(request, row_gone{id_});
}

/// Do the registry's slots wait for the readers of the versions so far? Without a fence when nothing left the tables.
bool batch_publisher::frees_pages() const { return pages_left_ || !left_numbers_.empty() || !departed_.empty(); }

/// Writes what changed into the tables, on the caller's stream. False: refused, nothing was done.
bool batch_publisher::upload(const publish& message, published& done) {
  const auto is_changed = [&](row_id row) { return rows_[row.value()].changed; };
  const auto rows_changed = static_cast<std::size_t>(std::count_if(touched_.begin(), touched_.end(), is_changed));
  std::optional<staging_ring::slot> staged;
  if (const std::size_t at_most = mirror_.changes() + rows_changed; at_most > by_value_.size()) {
    staging_.reclaim(message.passed);
    auto slot = staging_.acquire(at_most);
    if (!slot) {
      done.refused = refusal{slot.error().code, slot.error().message, {}};
      return false;
    }
    staged = *slot;
  }
  ++version_;
  for (row_id row : touched_)
    if (is_changed(row))
      mirror_.set_row_version(row, version_);
  const std::size_t count = mirror_.changes();
  const std::span<table_entry> entries = std::span{staged ? staged->entries : by_value_}.first(count);
  mirror_.take_changes(entries);
  follow_readers(message.stream);
  device_.write_tables(message.stream, tables_, entries);
  end_ = {};
  if (staged)
    staging_.publish(*staged, end_of_publication(message.stream));
  if (read_elsewhere_)
    end_of_publication(message.stream);
  ++publications_;
  entries_ += count;
  done.version = version_;
  done.entries = count;
  return true;
}

// -- the end
// --------------------------------------------------------------------------------------------------------------

void batch_publisher::handle(const close_batch& message, outbox& out) {
  rows_published told{id_, 0, {}, {}, {}, message.readers}; // not a publication
  told.readers.add(readers_);
  for (stream_id stream : open_reads_) // what was launched there reads the tables, though nobody ended the read
    told.readers.add(device_.record(stream));
  for (const row_state& row : rows_)
    if (!row.request.is_none()) {
      told.shown.push_back({row.request, row.seq});
      told.left.push_back(row.request);
    }
  const fence_set readers = told.readers;
  tell(std::move(told), out);
  if (asked_)
    out.send(published{asked_->call, version_, 0, {}, refusal{error_code::runtime_stopped, "the batch is closed", {}}});
  out.send(batch_closed{message.call, publications_, entries_, readers});
  ended_ = true;
}

} // namespace kvferry
