#include "cuda_kernels/page_copy.hpp"

#include <algorithm>

namespace kvferry::cuda_kernels {

namespace {

constexpr std::uint32_t warp = 32;
constexpr std::uint32_t loads_in_flight = 8; // by each thread, before the first is stored

/// In the kernel's parameters, so that no memory has to be kept until the kernel has read it.
template <std::uint32_t Capacity>
struct page_list {
  page_pair at[Capacity];
};

/// Copies `words` words; both sides are aligned.
template <class Word>
__device__ void copy_words(std::byte* to, const std::byte* from, std::uint32_t words, std::uint32_t lane) {
  auto* out = reinterpret_cast<Word*>(to);
  const auto* in = reinterpret_cast<const Word*>(from);
  for (std::uint32_t begin = lane; begin < words; begin += loads_in_flight * warp) {
    Word held[loads_in_flight];
#pragma unroll
    for (std::uint32_t i = 0; i < loads_in_flight; ++i)
      if (begin + i * warp < words)
        held[i] = in[begin + i * warp];
#pragma unroll
    for (std::uint32_t i = 0; i < loads_in_flight; ++i)
      if (begin + i * warp < words)
        out[begin + i * warp] = held[i];
  }
}

/// Copies bytes of two sides that lie equally far behind a multiple of Word's size.
template <class Word>
__device__ void copy_by(std::byte* to, const std::byte* from, std::uint32_t bytes, std::uint32_t lane) {
  constexpr std::uint32_t size = sizeof(Word);
  const auto past = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(to) % size);
  const std::uint32_t head = past == 0 ? 0 : min(size - past, bytes);
  const std::uint32_t words = (bytes - head) / size;
  const std::uint32_t tail = head + words * size;
  if (lane < head)
    to[lane] = from[lane];
  copy_words<Word>(to + head, from + head, words, lane);
  if (tail + lane < bytes) // fewer than 16
    to[tail + lane] = from[tail + lane];
}

__device__ void copy_chunk(std::byte* to, const std::byte* from, std::uint32_t bytes, std::uint32_t lane) {
  const std::uintptr_t apart = reinterpret_cast<std::uintptr_t>(to) ^ reinterpret_cast<std::uintptr_t>(from);
  if (apart % 16 == 0)
    copy_by<uint4>(to, from, bytes, lane);
  else if (apart % 8 == 0)
    copy_by<std::uint64_t>(to, from, bytes, lane);
  else if (apart % 4 == 0)
    copy_by<std::uint32_t>(to, from, bytes, lane);
  else if (apart % 2 == 0)
    copy_by<std::uint16_t>(to, from, bytes, lane);
  else
    copy_by<std::uint8_t>(to, from, bytes, lane);
}

/// A warp takes one chunk of one page after the other.
template <bool ToBlobs, std::uint32_t Capacity>
__global__ void __launch_bounds__(threads_per_block)
    copy_pages(const __grid_constant__ page_list<Capacity> pages, const page_memory memory, const std::uint32_t count) {
  const std::uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
  const std::uint32_t lane = thread % warp;
  const std::uint32_t chunks = count * memory.chunks_per_page; // checked when launched
  for (std::uint32_t i = thread / warp; i < chunks; i += gridDim.x * blockDim.x / warp) {
    const page_pair page = pages.at[i / memory.chunks_per_page];
    const page_chunk chunk = memory.chunks[i % memory.chunks_per_page];
    std::byte* in_slot = chunk.base + std::uint64_t{page.slot} * chunk.stride_bytes;
    std::byte* in_blob = memory.blobs + std::uint64_t{page.blob} * memory.blob_bytes + chunk.blob_offset;
    copy_chunk(ToBlobs ? in_blob : in_slot, ToBlobs ? in_slot : in_blob, chunk.bytes, lane);
  }
}

template <bool ToBlobs, std::uint32_t Capacity>
cudaError_t launch(const page_memory& memory, std::span<const page_pair> pages, std::uint32_t blocks,
                   cudaStream_t stream) {
  page_list<Capacity> list;
  std::copy(pages.begin(), pages.end(), list.at);
  copy_pages<ToBlobs, Capacity>
      <<<blocks, threads_per_block, 0, stream>>>(list, memory, static_cast<std::uint32_t>(pages.size()));
  return cudaGetLastError();
}

template <bool ToBlobs>
cudaError_t copy(const page_memory& memory, std::span<const page_pair> pages, std::uint32_t blocks_max,
                 cudaStream_t stream) {
  constexpr std::uint64_t chunks_max = 1u << 31;
  if (memory.chunks_per_page == 0 || pages.empty())
    return cudaSuccess;
  const std::uint64_t together =
      std::clamp<std::uint64_t>(chunks_max / memory.chunks_per_page, 1, std::uint64_t{pages_per_launch});
  while (!pages.empty()) {
    const auto part = pages.first(std::min<std::size_t>(pages.size(), together));
    pages = pages.subspan(part.size());
    const std::uint64_t warps = part.size() * memory.chunks_per_page;
    const auto blocks = static_cast<std::uint32_t>(
        std::min<std::uint64_t>((warps + threads_per_block / warp - 1) / (threads_per_block / warp), blocks_max));
    const cudaError_t refused = part.size() <= 32    ? launch<ToBlobs, 32>(memory, part, blocks, stream)
                                : part.size() <= 480 ? launch<ToBlobs, 480>(memory, part, blocks, stream)
                                                     : launch<ToBlobs, pages_per_launch>(memory, part, blocks, stream);
    if (refused != cudaSuccess)
      return refused;
  }
  return cudaSuccess;
}

template <bool ToBlobs, std::uint32_t Capacity>
cudaError_t load() {
  cudaFuncAttributes ignored;
  return cudaFuncGetAttributes(&ignored, copy_pages<ToBlobs, Capacity>);
}

} // namespace

cudaError_t load_page_copies() {
  for (cudaError_t status : {load<true, 32>(), load<true, 480>(), load<true, pages_per_launch>(), load<false, 32>(),
                             load<false, 480>(), load<false, pages_per_launch>()})
    if (status != cudaSuccess)
      return status;
  return cudaSuccess;
}

cudaError_t gather_pages(const page_memory& memory, std::span<const page_pair> pages, std::uint32_t blocks_max,
                         cudaStream_t stream) {
  return copy<true>(memory, pages, blocks_max, stream);
}

cudaError_t scatter_pages(const page_memory& memory, std::span<const page_pair> pages, std::uint32_t blocks_max,
                          cudaStream_t stream) {
  return copy<false>(memory, pages, blocks_max, stream);
}

} // namespace kvferry::cuda_kernels
