#include "benchmarks/cuda/matrix_load.hpp"

#include <chrono>

#include "benchmarks/cuda/cuda_right.hpp"

namespace bench {
namespace {

constexpr std::uint32_t size = 2048;
constexpr std::size_t elements = std::size_t{size} * size;

} // namespace

matrix_load::matrix_load() {
  KVFERRY_CUDA_RIGHT(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  for (cudaEvent_t& event : ended_)
    KVFERRY_CUDA_RIGHT(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  KVFERRY_CUDA_RIGHT(cudaMalloc(reinterpret_cast<void**>(&matrices_), 3 * elements * sizeof(float)));
  // Bytes of 0x3c are numbers a little above 0.01: zeros would draw less power.
  KVFERRY_CUDA_RIGHT(cudaMemset(matrices_, 0x3c, 3 * elements * sizeof(float)));
  KVFERRY_CUDA_RIGHT(cudaDeviceSynchronize());
}

matrix_load::~matrix_load() {
  if (thread_.joinable())
    stop();
  (void)cudaFree(matrices_);
  for (cudaEvent_t event : ended_)
    (void)cudaEventDestroy(event);
  (void)cudaStreamDestroy(stream_);
}

void matrix_load::start() {
  running_ = true;
  thread_ = std::thread([this] { loop(); });
}

double matrix_load::stop() {
  running_ = false;
  thread_.join();
  return per_second_;
}

/// Two products are enqueued at any time.
void matrix_load::loop() {
  const auto begin = std::chrono::steady_clock::now();
  std::uint64_t launched = 0;
  for (; running_; ++launched) {
    if (launched >= 2)
      KVFERRY_CUDA_RIGHT(cudaEventSynchronize(ended_[launched % 2]));
    launch_matrix_product(matrices_, matrices_ + elements, matrices_ + 2 * elements, size, stream_);
    KVFERRY_CUDA_RIGHT(cudaGetLastError());
    KVFERRY_CUDA_RIGHT(cudaEventRecord(ended_[launched % 2], stream_));
  }
  KVFERRY_CUDA_RIGHT(cudaStreamSynchronize(stream_));
  per_second_ =
      static_cast<double>(launched) / std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

} // namespace bench
