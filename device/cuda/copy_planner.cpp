#include "device/cuda/copy_planner.hpp"

#include <algorithm>

#include "kvferry/contract.hpp"

namespace kvferry {

namespace {

// Between two staged pieces the copy engine waits for an event of the other stream.
constexpr double staged_piece_us = 1.5;

bool by_host_slot(const planned_page& a, const planned_page& b) { return a.host < b.host; }

} // namespace

std::vector<copy_planner::run> copy_planner::runs_of(std::span<const planned_page> pages) {
  std::vector<run> runs;
  for (std::uint32_t i = 0; i < pages.size(); ++i)
    if (i == 0 || pages[i].host != pages[i - 1].host + 1)
      runs.push_back({i, 1});
    else
      ++runs.back().count;
  return runs;
}

/// Entries of the copy engine's list: fragments that lie one behind the other on both sides are one.
std::uint64_t copy_planner::engine_entries(const page_shape& shape, std::span<const planned_page> pages) {
  if (!shape.dense)
    return pages.size() * std::uint64_t{shape.fragments};
  std::uint64_t entries = pages.empty() ? 0 : 1;
  for (std::size_t i = 1; i < pages.size(); ++i)
    entries += pages[i].host != pages[i - 1].host + 1 || pages[i].gpu != pages[i - 1].gpu + 1 ? 1 : 0;
  return entries;
}

/// Moves runs for which one entry of the copy engine costs less than the kernel loses on their bytes to the front.
copy_planner::parts copy_planner::split(const copy_costs::direction& costs, const page_shape& shape,
                                        std::vector<planned_page>& pages) const {
  parts found;
  if (shape.page_bytes > limits_.staged_bytes_max)
    return found; // a page has to fit the buffer
  const double lost_us_per_page =
      static_cast<double>(shape.page_bytes) * (1.0 / costs.kernel_bytes_per_us - 1.0 / costs.link_bytes_per_us);
  std::vector<planned_page> front;
  std::vector<planned_page> back;
  for (const run& each : runs_of(pages)) {
    const bool worth = only_ == copy_way::staged || each.count * lost_us_per_page > costs.engine_op_us;
    auto& side = worth ? front : back;
    if (worth)
      found.runs.push_back({static_cast<std::uint32_t>(front.size()), each.count});
    side.insert(side.end(), pages.begin() + each.first, pages.begin() + each.first + each.count);
  }
  found.pages = static_cast<std::uint32_t>(front.size());
  if (found.pages != 0 && !back.empty()) {
    front.insert(front.end(), back.begin(), back.end());
    pages = std::move(front);
  }
  return found;
}

double copy_planner::kernel_us(const copy_costs::direction& costs, const page_shape& shape, std::uint64_t pages) const {
  return pages == 0 ? 0.0
                    : costs.kernel_start_us + static_cast<double>(pages * shape.page_bytes) / costs.kernel_bytes_per_us;
}

double copy_planner::engine_us(const copy_costs::direction& costs, const page_shape& shape,
                               std::span<const planned_page> pages) const {
  return pages.empty()
             ? 0.0
             : costs.engine_start_us + static_cast<double>(engine_entries(shape, pages)) * costs.engine_op_us +
                   static_cast<double>(pages.size() * shape.page_bytes) / costs.link_bytes_per_us;
}

double copy_planner::staged_us(const copy_costs::direction& costs, const page_shape& shape, std::uint64_t pages,
                               std::uint64_t runs) const {
  const auto bytes = static_cast<double>(pages * shape.page_bytes);
  const double pieces = 1.0 + bytes / static_cast<double>(limits_.staged_bytes_max) +
                        (bytes > static_cast<double>(limits_.staged_bytes_first) ? 1.0 : 0.0);
  return costs.staged_start_us + bytes / costs.link_bytes_per_us + static_cast<double>(runs) * costs.engine_op_us +
         pieces * staged_piece_us;
}

/// Pages of each staged piece. To the host the first one's kernel is not hidden behind a transfer, to the GPU the last
/// one's; so that is small, and its neighbours grow.
std::vector<std::uint32_t> copy_planner::staged_counts(copy_direction direction, const page_shape& shape,
                                                       std::uint32_t pages) const {
  std::vector<std::uint32_t> counts;
  std::uint64_t bytes = limits_.staged_bytes_first;
  for (std::uint32_t left = pages; left > 0; left -= counts.back()) {
    const std::uint64_t fit = std::clamp<std::uint64_t>(std::min(bytes, limits_.staged_bytes_max) / shape.page_bytes, 1,
                                                        std::uint64_t{limits_.staged_pages_max});
    counts.push_back(static_cast<std::uint32_t>(std::min<std::uint64_t>(fit, left)));
    bytes = std::min(bytes * limits_.staged_growth, limits_.staged_bytes_max);
  }
  if (direction == copy_direction::to_gpu)
    std::reverse(counts.begin(), counts.end());
  return counts;
}

void copy_planner::add(copy_plan& plan, copy_way way, copy_direction direction, const page_shape& shape,
                       std::uint32_t first, std::uint32_t count) const {
  if (count == 0)
    return;
  if (way == copy_way::staged) {
    for (std::uint32_t pages : staged_counts(direction, shape, count)) {
      plan.pieces.push_back({way, first, pages});
      first += pages;
    }
    return;
  }
  const std::uint32_t together =
      way == copy_way::engine ? std::max(1u, limits_.engine_entries_max / shape.fragments) : count;
  for (std::uint32_t end = first + count; first < end; first += std::min(together, end - first))
    plan.pieces.push_back({way, first, std::min(together, end - first)});
}

copy_plan copy_planner::plan(copy_direction direction, const page_shape& shape, std::vector<planned_page> pages) const {
  KVFERRY_REQUIRE(shape.page_bytes > 0 && shape.fragments > 0, "pages of {} bytes in {} fragments", shape.page_bytes,
                  shape.fragments);
  const copy_costs::direction& costs = direction == copy_direction::to_host ? costs_.to_host : costs_.to_gpu;
  copy_plan made;
  if (!std::is_sorted(pages.begin(), pages.end(), by_host_slot))
    std::stable_sort(pages.begin(), pages.end(), by_host_slot);
  const auto all = static_cast<std::uint32_t>(pages.size());

  const double kernel = kernel_us(costs, shape, all);
  const double engine = engine_us(costs, shape, pages);
  const parts front = split(costs, shape, pages);
  const std::span<const planned_page> rest = std::span(pages).subspan(front.pages);
  const double rest_kernel = kernel_us(costs, shape, rest.size());
  const double rest_engine = engine_us(costs, shape, rest);
  const copy_way rest_way = rest_engine < rest_kernel ? copy_way::engine : copy_way::kernel;
  const double staged = staged_us(costs, shape, front.pages, front.runs.size()) + std::min(rest_kernel, rest_engine);

  copy_way best = engine < kernel ? copy_way::engine : copy_way::kernel;
  made.estimated_us = std::min(engine, kernel);
  if (front.pages != 0 && staged < made.estimated_us) {
    best = copy_way::staged;
    made.estimated_us = staged;
  }
  if (only_ && (*only_ != copy_way::staged || front.pages == all))
    best = *only_;

  made.pages = std::move(pages);
  if (best == copy_way::staged) {
    add(made, copy_way::staged, direction, shape, 0, front.pages);
    add(made, rest_way, direction, shape, front.pages, all - front.pages);
  } else {
    add(made, best, direction, shape, 0, all);
  }
  return made;
}

} // namespace kvferry
