#include "tests/cuda/cuda_under_test.hpp"

#include <cstdlib>

#include "tests/cuda/test_kernels.hpp"

namespace kvferry::test {

cuda_device_options cuda_under_test::uncalibrated() {
  cuda_device_options options;
  options.calibrate = false;
  return options;
}

std::unique_ptr<cuda_under_test> cuda_under_test::make(std::string* why_not, cuda_device_options options) {
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0); // or a held stream may hold others that share its queue
  ::setenv("CUDA_MODULE_LOADING", "EAGER", 0);      // or a kernel's first launch may wait for a stream that is held
  auto made = cuda_device::create(0, std::move(options));
  if (!made) {
    *why_not = made.error().message;
    // Without a GPU there is nothing to test; with one, not to get it is a failure.
    KVFERRY_REQUIRE(!cuda_device::count(), "there is a GPU, but: {}", *why_not);
    return nullptr;
  }
  return std::unique_ptr<cuda_under_test>(new cuda_under_test(std::move(*made)));
}

std::unique_ptr<device_under_test> make_device(std::string* why_not) { return cuda_under_test::make(why_not); }

cuda_under_test::~cuda_under_test() {
  for (auto& [stream, word] : held_)
    *word = 1;
  gpu.reset();
  for (std::byte* tensor : tensors_)
    (void)cudaFree(tensor);
  // The streams stay: somebody may still hold the device.
}

stream_id cuda_under_test::create_stream(std::string_view name) {
  cudaStream_t made = nullptr;
  KVFERRY_CUDA_OK(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
  std::lock_guard lock(guard_);
  streams_.push_back(made);
  return gpu->register_stream(made, name).value();
}

std::byte* cuda_under_test::fragment(page_ref page, std::uint32_t buffer) const {
  const group_pools& of = pools[page.group.value()];
  if (page.tier == tier::gpu)
    return of.buffers[buffer].base + page.slot * of.buffers[buffer].slot_stride_bytes;
  std::byte* at = of.host_base + page.slot * of.host_slot_bytes;
  for (std::uint32_t before = 0; before < buffer; ++before)
    at += of.buffers[before].bytes_per_slot;
  return at;
}

void cuda_under_test::fill(stream_id stream, page_ref page, std::uint32_t value) {
  for (std::uint32_t b = 0; b < pools[page.group.value()].buffers.size(); ++b)
    launch_fill(fragment(page, b), pools[page.group.value()].buffers[b].bytes_per_slot, value, b, raw(stream));
  KVFERRY_CUDA_OK(cudaGetLastError());
}

std::shared_ptr<const bool> cuda_under_test::compare(stream_id stream, page_ref page, std::uint32_t value) {
  std::lock_guard lock(guard_);
  const comparison added{words_.take(), std::make_shared<bool>(false)};
  comparisons_.push_back(added);
  for (std::uint32_t b = 0; b < pools[page.group.value()].buffers.size(); ++b)
    launch_compare(fragment(page, b), pools[page.group.value()].buffers[b].bytes_per_slot, value, b,
                   const_cast<std::uint32_t*>(added.differs), raw(stream));
  KVFERRY_CUDA_OK(cudaGetLastError());
  return added.same;
}

void cuda_under_test::hold(stream_id stream) {
  auto* word = held_[stream.value()] = words_.take();
  launch_spin(word, raw(stream));
  KVFERRY_CUDA_OK(cudaGetLastError());
}

void cuda_under_test::release(stream_id stream) { *held_.at(stream.value()) = 1; }

void cuda_under_test::finish() {
  gpu->finish();
  KVFERRY_CUDA_OK(cudaDeviceSynchronize());
  for (comparison& each : comparisons_)
    *each.same = *each.differs == 0;
}

std::vector<std::byte> cuda_under_test::bytes_at(const std::byte* memory, std::uint64_t count) {
  std::vector<std::byte> bytes(count);
  KVFERRY_CUDA_OK(cudaMemcpy(bytes.data(), memory, count, cudaMemcpyDefault));
  return bytes;
}

std::byte* cuda_under_test::engine_tensor(std::uint64_t bytes, std::byte filling) {
  void* memory = nullptr;
  KVFERRY_CUDA_OK(cudaMalloc(&memory, bytes));
  KVFERRY_CUDA_OK(cudaMemset(memory, std::to_integer<int>(filling), bytes));
  KVFERRY_CUDA_OK(cudaDeviceSynchronize());
  tensors_.push_back(static_cast<std::byte*>(memory));
  return tensors_.back();
}

} // namespace kvferry::test
