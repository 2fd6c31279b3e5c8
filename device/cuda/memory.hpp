// GPU memory and pinned host memory as owning types, made for a GPU. Used by device/cuda alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "device/cuda/cuda_error.hpp"
#include "device/cuda/current_device.hpp"
#include "device/device.hpp"

namespace kvferry::cuda {

/// Owns memory that `Kind` obtains and releases; zeroed, aligned for every type. Moved from, it is empty. The driver
/// waits for work that uses it when it is released.
template <class Kind>
class owned_memory {
public:
  owned_memory() = default;

  /// Nothing is allocated for 0 bytes. `what` says whose memory it is. Errors: `out_of_memory`.
  static expected<owned_memory> allocate(int ordinal, std::uint64_t bytes, std::string_view what) {
    owned_memory made;
    if (bytes == 0)
      return made;
    current_device current(ordinal);
    void* obtained = nullptr;
    if (cudaError_t status = cleared(Kind::obtain(&obtained, bytes)); status != cudaSuccess)
      return fail(error_code::out_of_memory,
                  fmt::format("{}: {} bytes could not be allocated; {}", what, bytes, describe(status, Kind::call)));
    made.ordinal_ = ordinal;
    made.data_ = static_cast<std::byte*>(obtained);
    made.bytes_ = bytes;
    return made;
  }

  owned_memory(owned_memory&& from) noexcept
      : ordinal_(from.ordinal_), data_(std::exchange(from.data_, nullptr)), bytes_(std::exchange(from.bytes_, 0)) {}

  owned_memory& operator=(owned_memory&& from) noexcept {
    std::swap(ordinal_, from.ordinal_);
    std::swap(data_, from.data_);
    std::swap(bytes_, from.bytes_);
    return *this;
  }

  ~owned_memory() {
    if (data_ == nullptr)
      return;
    current_device current(ordinal_);
    dropped(Kind::release(data_));
  }

  std::byte* data() const { return data_; }
  std::uint64_t size_bytes() const { return bytes_; }

private:
  int ordinal_ = 0;
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

struct on_gpu {
  static constexpr std::string_view call = "cudaMalloc";

  static cudaError_t obtain(void** memory, std::uint64_t bytes) {
    if (cudaError_t status = cudaMalloc(memory, bytes); status != cudaSuccess)
      return status;
    // Streams that do not block pass the default stream by, so what it sets has to be there now.
    cudaError_t status = cudaMemsetAsync(*memory, 0, bytes, cudaStreamPerThread);
    if (status == cudaSuccess)
      status = cudaStreamSynchronize(cudaStreamPerThread);
    if (status != cudaSuccess)
      dropped(cudaFree(*memory));
    return status;
  }

  static cudaError_t release(void* memory) { return cudaFree(memory); }
};

/// Host memory that kernels reach at the same address.
struct pinned {
  static constexpr std::string_view call = "cudaHostAlloc";

  static cudaError_t obtain(void** memory, std::uint64_t bytes) {
    cudaError_t status = cudaHostAlloc(memory, bytes, cudaHostAllocMapped | cudaHostAllocPortable);
    if (status == cudaSuccess)
      std::fill_n(static_cast<std::byte*>(*memory), bytes, std::byte{0});
    return status;
  }

  static cudaError_t release(void* memory) { return cudaFreeHost(memory); }
};

using gpu_memory = owned_memory<on_gpu>;
using pinned_memory = owned_memory<pinned>;

/// Tables or staging as the runtime holds them.
template <class Memory>
class held_memory final : public device_memory {
public:
  explicit held_memory(Memory memory) : memory_(std::move(memory)) {}

  std::byte* data() override { return memory_.data(); }
  std::uint64_t size_bytes() const override { return memory_.size_bytes(); }

private:
  Memory memory_;
};

} // namespace kvferry::cuda
