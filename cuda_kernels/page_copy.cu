#include "cuda_kernels/page_copy.hpp"

#include <algorithm>

namespace kvferry::cuda_kernels {

namespace {

constexpr std::uint32_t warp = 32;
constexpr std::uint32_t loads_in_flight = 8; // by each thread, before the first is stored

/// In the kernel's parameters, so that no memory has to be kept until the kernel has read it. The driver copies all of
/// it when the kernel is launched: 4 us for 4 KiB, 9 to 14 for 32 KiB. So there are several capacities.
template <class Page, std::uint32_t Capacity>
struct page_list {
  Page at[Capacity];
};

__device__ page_pair pair_of(const page_pair& page, std::uint32_t) { return page; }
__device__ page_pair pair_of(std::uint32_t slot, std::uint32_t i) { return {slot, i}; }

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
template <bool ToBlobs, class Page, std::uint32_t Capacity>
__global__ void __launch_bounds__(threads_per_block) copy_pages(const __grid_constant__ page_list<Page, Capacity> pages,
                                                                const page_memory memory, const std::uint32_t count) {
  const std::uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
  const std::uint32_t lane = thread % warp;
  const std::uint32_t chunks = count * memory.chunks_per_page; // checked when launched
  for (std::uint32_t i = thread / warp; i < chunks; i += gridDim.x * blockDim.x / warp) {
    const page_pair page = pair_of(pages.at[i / memory.chunks_per_page], i / memory.chunks_per_page);
    const page_chunk chunk = memory.chunks[i % memory.chunks_per_page];
    std::byte* in_slot = chunk.base + std::uint64_t{page.slot} * chunk.stride_bytes;
    std::byte* in_blob = memory.blobs + std::uint64_t{page.blob} * memory.blob_bytes + chunk.blob_offset;
    copy_chunk(ToBlobs ? in_blob : in_slot, ToBlobs ? in_slot : in_blob, chunk.bytes, lane);
  }
}

template <bool ToBlobs, class Page, std::uint32_t Capacity>
cudaError_t launch(const page_memory& memory, std::span<const Page> pages, std::uint32_t blocks, cudaStream_t stream) {
  page_list<Page, Capacity> list;
  std::copy(pages.begin(), pages.end(), list.at);
  copy_pages<ToBlobs, Page, Capacity>
      <<<blocks, threads_per_block, 0, stream>>>(list, memory, static_cast<std::uint32_t>(pages.size()));
  return cudaGetLastError();
}

/// Pages of the parameters' 32 KiB, and of the 4 KiB up to which a launch costs least.
template <class Page>
constexpr std::uint32_t largest = pages_per_launch * sizeof(page_pair) / sizeof(Page);
template <class Page>
constexpr std::uint32_t small = 480 * sizeof(page_pair) / sizeof(Page);

template <bool ToBlobs, class Page>
cudaError_t launch_smallest(const page_memory& memory, std::span<const Page> pages, std::uint32_t blocks,
                            cudaStream_t stream) {
  if (pages.size() <= 32)
    return launch<ToBlobs, Page, 32>(memory, pages, blocks, stream);
  if (pages.size() <= small<Page>)
    return launch<ToBlobs, Page, small<Page>>(memory, pages, blocks, stream);
  if (pages.size() <= 3 * small<Page>)
    return launch<ToBlobs, Page, 3 * small<Page>>(memory, pages, blocks, stream);
  if (pages.size() <= largest<Page> / 2)
    return launch<ToBlobs, Page, largest<Page> / 2>(memory, pages, blocks, stream);
  return launch<ToBlobs, Page, largest<Page>>(memory, pages, blocks, stream);
}

template <bool ToBlobs, class Page>
cudaError_t copy(page_memory memory, std::span<const Page> pages, std::uint32_t blocks_max, cudaStream_t stream) {
  constexpr std::uint64_t chunks_max = 1u << 31;
  if (memory.chunks_per_page == 0)
    return cudaSuccess;
  const std::uint64_t together =
      std::clamp<std::uint64_t>(chunks_max / memory.chunks_per_page, 1, std::uint64_t{largest<Page>});
  while (!pages.empty()) {
    const auto part = pages.first(std::min<std::size_t>(pages.size(), together));
    pages = pages.subspan(part.size());
    const std::uint64_t warps = part.size() * memory.chunks_per_page;
    const auto blocks = static_cast<std::uint32_t>(
        std::min<std::uint64_t>((warps + threads_per_block / warp - 1) / (threads_per_block / warp), blocks_max));
    if (cudaError_t refused = launch_smallest<ToBlobs>(memory, part, blocks, stream); refused != cudaSuccess)
      return refused;
    if constexpr (sizeof(Page) == sizeof(std::uint32_t))
      memory.blobs += part.size() * memory.blob_bytes; // blobs are counted from the launch's first
  }
  return cudaSuccess;
}

template <bool ToBlobs, class Page>
cudaError_t load() {
  cudaFuncAttributes ignored;
  for (cudaError_t status : {cudaFuncGetAttributes(&ignored, copy_pages<ToBlobs, Page, 32>),
                             cudaFuncGetAttributes(&ignored, copy_pages<ToBlobs, Page, small<Page>>),
                             cudaFuncGetAttributes(&ignored, copy_pages<ToBlobs, Page, 3 * small<Page>>),
                             cudaFuncGetAttributes(&ignored, copy_pages<ToBlobs, Page, largest<Page> / 2>),
                             cudaFuncGetAttributes(&ignored, copy_pages<ToBlobs, Page, largest<Page>>)})
    if (status != cudaSuccess)
      return status;
  return cudaSuccess;
}

} // namespace

cudaError_t load_page_copies() {
  for (cudaError_t status :
       {load<true, page_pair>(), load<false, page_pair>(), load<true, std::uint32_t>(), load<false, std::uint32_t>()})
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

cudaError_t gather_slots(const page_memory& memory, std::span<const std::uint32_t> slots, std::uint32_t blocks_max,
                         cudaStream_t stream) {
  return copy<true>(memory, slots, blocks_max, stream);
}

cudaError_t scatter_slots(const page_memory& memory, std::span<const std::uint32_t> slots, std::uint32_t blocks_max,
                          cudaStream_t stream) {
  return copy<false>(memory, slots, blocks_max, stream);
}

} // namespace kvferry::cuda_kernels
