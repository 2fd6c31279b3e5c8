// The engine's kernels: one that writes tokens' KV where the published tables say, one that reads every row.
#include <algorithm>

#include "examples/pages/page_writer.hpp"
#include "examples/pages/row_check.hpp"
#include "examples/pages/table_rows.hpp"
#include "examples/scenario/took.hpp"

namespace scenarios {
namespace {

/// The row that shows the request.
std::optional<std::uint32_t> row_of(const kvferry::table_view& tables, kvferry::request_id request) {
  const auto* end = tables.row_request + tables.rows;
  const auto* found = std::find(tables.row_request, end, request.value());
  return found == end ? std::nullopt : std::optional{static_cast<std::uint32_t>(found - tables.row_request)};
}

/// Rows of nobody, and of requests that show nothing.
void check_empty(const pages::step_plan& plan, const kvferry::table_view& tables, std::uint32_t row,
                 pages::mismatch_log& log) {
  for (std::uint32_t group = 0; group < tables.groups.size(); ++group) {
    pages::row_entries entries(tables, group, row);
    for (std::uint32_t o = 0; o < tables.max_blocks; ++o)
      if (entries.slot[o] != pages::no_slot || entries.tier[o] != pages::no_tier)
        log.add("published in step {}: row {}, group {}, ordinal {} should be empty: tier {} slot {}", plan.step, row,
                group, o, entries.tier[o], entries.slot[o]);
    if (entries.num_blocks != 0)
      log.add("published in step {}: row {}, group {} should be empty: num_blocks {}", plan.step, row, group,
              entries.num_blocks);
  }
}

struct table_check {
  std::shared_ptr<const pages::step_plan> plan;
  kvferry::table_view tables;
  const pages::page_layout& layout;
  pages::mismatch_log& log;
  std::optional<std::set<std::uint64_t>> changed; ///< requests whose rows the plan's version changed

  void operator()(kvferry::kernel& kernel) const {
    for (const pages::planned_row& row : plan->rows) {
      const auto place = row_of(tables, row.request);
      if (!place) {
        log.add("published in step {}: request {} has no row", plan->step, row.request.value());
        continue;
      }
      for (std::uint32_t group = 0; group < layout.groups.size(); ++group) {
        pages::row_check check(kernel, *plan, row, layout, group, {tables, group, *place}, log);
        pages::seen_places none; // so that each page is compared as a whole
        check.check_pages(none, 1);
        check.check_end(tables.max_blocks);
      }
    }
    for (std::uint32_t row = 0; row < tables.rows; ++row) {
      const std::uint64_t owner = tables.row_request[row];
      if (owner == pages::no_request ||
          std::binary_search(plan->resting.begin(), plan->resting.end(), kvferry::request_id{owner}))
        check_empty(*plan, tables, row, log);
    }
    if (changed)
      check_changed();
  }

  void check_changed() const {
    for (std::uint32_t row = 0; row < tables.rows; ++row)
      if (const std::uint64_t owner = tables.row_request[row]; owner != pages::no_request) {
        const bool is = tables.row_version[row] == plan->version;
        if (is != changed->contains(owner))
          log.add("published in step {}: the row of request {} was{} changed, but should{} be", plan->step, owner,
                  is ? "" : " not", is ? " not" : "");
      }
  }
};

} // namespace

/// What the batch's tables should show from now on.
std::shared_ptr<const pages::step_plan> world::plan_of(const batch_record& b) const {
  auto plan = std::make_shared<pages::step_plan>();
  plan->step = step_;
  plan->version = b.version;
  for (const std::string& name : b.members) {
    const request_record& r = requests_.at(name);
    if (b.failed.contains(name))
      continue;
    if (r.status == request_record::state::active)
      plan->rows.push_back({r.id, r.chain, r.decoding, r.reported, r.written, r.capacity});
    else // lost ones have left
      plan->resting.push_back(r.id);
  }
  std::ranges::sort(plan->resting);
  return plan;
}

/// False, with a finding: a kernel would go into the graph that is captured, and nothing here replays graphs.
bool world::can_launch(kvferry::stream_id on) {
  if (captured_.contains(on))
    find("nothing can be launched on a stream that is being captured");
  return !captured_.contains(on);
}

/// Checks what the latest publication shows. Orders the stream after the engine's own writers of these tokens.
void world::launch_check(batch_record& b, kvferry::stream_id on, std::optional<std::set<std::uint64_t>> changed_rows) {
  if (!can_launch(on))
    return;
  for (const pages::planned_row& row : b.shown->rows) // also of members that have left since
    for (const auto& [writer, last] : requests_.at(name_of(row.request)).writers)
      if (writer != on)
        device_->wait(on, last);
  table_check check{b.shown, b.tables, layout_, log_, std::move(changed_rows)};
  device_->launch(on, "read", [check = std::move(check), open = b.open](kvferry::kernel& kernel) {
    if (*open)
      check(kernel);
  });
}

/// False: it could not be launched.
bool world::launch_write(request_record& r, std::uint32_t until, kvferry::stream_id on) {
  if (!can_launch(on))
    return false;
  auto in = batches_.find(r.batch);
  const bool shown = in != batches_.end() && in->second.version != 0;
  if ((!shown || until > r.capacity) && skipped_)
    return false;
  if (!shown || until > r.capacity) {
    find(!shown ? "nothing can be written: the request's row was not published"
                : fmt::format("nothing can be written: there are slots for {} tokens", r.capacity));
    return false;
  }
  batch_record& b = in->second;
  know_tokens(r, until);
  if (until <= r.written)
    return true;
  const bool elsewhere = on != b.stream; // then it reads the tables between begin_read and end_read
  if (elsewhere) {
    if (!took(b.batch->begin_read(on), {}))
      return false;
    device_->wait(on, device_->record(b.stream)); // the engine's own order: behind the kernels that read these pages
  }
  for (const auto& [writer, last] : r.writers)
    if (writer != on)
      device_->wait(on, last); // the engine's own order: a token's KV comes after that of the tokens before
  auto plan = std::make_shared<pages::step_plan>();
  plan->step = step_;
  plan->version = b.version;
  plan->rows.push_back({r.id, r.chain, r.decoding, r.written, until, r.capacity});
  device_->launch(on, "write", [plan, tables = b.tables, open = b.open, this](kvferry::kernel& kernel) {
    if (!*open)
      return;
    const pages::planned_row& row = plan->rows.front();
    if (const auto place = row_of(tables, row.request))
      pages::write_row(kernel, *plan, row, *place, tables, layout_, log_);
    else
      log_.add("launched in step {}: request {} has no row to write to", plan->step, row.request.value());
  });
  r.writers[on] = device_->record(on);
  r.written = until;
  if (elsewhere)
    took(b.batch->end_read(on), {});
  return true;
}

} // namespace scenarios
