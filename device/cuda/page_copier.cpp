#include "device/cuda/page_copier.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "kvferry/contract.hpp"

namespace kvferry::cuda {

page_copier::page_copier(stream_table& streams, copy_planner planner, copy_lane to_host, copy_lane to_gpu,
                         options options)
    : streams_(streams), planner_(std::move(planner)),
      options_(std::move(options)), lanes_{lane{std::move(to_host), work_in_flight(options_.ordinal), {}, 0},
                                           lane{std::move(to_gpu), work_in_flight(options_.ordinal), {}, 0}} {}

void page_copier::use(std::span<const group_memory> groups) {
  groups_ = groups;
  by_group_.assign(groups.size(), {});
  page_bytes_max_ = 1;
  for (const group_memory& group : groups)
    page_bytes_max_ = std::max(page_bytes_max_, group.shape.page_bytes);
}

// From lists to parts -------------------------------------------------------------------------------------------------

cudaError_t page_copier::copy(std::span<const copy_list> lists, std::span<fence> fences) {
  cudaError_t status = cudaSuccess;
  auto note = [&](cudaError_t now) { status = status == cudaSuccess ? now : status; };
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const copy_list& asked = lists[i];
    lane& of = lane_of(asked.direction);
    const bool within = asked.direction == copy_direction::within_gpu;
    if (within || lane_with(asked.stream) != &of)
      note(submit_all(asked.stream)); // it stands before this one
    if (within) {
      note(enqueue_wait(asked.stream, asked.before));
      note(copy_within(asked, fences[i]));
      continue;
    }
    list& added = of.lists.emplace_back();
    added.at = fences[i] = streams_.promise(asked.stream);
    added.direction = asked.direction;
    added.rest = asked.copies;
    added.part_pages = planner_.limits().part_pages_first;
    added.before = take_waits(asked.stream);
    added.before.add(asked.before);
  }
  note(submit_what_fits());
  for (lane& of : lanes_)
    for (list& left : of.lists)
      if (left.kept.empty()) {
        for (const page_copy& copy : left.rest) // here, where the caller is seen
          require_slots(left.direction, copy);
        left.kept.assign(left.rest.begin(), left.rest.end());
        left.rest = left.kept;
      }
  return status;
}

cudaError_t page_copier::go_on() { return anything_waits() ? submit_what_fits() : cudaSuccess; }

/// In turn, so that both directions begin at once and neither waits for the other's list to be looked at.
cudaError_t page_copier::submit_what_fits() {
  cudaError_t status = cudaSuccess;
  for (bool any = true; any && status == cudaSuccess;) {
    any = false;
    for (lane& of : lanes_)
      if (status == cudaSuccess && !of.lists.empty() && of.in_flight.below(options_.in_flight_bytes_max)) {
        status = submit_part(of);
        any = true;
      }
  }
  return status;
}

page_copier::lane* page_copier::lane_with(stream_id stream) {
  for (lane& of : lanes_)
    for (const list& waiting : of.lists)
      if (waiting.at.stream == stream)
        return &of;
  return nullptr;
}

bool page_copier::is_waiting(fence f) const {
  for (const lane& of : lanes_)
    for (const list& waiting : of.lists)
      if (waiting.at == f)
        return true;
  return false;
}

/// What is to come before the next thing on `stream`, and was asked for while lists of it waited here.
fence_set page_copier::take_waits(stream_id stream) {
  fence_set taken;
  std::erase_if(waits_, [&](const auto& wait) {
    if (wait.first != stream)
      return false;
    taken.add(wait.second);
    return true;
  });
  return taken;
}

cudaError_t page_copier::submit_all(stream_id stream) {
  cudaError_t status = cudaSuccess;
  for (lane* of = lane_with(stream); of != nullptr && status == cudaSuccess; of = lane_with(stream))
    status = submit_part(*of);
  const fence_set waits = take_waits(stream);
  return status == cudaSuccess && !waits.empty() ? enqueue_wait(stream, waits) : status;
}

