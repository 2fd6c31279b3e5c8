#include "device/cuda/copy_planner.hpp"

#include <algorithm>
#include <array>

#include "kvferry/contract.hpp"

namespace kvferry {

namespace {

// Between two staged pieces the copy engine waits for an event of the other stream. Measured on an H200: 3 us a piece.
constexpr double staged_piece_us = 3.0;

// Kernels that read and kernels that write host memory slow each other down, copy engines do not. Measured on an H200:
// together they reach 0.75 to 0.8 of what two contiguous copies reach.
constexpr double kernel_share_in_both = 0.82;

// What the caller may spend on the copy engine's share beside a kernel, of the time that the pages need.
constexpr double engine_share_of_time = 0.05;
constexpr double engine_share_max = 0.6;
constexpr double engine_share_min = 0.04;       // below, calls cost more than they give
constexpr double engine_share_starts_us = 15.0; // a second stream, and waiting for both

// What the caller spends on a part: calls, and looking at each page. Measured on an H200's host, with caches that other
// work has used.
constexpr double part_submit_us = 15.0;
constexpr double page_submit_us = 0.015;

/// Byte by byte from the lowest: comparing would take several times as long as the link needs for small pages.
/// `used`: bits that any host slot has.
void sort_by_host_slot(std::vector<planned_page>& pages, std::vector<planned_page>& scratch, std::uint32_t used) {
  scratch.resize(pages.size());
  for (unsigned shift = 0; shift < 32 && used >> shift != 0; shift += 8) {
    std::array<std::uint32_t, 257> begins{};
    for (const planned_page& page : pages)
      ++begins[(page.host >> shift & 0xff) + 1];
    for (std::size_t i = 1; i < begins.size(); ++i)
      begins[i] += begins[i - 1];
    for (const planned_page& page : pages)
      scratch[begins[page.host >> shift & 0xff]++] = page;
    pages.swap(scratch);
  }
}

} // namespace

/// All that plans need to know of pages, in one go: for small pages each look at a page counts.
copy_planner::looked copy_planner::look(std::span<const planned_page> pages) {
  looked seen;
  if (pages.empty())
    return seen;
  planned_page before = pages.front();
  std::uint32_t length = 1;
  seen = {true, 1, 1, 1, before.host};
  for (const planned_page& page : pages.subspan(1)) {
    const bool goes_on = page.host == before.host + 1;
    seen.runs += goes_on ? 0 : 1;
    seen.dense_entries += goes_on && page.gpu == before.gpu + 1 ? 0 : 1;
    length = goes_on ? length + 1 : 1;
    seen.longest = std::max(seen.longest, length);
    seen.sorted = seen.sorted && before.host < page.host;
    seen.host_bits |= page.host;
    before = page;
  }
  return seen;
}

std::vector<copy_planner::run> copy_planner::runs_of(std::span<const planned_page> pages) {
  std::vector<run> runs;
  for (std::uint32_t i = 0; i < pages.size(); ++i)
    if (i == 0 || pages[i].host != pages[i - 1].host + 1)
      runs.push_back({i, 1});
    else
      ++runs.back().count;
  return runs;
}

/// Moves runs for which one entry of the copy engine costs less than the kernel loses on their bytes to the front.
copy_planner::worthy copy_planner::split(const asked& of, std::vector<planned_page>& pages, const looked& seen) {
  worthy found;
  if (of.shape.page_bytes > limits_.staged_bytes_max)
    return found; // a page has to fit the buffer
  const double lost_us_per_page = of.page_us_by_kernel() - of.page_us_by_link();
  const auto worth = [&](std::uint32_t length) {
    return only_ == copy_way::staged || length * lost_us_per_page > of.costs.engine_op_us;
  };
  if (!worth(seen.longest))
    return found;
  if (seen.runs == 1)
    return {1, static_cast<std::uint32_t>(pages.size())};
  const std::vector<run> runs = runs_of(pages);
  for (const run& each : runs)
    if (worth(each.count)) {
      ++found.runs;
      found.pages += each.count;
    }
  if (found.runs == runs.size())
    return found;
  scratch_.clear();
  for (bool front : {true, false})
    for (const run& each : runs)
      if (worth(each.count) == front)
        scratch_.insert(scratch_.end(), pages.begin() + each.first, pages.begin() + each.first + each.count);
  pages.swap(scratch_);
  return found;
}

double copy_planner::asked::page_us_by_link() const {
  return static_cast<double>(shape.page_bytes) / costs.link_bytes_per_us;
}

double copy_planner::asked::page_us_by_kernel() const {
  return static_cast<double>(shape.page_bytes) / kernel_bytes_per_us;
}

/// Of pages that a kernel copies, so many go by the copy engine at the same time. Reads of host memory by SMs do not
/// fill the link, whatever the kernel; with the engine beside it the link is fuller by the engine's share.
std::uint32_t copy_planner::engine_share(const asked& of, std::uint32_t pages) const {
  if (only_ || of.part.both) // with both directions at once it gives nothing
    return 0;
  const double submit_us = of.shape.fragments * of.costs.engine_submit_us;
  const double engine_us = of.shape.fragments * of.costs.engine_op_us + of.page_us_by_link();
  const double share = std::min({engine_share_of_time * of.page_us_by_link() / submit_us,
                                 of.page_us_by_kernel() / (of.page_us_by_kernel() + engine_us), engine_share_max});
  if (share < engine_share_min)
    return 0;
  const double saves_us = share * pages * of.weight * (of.page_us_by_kernel() - of.page_us_by_link());
  return saves_us < engine_share_starts_us ? 0 : static_cast<std::uint32_t>(share * pages);
}

double copy_planner::kernel_us(const asked& of, std::uint32_t pages) const {
  if (pages == 0)
    return 0.0;
  const std::uint32_t by_engine = engine_share(of, pages);
  return of.starts * of.costs.kernel_start_us +
         of.weight * (by_engine * of.page_us_by_link() + (pages - by_engine) * of.page_us_by_kernel());
}

/// Fragments that lie one behind the other on both sides are one entry.
double copy_planner::engine_us(const asked& of, std::uint32_t pages, const looked& seen) const {
  if (pages == 0)
    return 0.0;
  const std::uint64_t entries = of.shape.dense ? seen.dense_entries : pages * std::uint64_t{of.shape.fragments};
  return of.starts * of.costs.engine_start_us +
         of.weight * (static_cast<double>(entries) * of.costs.engine_op_us + pages * of.page_us_by_link());
}

/// A run that reaches the part's end goes on in the rest, which is like the part.
double copy_planner::staged_us(const asked& of, const worthy& front) const {
  if (front.pages == 0)
    return 0.0;
  const double bytes_us = front.pages * of.page_us_by_link();
  const double entries = 1.0 + of.weight * (front.runs - 1.0);
  const auto pieces = static_cast<double>(staged_counts(of, front.pages).size());
  return of.starts * of.costs.staged_start_us + of.weight * bytes_us + entries * of.costs.engine_op_us +
         pieces * staged_piece_us;
}

/// Pages of each staged piece. To the host the first one's kernel is not hidden behind a transfer, to the GPU the last
/// one's; so that is small, and its neighbours grow.
std::vector<std::uint32_t> copy_planner::staged_counts(const asked& of, std::uint32_t pages) const {
  const bool to_gpu = of.direction == copy_direction::to_gpu;
  const bool hidden = (to_gpu ? of.part.behind : of.part.before) != 0;
  std::vector<std::uint32_t> counts;
  std::uint64_t bytes = hidden ? limits_.staged_bytes_max : limits_.staged_bytes_first;
  for (std::uint32_t left = pages; left > 0; left -= counts.back()) {
    const std::uint64_t fit = std::clamp<std::uint64_t>(std::min(bytes, limits_.staged_bytes_max) / of.shape.page_bytes,
                                                        1, std::uint64_t{limits_.staged_pages_max});
    counts.push_back(static_cast<std::uint32_t>(std::min<std::uint64_t>(fit, left)));
    bytes = std::min(bytes * limits_.staged_growth, limits_.staged_bytes_max);
  }
  if (to_gpu)
    std::reverse(counts.begin(), counts.end());
  return counts;
}

void copy_planner::add(copy_plan& plan, copy_way way, const asked& of, std::uint32_t first, std::uint32_t count) const {
  if (count == 0)
    return;
  switch (way) {
  case copy_way::staged:
    for (std::uint32_t pages : staged_counts(of, count)) {
      plan.pieces.push_back({way, first, pages});
      first += pages;
    }
    break;
  case copy_way::kernel: {
    const std::uint32_t by_engine = engine_share(of, count);
    plan.pieces.push_back({way, first, count - by_engine});
    add_engine(plan, of, first + count - by_engine, by_engine, true);
    break;
  }
  case copy_way::engine: add_engine(plan, of, first, count, false);
  }
}

void copy_planner::add_engine(copy_plan& plan, const asked& of, std::uint32_t first, std::uint32_t count,
                              bool beside) const {
  const std::uint32_t together = std::max(1u, limits_.engine_entries_max / of.shape.fragments);
  for (const std::uint32_t end = first + count; first < end; first += std::min(together, end - first))
    plan.pieces.push_back({copy_way::engine, first, std::min(together, end - first), beside});
}

copy_plan copy_planner::plan(copy_direction direction, const page_shape& shape, std::vector<planned_page> pages,
                             part_of_list part) {
  KVFERRY_REQUIRE(shape.page_bytes > 0 && shape.fragments > 0, "pages of {} bytes in {} fragments", shape.page_bytes,
                  shape.fragments);
  const auto all = static_cast<std::uint32_t>(pages.size());
  const copy_costs::direction& costs = direction == copy_direction::to_host ? costs_.to_host : costs_.to_gpu;
  const asked of{costs,
                 direction,
                 shape,
                 part,
                 part.before == 0 ? 1.0 : 0.0,
                 all == 0 ? 1.0 : static_cast<double>(all + part.behind) / all,
                 costs.kernel_bytes_per_us * (part.both ? kernel_share_in_both : 1.0)};
  copy_plan made;
  looked seen = look(pages);
  if (!seen.sorted) {
    sort_by_host_slot(pages, scratch_, seen.host_bits);
    seen = look(pages);
  }

  const double kernel = kernel_us(of, all);
  const double engine = engine_us(of, all, seen);
  const worthy front = split(of, pages, seen);
  const std::uint32_t rest = all - front.pages;
  const double rest_kernel = kernel_us(of, rest);
  const double rest_engine =
      front.pages == 0 ? engine : engine_us(of, rest, look(std::span(pages).subspan(front.pages)));
  const copy_way rest_way = rest_engine < rest_kernel ? copy_way::engine : copy_way::kernel;
  const double staged = staged_us(of, front) + std::min(rest_kernel, rest_engine);

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
    add(made, copy_way::staged, of, 0, front.pages);
    add(made, rest_way, of, front.pages, rest);
  } else {
    add(made, best, of, 0, all);
  }
  return made;
}

std::uint32_t copy_planner::next_part(copy_direction direction, std::uint64_t page_bytes, std::uint32_t pages) const {
  const copy_costs::direction& costs = direction == copy_direction::to_host ? costs_.to_host : costs_.to_gpu;
  const double copied_us = static_cast<double>(pages * page_bytes) / costs.link_bytes_per_us;
  const double fit = std::max(0.0, (copied_us - part_submit_us) / page_submit_us);
  const double next = std::clamp(fit, 3.0 * pages, 4.0 * pages);
  return static_cast<std::uint32_t>(std::min<double>(next, limits_.part_pages_max));
}

} // namespace kvferry
