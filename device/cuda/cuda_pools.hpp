// The pools of all groups on a GPU and in pinned host memory: where each page's fragments lie, as the copy engine and
// as kernels address them. Used by the CUDA device alone.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "cuda_kernels/page_copy.hpp"
#include "device/cuda/copy_planner.hpp"
#include "device/cuda/memory.hpp"
#include "device/cuda/pinned_pool.hpp"
#include "device/device.hpp"
#include "device/planned_failures.hpp"
#include "kvferry/configuration.hpp"
#include "kvferry/pools.hpp"

namespace kvferry::cuda {

struct group_memory {
  /// One buffer's part of a page.
  struct fragment {
    std::byte* base = nullptr; ///< in GPU slot 0
    std::uint64_t stride_bytes = 0;
    std::uint64_t bytes = 0;
    std::uint64_t blob_offset = 0; ///< in a host slot

    std::byte* in_slot(std::uint32_t slot) const { return base + std::uint64_t{slot} * stride_bytes; }
  };

  group_pools pools;
  page_shape shape;
  std::vector<fragment> fragments;
  std::vector<gpu_memory> gpu; ///< what is not the engine's
  gpu_memory chunks;           ///< [chunks_per_page] `page_chunk`
  std::uint32_t chunks_per_page = 0;
  pinned_pool host;

  std::byte* host_page(std::uint32_t slot) const {
    return pools.host_base + std::uint64_t{slot} * pools.host_slot_bytes;
  }

  /// For kernels: pages in the buffers, and blobs at `blobs`.
  cuda_kernels::page_memory with_blobs(std::byte* blobs) const {
    return {reinterpret_cast<const cuda_kernels::page_chunk*>(chunks.data()), chunks_per_page, blobs,
            pools.host_slot_bytes};
  }
};

struct pool_options {
  int ordinal = 0;
  std::uint64_t pinned_piece_bytes = 0;
  planned_failures* failures = nullptr;
  std::function<void(std::string_view)> log; ///< may be empty
};

/// Errors: `out_of_memory`, `invalid_configuration` (sizes beyond 64 bits). What was made before is released.
expected<std::vector<group_memory>> make_group_memories(const configuration& config, const pool_options& options);

} // namespace kvferry::cuda