cudaError_t page_copier::wait(stream_id stream, const fence_set& fences) {
  if (lane_with(stream) != nullptr) {
    waits_.emplace_back(stream, fences);
    return cudaSuccess;
  }
  return enqueue_wait(stream, fences);
}

/// What was never enqueued cannot be waited for: lists that `fences` stand behind are submitted first.
cudaError_t page_copier::enqueue_wait(stream_id stream, const fence_set& fences) {
  cudaError_t status = cudaSuccess;
  fences.for_each([&](fence f) {
    while (status == cudaSuccess && is_waiting(f))
      status = submit_part(*lane_with(f.stream));
  });
  return status == cudaSuccess ? streams_.wait(stream, fences) : status;
}

cudaError_t page_copier::submit_part(lane& of) {
  list& next = of.lists.front();
  const copy_limits& limits = planner_.limits();
  if (!next.begun)
    if (cudaError_t status = begin(of, next); status != cudaSuccess)
      return status;
  const auto left = static_cast<std::uint32_t>(next.rest.size());
  const auto fit = std::max<std::uint64_t>(1, limits.part_bytes_max / page_bytes_max_);
  const std::uint64_t wanted = left <= next.part_pages * 3 / 2 ? left : next.part_pages; // no small rest
  const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>({wanted, left, fit}));
  const lane& other = &of == &lanes_[0] ? lanes_[1] : lanes_[0];
  const std::uint64_t other_pages = other.pages + (other.lists.empty() ? 0 : other.lists.front().rest.size());
  take_in(next, count);
  for (std::size_t group = 0; group < by_group_.size(); ++group)
    if (!by_group_[group].empty())
      submit_group(of, next, group, {next.submitted, left - count, 4 * other_pages >= left});
  next.rest = next.rest.subspan(count);
  next.submitted += count;
  next.part_pages = planner_.next_part(next.direction, page_bytes_max_, count);
  of.pages += count;
  of.in_flight.add(streams_.ref(next.at.stream), count * page_bytes_max_);
  return next.rest.empty() ? end(of) : cudaSuccess;
}

cudaError_t page_copier::begin(lane& of, list& next) {
  next.begun = true;
  of.lane.begin();
  return next.before.empty() ? cudaSuccess : enqueue_wait(next.at.stream, next.before);
}

cudaError_t page_copier::end(lane& of) {
  list& done = of.lists.front();
  const std::uint32_t count = done.submitted;
  if (of.lane.end(streams_.ref(done.at.stream)) != cudaSuccess) {
    done.failed.resize(count);
    std::iota(done.failed.begin(), done.failed.end(), 0u);
  }
  std::sort(done.failed.begin(), done.failed.end());
  const cudaError_t status = streams_.keep(done.at);
  in_flight_.push_back({done.at, done.direction, count, std::move(done.failed)});
  of.lists.pop_front();
  return status;
}

// A part --------------------------------------------------------------------------------------------------------------

void page_copier::require_slots(copy_direction direction, const page_copy& copy) const {
  KVFERRY_REQUIRE(copy.group.value() < groups_.size(), "copy of group {} of {}", copy.group.value(), groups_.size());
  const group_pools& pools = groups_[copy.group.value()].pools;
  const bool within = direction == copy_direction::within_gpu;
  const std::uint32_t other = within ? copy.from.value() : copy.host.value();
  const std::uint32_t others = within ? pools.gpu_slots : pools.host_slots;
  KVFERRY_REQUIRE(copy.gpu.value() < pools.gpu_slots && other < others,
                  "copy between gpu slot {} of {} and {} slot {} of {} of group {}", copy.gpu.value(), pools.gpu_slots,
                  within ? "gpu" : "host", other, others, copy.group.value());
}

