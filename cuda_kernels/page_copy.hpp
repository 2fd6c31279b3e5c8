// Copies scattered pages between their fragments in GPU buffers and blobs in which a page's fragments stand one behind
// the other. Blobs lie in a buffer on the GPU, or in host memory that is pinned and mapped.
//
// Called by device/cuda and by benchmarks. Raw pointers, any alignment; 16 bytes at a time where both sides allow it.
// All offsets are computed in 64 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <cuda_runtime_api.h>

namespace kvferry::cuda_kernels {

/// A part of one buffer's fragments that one warp copies at a time.
struct page_chunk {
  std::byte* base = nullptr;      ///< in slot 0
  std::uint64_t stride_bytes = 0; ///< from one slot to the next
  std::uint64_t blob_offset = 0;  ///< in a page's blob
  std::uint32_t bytes = 0;        ///< at most `chunk_bytes_max`
};

inline constexpr std::uint32_t chunk_bytes_max = 4096;

/// Where pages lie.
struct page_memory {
  const page_chunk* chunks = nullptr; ///< [chunks_per_page] in GPU memory; together they cover a page
  std::uint32_t chunks_per_page = 0;
  std::byte* blobs = nullptr;   ///< [blobs, blob_bytes] on the GPU, or mapped
  std::uint64_t blob_bytes = 0; ///< bytes of a page
};

struct page_pair {
  std::uint32_t slot = 0; ///< in the GPU buffers
  std::uint32_t blob = 0;
};

/// Enqueues the copying of each page from its slot to its blob. `pages` [pages] is read before this returns.
/// `blocks_max`: thread blocks of `threads_per_block` at most. Returns why a launch was refused; then pages that came
/// before may be copied.
cudaError_t gather_pages(const page_memory& memory, std::span<const page_pair> pages, std::uint32_t blocks_max,
                         cudaStream_t stream);

/// The same from blobs to slots.
cudaError_t scatter_pages(const page_memory& memory, std::span<const page_pair> pages, std::uint32_t blocks_max,
                          cudaStream_t stream);

/// The page of `slots[i]` [pages] is blob i: half of the parameters, which is most of what a launch costs its caller.
cudaError_t gather_slots(const page_memory& memory, std::span<const std::uint32_t> slots, std::uint32_t blocks_max,
                         cudaStream_t stream);

/// The same from blobs to slots.
cudaError_t scatter_slots(const page_memory& memory, std::span<const std::uint32_t> slots, std::uint32_t blocks_max,
                          cudaStream_t stream);

/// Loads the kernels, so that no launch has to.
cudaError_t load_page_copies();

inline constexpr std::uint32_t threads_per_block = 256;

/// Pages that one launch takes in its parameters; more are more launches.
inline constexpr std::uint32_t pages_per_launch = 4032;
inline constexpr std::uint32_t slots_per_launch = 2 * pages_per_launch;

} // namespace kvferry::cuda_kernels
