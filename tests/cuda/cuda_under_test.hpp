// The CUDA device for tests: the common suite's view of it, and what CUDA's own tests need beside that.
#pragma once

#include <algorithm>
#include <map>
#include <mutex>

#include <cuda_runtime_api.h>

#include "kvferry/contract.hpp"
#include "kvferry/cuda_device.hpp"
#include "tests/device/device_under_test.hpp"

namespace kvferry::test {

/// Ends the process on anything but success: it is the test that is wrong.
inline void cuda_ok(cudaError_t status, const char* call) {
  KVFERRY_REQUIRE(status == cudaSuccess, "{}: {}", call, cudaGetErrorName(status));
}
#define KVFERRY_CUDA_OK(call) ::kvferry::test::cuda_ok(call, #call)

/// Words that the host and kernels share, made beforehand: an allocation may wait for a stream that a test holds.
class mapped_words {
public:
  static constexpr std::size_t count = 16'384;

  mapped_words() {
    void* memory = nullptr;
    KVFERRY_CUDA_OK(cudaHostAlloc(&memory, count * sizeof(std::uint32_t), cudaHostAllocMapped | cudaHostAllocPortable));
    words_ = static_cast<std::uint32_t*>(memory);
    std::fill_n(words_, count, 0u);
  }
  mapped_words(const mapped_words&) = delete;
  mapped_words& operator=(const mapped_words&) = delete;
  ~mapped_words() { (void)cudaFreeHost(words_); }

  /// One that is 0 and nobody else's.
  volatile std::uint32_t* take() {
    KVFERRY_REQUIRE(taken_ < count, "{} words", taken_);
    return words_ + taken_++;
  }

private:
  std::uint32_t* words_ = nullptr;
  std::size_t taken_ = 0;
};

class cuda_under_test final : public device_under_test {
public:
  /// Costs are the defaults: calibration takes longer than most tests.
  static std::unique_ptr<cuda_under_test> make(std::string* why_not, cuda_device_options options = uncalibrated());
  static cuda_device_options uncalibrated();

  ~cuda_under_test() override;

  std::shared_ptr<device> runtime_view() override { return gpu->interface(); }
  stream_id create_stream(std::string_view name) override;
  void fill(stream_id stream, page_ref page, std::uint32_t value) override;
  std::shared_ptr<const bool> compare(stream_id stream, page_ref page, std::uint32_t value) override;
  void hold(stream_id stream) override;
  void release(stream_id stream) override;
  void finish() override;
  void wait_for(fence until) override { gpu->wait_for(until); }
  bool passed(fence f) override { return gpu->passed(f); }
  std::vector<std::byte> bytes_at(const std::byte* memory, std::uint64_t count) override;
  std::byte* engine_tensor(std::uint64_t bytes, std::byte filling) override;
  void fail_copy(std::uint64_t nth) override { gpu->fail_copy(nth); }
  void fail_allocation(std::uint64_t nth) override { gpu->fail_allocation(nth); }

  cudaStream_t raw(stream_id stream) const { return static_cast<cudaStream_t>(gpu->handle(stream)); }

  std::shared_ptr<cuda_device> gpu;

private:
  struct comparison {
    volatile std::uint32_t* differs;
    std::shared_ptr<bool> same;
  };

  explicit cuda_under_test(std::shared_ptr<cuda_device> made) : gpu(std::move(made)) {}

  std::byte* fragment(page_ref page, std::uint32_t buffer) const;

  std::mutex guard_;
  std::vector<cudaStream_t> streams_; ///< the engine's; they outlive the device
  std::vector<std::byte*> tensors_;
  mapped_words words_;
  std::map<std::uint32_t, volatile std::uint32_t*> held_; ///< by stream; 1 releases it
  std::vector<comparison> comparisons_;
};

/// A CUDA device with these pools. Ends the test case, as skipped, where there is no GPU.
#define KVFERRY_NEEDS_GPU(name, config, ...)                                                                           \
  std::string name##_missing;                                                                                          \
  auto name##_made = ::kvferry::test::cuda_under_test::make(&name##_missing __VA_OPT__(, ) __VA_ARGS__);               \
  if (!name##_made) {                                                                                                  \
    WARN("skipped: " << name##_missing);                                                                               \
    SUCCEED();                                                                                                         \
    return;                                                                                                            \
  }                                                                                                                    \
  auto& name = *name##_made;                                                                                           \
  name.use_pools(config)

} // namespace kvferry::test
