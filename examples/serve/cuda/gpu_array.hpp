// Arrays in GPU memory and in pinned host memory, for this example's kernels.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "kvferry/error.hpp"

namespace serve {

inline kvferry::expected<void> cuda_right(cudaError_t status, const char* call) {
  if (status == cudaSuccess)
    return {};
  (void)cudaGetLastError();
  const auto code =
      status == cudaErrorMemoryAllocation ? kvferry::error_code::out_of_memory : kvferry::error_code::device_lost;
  return kvferry::fail(code, fmt::format("{}: {} ({})", call, cudaGetErrorName(status), cudaGetErrorString(status)));
}

/// Owns `size` elements. Moved from, it is empty.
template <class T, bool Pinned>
class cuda_array {
public:
  cuda_array() = default;

  static kvferry::expected<cuda_array> make(std::size_t size) {
    cuda_array made;
    void* memory = nullptr;
    const std::size_t bytes = std::max<std::size_t>(size, 1) * sizeof(T);
    const cudaError_t status = Pinned ? cudaHostAlloc(&memory, bytes, cudaHostAllocMapped) : cudaMalloc(&memory, bytes);
    if (auto right = cuda_right(status, Pinned ? "cudaHostAlloc" : "cudaMalloc"); !right)
      return tl::unexpected(right.error());
    made.data_ = static_cast<T*>(memory);
    made.size_ = size;
    return made;
  }

  cuda_array(cuda_array&& from) noexcept
      : data_(std::exchange(from.data_, nullptr)), size_(std::exchange(from.size_, 0)) {}

  cuda_array& operator=(cuda_array&& from) noexcept {
    std::swap(data_, from.data_);
    std::swap(size_, from.size_);
    return *this;
  }

  ~cuda_array() { (void)(Pinned ? cudaFreeHost(data_) : cudaFree(data_)); }

  T* data() const { return data_; }
  std::size_t size() const { return size_; }

private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

template <class T>
using gpu_array = cuda_array<T, false>;
template <class T>
using pinned_array = cuda_array<T, true>;

} // namespace serve
