#include "tests/cuda/test_kernels.hpp"

namespace kvferry::test {

namespace {

__device__ std::uint8_t pattern_at(std::uint32_t value, std::uint32_t buffer, std::uint64_t offset) {
  return static_cast<std::uint8_t>(value * 29 + buffer * 101 + offset * 7 + 1);
}

__global__ void fill(std::uint8_t* at, std::uint64_t bytes, std::uint32_t value, std::uint32_t buffer) {
  for (std::uint64_t i = threadIdx.x; i < bytes; i += blockDim.x)
    at[i] = pattern_at(value, buffer, i);
}

__global__ void compare(const std::uint8_t* at, std::uint64_t bytes, std::uint32_t value, std::uint32_t buffer,
                        std::uint32_t* differs) {
  for (std::uint64_t i = threadIdx.x; i < bytes; i += blockDim.x)
    if (at[i] != pattern_at(value, buffer, i))
      *differs = 1;
}

__device__ std::uint64_t now_ns() {
  std::uint64_t ns;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(ns));
  return ns;
}

__global__ void spin(const volatile std::uint32_t* released) {
  const std::uint64_t begin = now_ns();
  while (*released == 0 && now_ns() - begin < 10'000'000'000ull)
    __nanosleep(1000);
}

__global__ void fault() { __trap(); }

} // namespace

void launch_fill(std::byte* at, std::uint64_t bytes, std::uint32_t value, std::uint32_t buffer, cudaStream_t stream) {
  fill<<<1, 256, 0, stream>>>(reinterpret_cast<std::uint8_t*>(at), bytes, value, buffer);
}

void launch_compare(const std::byte* at, std::uint64_t bytes, std::uint32_t value, std::uint32_t buffer,
                    std::uint32_t* differs, cudaStream_t stream) {
  compare<<<1, 256, 0, stream>>>(reinterpret_cast<const std::uint8_t*>(at), bytes, value, buffer, differs);
}

void launch_spin(const volatile std::uint32_t* released, cudaStream_t stream) { spin<<<1, 1, 0, stream>>>(released); }

void launch_fault(cudaStream_t stream) { fault<<<1, 1, 0, stream>>>(); }

} // namespace kvferry::test
