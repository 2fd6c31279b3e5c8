#include "benchmarks/cuda/baselines.hpp"

#include <algorithm>

#include "benchmarks/cuda/cuda_right.hpp"

namespace bench {

baseline_copies::baseline_copies(const kvferry::group_pools& pools, kvferry::copy_direction direction,
                                 std::span<const kvferry::page_copy> copies) {
  const bool to_host = direction == kvferry::copy_direction::to_host;
  const kvferry::gpu_buffer& buffer = pools.buffers.front(); // one buffer: a page is one fragment
  std::uint32_t first_gpu = ~0u;
  std::uint32_t first_host = ~0u;
  for (const kvferry::page_copy& copy : copies) {
    std::byte* gpu = buffer.base + std::uint64_t{copy.gpu.value()} * buffer.slot_stride_bytes;
    std::byte* host = pools.host_base + std::uint64_t{copy.host.value()} * pools.host_slot_bytes;
    to_.push_back(to_host ? host : gpu);
    from_.push_back(to_host ? gpu : host);
    bytes_.push_back(buffer.bytes_per_slot);
    first_gpu = std::min(first_gpu, copy.gpu.value());
    first_host = std::min(first_host, copy.host.value());
  }
  if (copies.empty())
    return;
  // As many bytes from the first slot on; not from where it would leave the pool.
  const auto count = static_cast<std::uint32_t>(copies.size());
  first_gpu = std::min(first_gpu, pools.gpu_slots - count);
  first_host = std::min(first_host, pools.host_slots - count);
  std::byte* gpu = buffer.base + std::uint64_t{first_gpu} * buffer.slot_stride_bytes;
  std::byte* host = pools.host_base + std::uint64_t{first_host} * pools.host_slot_bytes;
  to_first_ = to_host ? host : gpu;
  from_first_ = to_host ? gpu : host;
  bytes_all_ = copies.size() * buffer.bytes_per_slot;
}

void baseline_copies::submit(baseline how, cudaStream_t stream) {
  if (how == baseline::contiguous) {
    KVFERRY_CUDA_RIGHT(cudaMemcpyAsync(to_first_, from_first_, bytes_all_, cudaMemcpyDefault, stream));
    return;
  }
#if CUDART_VERSION >= 13000
  if (how == baseline::batch_call) {
    cudaMemcpyAttributes attributes{};
    attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    std::size_t first = 0;
    KVFERRY_CUDA_RIGHT(
        cudaMemcpyBatchAsync(to_.data(), from_.data(), bytes_.data(), to_.size(), &attributes, &first, 1, stream));
    return;
  }
#endif
  for (std::size_t i = 0; i < to_.size(); ++i)
    KVFERRY_CUDA_RIGHT(cudaMemcpyAsync(to_[i], from_[i], bytes_[i], cudaMemcpyDefault, stream));
}

} // namespace bench
