// One direction of page copies: carries out what the planner planned, with one submission to each stream and piece. It
// owns what staged pieces need: two buffers on the GPU, and a stream for the copy engine beside the one that the copies
// were asked for on.
//
// Used by the CUDA device, under its lock. Never waits: pieces wait for their buffer on the GPU.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "device/cuda/copy_planner.hpp"
#include "device/cuda/cuda_pools.hpp"
#include "device/cuda/event.hpp"
#include "device/cuda/memory.hpp"
#include "device/cuda/stream.hpp"
#include "device/planned_failures.hpp"

namespace kvferry::cuda {

/// Thread blocks of 256 threads at most. Over mapped memory: what fills the link. On the GPU: 16 MiB in a tenth of the
/// time that the link needs for them.
struct lane_blocks {
  std::uint32_t to_host = 8;
  std::uint32_t to_gpu = 16;
  std::uint32_t on_gpu = 64;
};

class copy_lane {
public:
  /// Errors: `out_of_memory`.
  static expected<copy_lane> make(int ordinal, copy_direction direction, const copy_limits& limits);

  /// A list of copies begins. Its parts are submitted, then it ends.
  void begin();

  /// Enqueues the pieces of `plan` on `on`, in their order. Returns the positions of pages that the driver refused.
  /// `refusals` makes pieces that it has to refuse.
  std::vector<std::uint32_t> submit(stream_ref on, const group_memory& group, const copy_plan& plan,
                                    planned_failures& refusals);

  /// What is enqueued on `on` next comes behind the list's copies. Where the driver refuses that, nobody knows when
  /// they have ended.
  cudaError_t end(stream_ref on);

private:
  struct buffer {
    gpu_memory memory;
    event filled; ///< what is in it is there
    event free;   ///< what was in it has been taken out; recorded once it was used
  };

  copy_lane(int ordinal, copy_direction direction, stream link, std::array<buffer, 2> buffers, event edge)
      : ordinal_(ordinal), direction_(direction), link_(std::move(link)), buffers_(std::move(buffers)),
        edge_(std::move(edge)) {}

  cudaError_t submit_kernel(stream_ref on, const group_memory& group, std::span<const planned_page> pages,
                            std::uint32_t blocks);
  cudaError_t submit_engine(stream_ref on, const group_memory& group, std::span<const planned_page> pages, bool refuse);
  cudaError_t begin_link(stream_ref on, const copy_plan& plan);
  cudaError_t submit_staged(stream_ref on, const group_memory& group, std::span<const planned_page> pages,
                            std::uint32_t blocks);
  cudaError_t transfer(const group_memory& group, std::span<const planned_page> pages, std::byte* staged);
  void add_entry(const group_memory& group, std::byte* gpu, std::byte* host, std::uint64_t bytes);
  cudaError_t submit_entries(stream_ref on, bool refuse);

  int ordinal_;
  copy_direction direction_;
  stream link_;
  std::array<buffer, 2> buffers_;
  event edge_;                      ///< between the two streams, at a list's begin or end
  bool link_begun_ = false;         ///< for this list: the link's stream comes after what `on` has waited for
  bool link_used_ = false;          ///< something was enqueued there that the list's end has to wait for
  std::uint64_t staged_pieces_ = 0; ///< the next takes buffer staged_pieces_ % 2

  // Lists for the driver, kept for their memory.
  std::vector<cuda_kernels::page_pair> pairs_;
  std::vector<std::uint32_t> slots_;
  std::vector<void*> to_;
  std::vector<const void*> from_;
  std::vector<std::size_t> bytes_;
};

} // namespace kvferry::cuda
