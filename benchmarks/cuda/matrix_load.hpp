// A loop of matrix products that keeps every SM busy, as a model does while pages are copied beside it.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include <cuda_runtime_api.h>

namespace bench {

/// Enqueues c = a * b for square matrices of `size` rows [size, size].
void launch_matrix_product(const float* a, const float* b, float* c, std::uint32_t size, cudaStream_t stream);

class matrix_load {
public:
  matrix_load();
  matrix_load(const matrix_load&) = delete;
  matrix_load& operator=(const matrix_load&) = delete;
  ~matrix_load();

  void start();

  /// Ends the loop; products in a second since `start`.
  double stop();

private:
  void loop();

  cudaStream_t stream_ = nullptr;
  cudaEvent_t ended_[2] = {};
  float* matrices_ = nullptr;
  std::thread thread_;
  std::atomic<bool> running_ = false;
  double per_second_ = 0.0;
};

} // namespace bench