/// Sorts the next `count` pages into `by_group_`, stretch by stretch of one group.
void page_copier::take_in(list& from, std::uint32_t count) {
  planned_failures& failures = options_.failures;
  const bool may_fail = failures.possible() || lost_;
  if (!may_fail)
    failures.pass(count);
  for (std::uint32_t i = 0; i < count;) {
    const group_id group = from.rest[i].group;
    require_slots(from.direction, from.rest[i]);
    const group_pools& pools = groups_[group.value()].pools;
    std::uint32_t end = i + 1;
    while (end < count && from.rest[end].group == group)
      ++end;
    std::vector<planned_page>& pages = by_group_[group.value()];
    std::size_t taken = pages.size();
    pages.resize(taken + end - i);
    for (; i < end; ++i) {
      const page_copy& copy = from.rest[i];
      if (copy.gpu.value() >= pools.gpu_slots || copy.host.value() >= pools.host_slots)
        require_slots(from.direction, copy);
      if (may_fail && (failures.next_fails() || lost_))
        from.failed.push_back(from.submitted + i);
      else
        pages[taken++] = {copy.gpu.value(), copy.host.value(), from.submitted + i};
    }
    pages.resize(taken);
  }
}

void page_copier::submit_group(lane& of, list& from, std::size_t number, part_of_list part) {
  const group_memory& group = groups_[number];
  copy_plan plan = planner_.plan(from.direction, group.shape, std::move(by_group_[number]), part);
  for (const copy_piece& piece : plan.pieces)
    (piece.way == copy_way::kernel   ? counts_.kernel_pages
     : piece.way == copy_way::engine ? counts_.engine_pages
                                     : counts_.staged_pages) += piece.count;
  const auto refused = of.lane.submit(streams_.ref(from.at.stream), group, plan, refusals_);
  counts_.refused_pages += refused.size();
  from.failed.insert(from.failed.end(), refused.begin(), refused.end());
  by_group_[number] = std::move(plan.pages); // for its memory
  by_group_[number].clear();
}

/// A page at a time: there are a few when a request is opened, and none else.
cudaError_t page_copier::copy_within(const copy_list& asked, fence& at) {
  const stream_ref on = streams_.ref(asked.stream);
  std::vector<std::uint32_t> failed;
  for (std::uint32_t i = 0; i < asked.copies.size(); ++i) {
    const page_copy& copy = asked.copies[i];
    require_slots(asked.direction, copy);
    if (options_.failures.next_fails() || lost_) {
      failed.push_back(i);
      continue;
    }
    cudaError_t status = refusals_.next_fails() ? cudaErrorInvalidValue : cudaSuccess;
    for (const group_memory::fragment& of : groups_[copy.group.value()].fragments)
      if (status == cudaSuccess)
        status = cleared(cudaMemcpyAsync(of.in_slot(copy.gpu.value()), of.in_slot(copy.from.value()), of.bytes,
                                         cudaMemcpyDeviceToDevice, on.get()));
    if (status == cudaSuccess)
      continue;
    failed.push_back(i);
    ++counts_.refused_pages;
  }
  const cudaError_t status = streams_.record(asked.stream, at);
  in_flight_.push_back({at, asked.direction, static_cast<std::uint32_t>(asked.copies.size()), std::move(failed)});
  return status;
}

// What became of them -------------------------------------------------------------------------------------------------

void page_copier::abandon() {
  lost_ = true;
  for (lane& of : lanes_)
    for (const list& never : std::exchange(of.lists, {})) {
      of.pages += never.rest.size();
      in_flight_.push_back(
          {never.at, never.direction, never.submitted + static_cast<std::uint32_t>(never.rest.size()), {}});
    }
}

void page_copier::settle() {
  std::erase_if(in_flight_, [&](ended_later& copies) {
    if (!streams_.passed(copies.at, "poll"))
      return false;
    if (lost_) {
      copies.failed.resize(copies.count);
      std::iota(copies.failed.begin(), copies.failed.end(), 0u);
    }
    if (!copies.failed.empty())
      failed_.push_back({copies.at, std::move(copies.failed)});
    if (copies.direction != copy_direction::within_gpu)
      lane_of(copies.direction).pages -= copies.count;
    return true;
  });
}

} // namespace kvferry::cuda
