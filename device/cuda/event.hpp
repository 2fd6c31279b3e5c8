// Untimed CUDA events, and a pool of them: a fence takes one when it is recorded and gives it back when it has passed.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>

#include "device/cuda/cuda_error.hpp"
#include "device/cuda/current_device.hpp"

namespace kvferry::cuda {

/// Owns an event. Moved from, it owns none.
class event {
public:
  static expected<event> make(int ordinal) {
    current_device current(ordinal);
    cudaEvent_t handle = nullptr;
    if (auto made = checked(cudaEventCreateWithFlags(&handle, cudaEventDisableTiming), "cudaEventCreateWithFlags");
        !made)
      return tl::unexpected(made.error());
    return event(ordinal, handle);
  }

  event(event&& from) noexcept : ordinal_(from.ordinal_), handle_(std::exchange(from.handle_, nullptr)) {}

  event& operator=(event&& from) noexcept {
    std::swap(ordinal_, from.ordinal_);
    std::swap(handle_, from.handle_);
    return *this;
  }

  ~event() {
    if (handle_ == nullptr)
      return;
    current_device current(ordinal_);
    dropped(cudaEventDestroy(handle_));
  }

  cudaEvent_t get() const { return handle_; }

private:
  event(int ordinal, cudaEvent_t handle) : ordinal_(ordinal), handle_(handle) {}

  int ordinal_;
  cudaEvent_t handle_;
};

/// Not thread safe: it belongs to the device, under its lock.
class event_pool {
public:
  explicit event_pool(int ordinal) : ordinal_(ordinal) {}

  /// Fails only when the driver has no more events.
  expected<event> take() {
    if (free_.empty())
      return event::make(ordinal_);
    event taken = std::move(free_.back());
    free_.pop_back();
    return taken;
  }

  /// Waits that were enqueued for it do not mind: they are for what was recorded then.
  void give_back(event taken) { free_.push_back(std::move(taken)); }

private:
  int ordinal_;
  std::vector<event> free_;
};

} // namespace kvferry::cuda
