// kvferry-step-bench on a GPU.
#include <chrono>
#include <vector>

#include "benchmarks/cuda/cuda_right.hpp"
#include "benchmarks/steps/step_device.hpp"
#include "benchmarks/timing.hpp"
#include "kvferry/cuda_device.hpp"

namespace bench {

namespace {

/// From pinned memory: an index and a tier for each group.
double copied_rows_us(std::uint32_t rows, int rounds) {
  constexpr std::size_t max_blocks = 2048, groups = 4;
  std::byte *to = nullptr, *from = nullptr;
  const std::size_t row = max_blocks * 5, bytes = 256 * groups * row;
  KVFERRY_CUDA_RIGHT(cudaMalloc(reinterpret_cast<void**>(&to), bytes));
  KVFERRY_CUDA_RIGHT(cudaMallocHost(reinterpret_cast<void**>(&from), bytes));
  cudaStream_t stream = nullptr;
  KVFERRY_CUDA_RIGHT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  std::vector<double> taken;
  for (int i = 0; i < rounds; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    for (std::uint32_t r = 0; r < rows; ++r)
      for (std::size_t g = 0; g < groups; ++g) {
        const std::size_t at = (r * groups + g) * row;
        KVFERRY_CUDA_RIGHT(cudaMemcpyAsync(to + at, from + at, max_blocks * 4, cudaMemcpyDefault, stream));
        KVFERRY_CUDA_RIGHT(cudaMemcpyAsync(to + at + max_blocks * 4, from + at + max_blocks * 4, max_blocks,
                                           cudaMemcpyDefault, stream));
      }
    taken.push_back(us_since(begin));
    KVFERRY_CUDA_RIGHT(cudaStreamSynchronize(stream));
  }
  (void)cudaStreamDestroy(stream);
  (void)cudaFreeHost(from);
  (void)cudaFree(to);
  return median(std::move(taken));
}

class cuda_step_device final : public step_device {
public:
  std::shared_ptr<kvferry::device> interface() override { return device_->interface(); }
  kvferry::stream_id create_stream() override { return device_->create_stream("compute"); }
  void finish() override { device_->finish(); }
  std::optional<double> whole_rows_us(std::uint32_t rows, int rounds) override { return copied_rows_us(rows, rounds); }

private:
  std::shared_ptr<kvferry::cuda_device> device_ = kvferry::cuda_device::create(0).value();
};

} // namespace

kvferry::expected<device_maker> make_cuda_devices() {
  if (auto gpus = kvferry::cuda_device::count(); !gpus)
    return tl::unexpected<kvferry::error>{gpus.error()};
  return device_maker{[] { return std::make_unique<cuda_step_device>(); }};
}

} // namespace bench
