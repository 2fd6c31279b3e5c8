// A CUDA stream as an owning type and a reference. Made for a GPU, never for "the current one".
#pragma once

#include <utility>

#include <cuda_runtime_api.h>

#include "device/cuda/cuda_error.hpp"
#include "device/cuda/current_device.hpp"

namespace kvferry::cuda {

/// A stream that somebody else owns; by default the default stream.
class stream_ref {
public:
  stream_ref() = default;
  explicit stream_ref(cudaStream_t handle) : handle_(handle) {}
  stream_ref(int) = delete; // 0 and 1 are streams with a meaning of their own

  cudaStream_t get() const { return handle_; }

private:
  cudaStream_t handle_ = nullptr;
};

/// Owns a non-blocking stream of high priority: what runs there is short. Moved from, it owns none.
class stream {
public:
  static expected<stream> make(int ordinal) {
    current_device current(ordinal);
    int least = 0;
    int greatest = 0;
    dropped(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    cudaStream_t handle = nullptr;
    if (auto made = checked(cudaStreamCreateWithPriority(&handle, cudaStreamNonBlocking, greatest),
                            "cudaStreamCreateWithPriority");
        !made)
      return tl::unexpected(made.error());
    return stream(ordinal, handle);
  }

  stream(stream&& from) noexcept : ordinal_(from.ordinal_), handle_(std::exchange(from.handle_, nullptr)) {}

  stream& operator=(stream&& from) noexcept {
    std::swap(ordinal_, from.ordinal_);
    std::swap(handle_, from.handle_);
    return *this;
  }

  ~stream() {
    if (handle_ == nullptr)
      return;
    current_device current(ordinal_);
    dropped(cudaStreamDestroy(handle_));
  }

  stream_ref ref() const { return stream_ref(handle_); }
  cudaStream_t get() const { return handle_; }

private:
  stream(int ordinal, cudaStream_t handle) : ordinal_(ordinal), handle_(handle) {}

  int ordinal_;
  cudaStream_t handle_;
};

} // namespace kvferry::cuda
