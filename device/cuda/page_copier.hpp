// Page copies of the CUDA device, from lists to what became of them. Lists over the link are planned and submitted part
// by part, in turn over the two directions, so that both begin at once; and no more at a time than a bound, so that no
// caller is held by a driver that has no more room. What is beyond it waits here until earlier copies have ended.
//
// Used by the CUDA device, under its lock. Returned statuses are those of calls that cannot fail unless the GPU has a
// fault.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "device/cuda/copy_lane.hpp"
#include "device/cuda/copy_planner.hpp"
#include "device/cuda/cuda_pools.hpp"
#include "device/cuda/stream_table.hpp"
#include "device/cuda/work_in_flight.hpp"
#include "device/device.hpp"
#include "device/planned_failures.hpp"
#include "kvferry/cuda_device.hpp"

namespace kvferry::cuda {

class page_copier {
public:
  struct options {
    int ordinal = 0;
    std::uint64_t in_flight_bytes_max = 0; ///< in each direction; one part of a list more
    planned_failures failures;             ///< of page copies
  };

  /// `streams` outlives this.
  page_copier(stream_table& streams, copy_planner planner, copy_lane to_host, copy_lane to_gpu, options options);

  /// Pages of these groups are copied from now on; they stay where they are. REQUIRES: nothing is in flight.
  void use(std::span<const group_memory> groups);

  /// Lists over the link, each on a stream of its own, or pages within the GPU. `fences` [lists]: behind each list.
  /// The lists are read before this returns, and what may be in flight is submitted.
  cudaError_t copy(std::span<const copy_list> lists, std::span<fence> fences);

  /// What waits here for earlier copies' end: some of it is submitted if there is room now.
  cudaError_t go_on();

  /// Enqueues all that waits here and stands before what comes next on `stream`, whatever is in flight.
  cudaError_t submit_all(stream_id stream);

  /// Makes what comes next on `stream` wait. What waits here for an earlier list's end waits on.
  cudaError_t wait(stream_id stream, const fence_set& fences);

  bool anything_waits() const { return !lanes_[0].lists.empty() || !lanes_[1].lists.empty(); }

  /// The GPU has a fault: nothing is submitted any more, everything in flight fails, and so does what comes.
  void abandon();

  /// Lists whose fence has passed have ended.
  void settle();

  /// Copies that failed, of lists that have ended since the last call.
  std::vector<device_progress::failed_copies> take_failed() { return std::exchange(failed_, {}); }

  const copy_counts& counts() const { return counts_; }

  planned_failures& failures() { return options_.failures; }
  planned_failures& refusals() { return refusals_; }

private:
  struct list {
    fence at;
    copy_direction direction = copy_direction::to_host;
    std::span<const page_copy> rest; ///< not submitted yet
    std::uint32_t submitted = 0;     ///< so many came before
    std::uint32_t part_pages = 0;    ///< of the next part
    bool begun = false;
    fence_set before;                  ///< it comes after these
    std::vector<page_copy> kept;       ///< `rest` once the caller has gone on
    std::vector<std::uint32_t> failed; ///< positions, so far
  };

  struct lane {
    copy_lane lane;
    work_in_flight in_flight;
    std::deque<list> lists;  ///< not submitted, or in part
    std::uint64_t pages = 0; ///< submitted, and not ended as far as we know
  };

  struct ended_later {
    fence at;
    copy_direction direction;
    std::uint32_t count = 0;
    std::vector<std::uint32_t> failed; ///< so far
  };

  lane& lane_of(copy_direction direction) { return lanes_[direction == copy_direction::to_host ? 0 : 1]; }
  lane* lane_with(stream_id stream);
  bool is_waiting(fence f) const;
  fence_set take_waits(stream_id stream);
  cudaError_t enqueue_wait(stream_id stream, const fence_set& fences);
  cudaError_t submit_what_fits();
  cudaError_t submit_part(lane& of);
  cudaError_t begin(lane& of, list& next);
  cudaError_t end(lane& of);
  cudaError_t copy_within(const copy_list& asked, fence& at);
  void require_slots(copy_direction direction, const page_copy& copy) const;
  void take_in(list& from, std::uint32_t count);
  void submit_group(lane& of, list& from, std::size_t group, part_of_list part);

  stream_table& streams_;
  copy_planner planner_;
  options options_;
  planned_failures refusals_;
  std::array<lane, 2> lanes_;                          ///< to the host, to the GPU
  std::vector<std::pair<stream_id, fence_set>> waits_; ///< enqueued behind a stream's lists, for what comes next there
  std::span<const group_memory> groups_;
  std::uint64_t page_bytes_max_ = 1;
  std::vector<std::vector<planned_page>> by_group_; ///< of the part that is being planned
  std::vector<ended_later> in_flight_;
  std::vector<device_progress::failed_copies> failed_;
  copy_counts counts_;
  bool lost_ = false;
};

} // namespace kvferry::cuda
