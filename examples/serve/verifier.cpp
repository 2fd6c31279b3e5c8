#include "examples/serve/verifier.hpp"

#include <algorithm>

#include "examples/pages/mixing.hpp"

namespace serve {

verifier::verifier(pages::page_layout layout, kvferry::table_view tables, verify_mode mode, pages::mismatch_log& log)
    : layout_(std::move(layout)), tables_(std::move(tables)),
      stride_(mode == verify_mode::sampled ? sampled_stride : 1), log_(log), memory_(tables_.rows),
      running_(tables_.rows) {
  for (row_memory& row : memory_)
    row.groups.resize(layout_.groups.size());
}

void verifier::check(kvferry::kernel& kernel, const pages::step_plan& plan) {
  check_active_rows(plan);
  for (std::uint32_t number = 0; number < tables_.rows; ++number)
    if (running_[number] != nullptr && (number + plan.step) % stride_ == 0)
      check_row(kernel, plan, *running_[number], number);
  check_other_rows(plan);
}

/// The step's rows in the engine's order, each once, then -1.
void verifier::check_active_rows(const pages::step_plan& plan) {
  auto count = static_cast<std::int32_t>(plan.rows.size());
  if (*tables_.num_active != count)
    log_.add("step {}, version {}: num_active is {}, should be {}", plan.step, plan.version, *tables_.num_active,
             count);
  if (plan.rows.size() < tables_.rows && tables_.active_rows[count] != -1)
    log_.add("step {}, version {}: active_rows[{}] is {}, should be -1 behind the last", plan.step, plan.version, count,
             tables_.active_rows[count]);
  std::fill(running_.begin(), running_.end(), nullptr);
  for (std::size_t i = 0; i < plan.rows.size(); ++i) {
    std::int32_t place = tables_.active_rows[i];
    if (place >= 0 && static_cast<std::uint32_t>(place) < tables_.rows && running_[place] == nullptr)
      running_[place] = &plan.rows[i];
    else
      log_.add("step {}, version {}, request {}: active_rows[{}] is {}, should be a row of its own", plan.step,
               plan.version, plan.rows[i].request.value(), i, place);
  }
}

void verifier::check_row(kvferry::kernel& kernel, const pages::step_plan& plan, const pages::planned_row& row,
                         std::uint32_t number) {
  if (tables_.row_request[number] != row.request.value()) {
    log_.add("step {}, version {}, request {}: its row {} is of request {}", plan.step, plan.version,
             row.request.value(), number, tables_.row_request[number]);
    return;
  }
  if (tables_.row_version[number] == 0 || tables_.row_version[number] > plan.version)
    log_.add("step {}, version {}, request {}: its row says version {}", plan.step, plan.version, row.request.value(),
             tables_.row_version[number]);
  row_memory& memory = memory_[number];
  if (memory.request != row.request) {
    memory.request = row.request;
    for (pages::seen_places& places : memory.groups)
      places.clear();
  }
  for (std::uint32_t group = 0; group < layout_.groups.size(); ++group) {
    pages::row_check check(kernel, plan, row, layout_, group, pages::row_entries(tables_, group, number), log_);
    pages_verified_ += check.check_pages(memory.groups[group], stride_);
    check.check_end(tables_.max_blocks);
  }
}

/// Rows that this step does not run: nobody is there who left, and holes are empty. Some each step: a row that went
/// wrong stays wrong.
void verifier::check_other_rows(const pages::step_plan& plan) {
  for (auto number = static_cast<std::uint32_t>(plan.step % sampled_stride); number < tables_.rows;
       number += sampled_stride) {
    if (running_[number] != nullptr)
      continue;
    std::uint64_t request = tables_.row_request[number];
    if (request == pages::no_request)
      check_hole(plan, number);
    else if (!std::binary_search(plan.resting.begin(), plan.resting.end(), kvferry::request_id{request}))
      log_.add("step {}, version {}: row {} is of request {}, which should have none", plan.step, plan.version, number,
               request);
  }
}

void verifier::check_hole(const pages::step_plan& plan, std::uint32_t number) {
  std::uint32_t anywhere = pages::below(tables_.max_blocks, pages::mix(plan.step, number));
  for (std::uint32_t group = 0; group < layout_.groups.size(); ++group) {
    pages::row_entries entries(tables_, group, number);
    for (std::uint32_t ordinal : {std::uint32_t{0}, anywhere})
      if (entries.num_blocks != 0 || entries.slot[ordinal] != pages::no_slot || entries.tier[ordinal] != pages::no_tier)
        log_.add("step {}, version {}, row {}, group {}, ordinal {}: a hole has num_blocks {}, tier {}, slot {}",
                 plan.step, plan.version, number, group, ordinal, entries.num_blocks, entries.tier[ordinal],
                 entries.slot[ordinal]);
  }
}

} // namespace serve
