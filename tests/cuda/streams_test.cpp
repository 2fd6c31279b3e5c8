// Streams and threads: which stream waits for which, whichever device and capture a thread has.
#include <atomic>
#include <thread>

#include "tests/catch.hpp"
#include "tests/cuda/cuda_under_test.hpp"
#include "tests/cuda/test_kernels.hpp"

namespace kvferry::test {

namespace {

configuration some_pools() { return config_of({group_of({4096, 100}, 64, 64)}); }

} // namespace

TEST_CASE("copies on a stream that does not block go on while the default stream is busy") {
  KVFERRY_NEEDS_GPU(d, some_pools());
  stream_id by_default = d.gpu->register_stream(nullptr, "default").value();
  stream_id own = d.runtime_view()->create_stream("copies");
  d.hold(by_default);
  d.fill(own, gpu_page(1), 4);
  fence copied = d.copy(own, copy_direction::to_host, {copy_of(1, 2)});
  auto same = d.compare(own, host_page(2), 4);
  d.wait_for(copied);
  fence held = d.runtime_view()->record(by_default);
  REQUIRE_FALSE(d.passed(held));
  d.release(by_default);
  d.finish();
  REQUIRE(*same);
}

TEST_CASE("A13: the default stream and a stream that does not block wait for each other by fences alone") {
  KVFERRY_NEEDS_GPU(d, some_pools());
  stream_id by_default = d.gpu->register_stream(nullptr, "default").value();
  stream_id own = d.runtime_view()->create_stream("copies");
  d.hold(by_default);
  d.fill(by_default, gpu_page(1), 4);
  d.runtime_view()->wait(own, d.runtime_view()->record(by_default));
  fence copied = d.copy(own, copy_direction::to_host, {copy_of(1, 2)});
  d.runtime_view()->wait(by_default, copied);
  auto same = d.compare(by_default, host_page(2), 4);
  REQUIRE_FALSE(d.passed(copied));
  d.release(by_default);
  d.finish();
  REQUIRE(*same);
}

TEST_CASE("K1: calls work from a thread that has never used CUDA, and leave each thread's device as it was") {
  KVFERRY_NEEDS_GPU(d, some_pools());
  stream_id s = d.create_stream("compute");
  d.fill(s, gpu_page(0), 1);
  int others = 0;
  KVFERRY_CUDA_OK(cudaGetDeviceCount(&others));
  const int elsewhere = others > 1 ? 1 : 0; // with one GPU there is no wrong one
  int after = -1;
  std::shared_ptr<const bool> same;
  std::thread([&] {
    if (elsewhere != 0)
      KVFERRY_CUDA_OK(cudaSetDevice(elsewhere));
    d.copy(s, copy_direction::to_host, {copy_of(0, 0)});
    stream_id side = d.runtime_view()->create_stream("side");
    d.runtime_view()->wait(side, d.runtime_view()->record(s));
    d.copy(side, copy_direction::to_gpu, {copy_of(5, 0)});
    d.runtime_view()->wait(s, d.runtime_view()->record(side));
    d.runtime_view()->allocate_tables(128, 64).value().reset();
    d.runtime_view()->poll();
    KVFERRY_CUDA_OK(cudaGetDevice(&after));
  }).join();
  same = d.compare(s, gpu_page(5), 1);
  d.finish();
  REQUIRE(after == elsewhere);
  REQUIRE(*same);
}

TEST_CASE("a stream of another GPU is refused") {
  KVFERRY_NEEDS_GPU(d, some_pools());
  int gpus = 0;
  KVFERRY_CUDA_OK(cudaGetDeviceCount(&gpus));
  if (gpus < 2) {
    WARN("skipped: there is one GPU");
    SUCCEED();
    return;
  }
  KVFERRY_CUDA_OK(cudaSetDevice(1));
  cudaStream_t other = nullptr;
  KVFERRY_CUDA_OK(cudaStreamCreate(&other));
  KVFERRY_CUDA_OK(cudaSetDevice(0));
  auto refused = d.gpu->register_stream(other, "other");
  REQUIRE(refused.error().code == error_code::invalid_argument);
  KVFERRY_CUDA_OK(cudaStreamDestroy(other));
}

TEST_CASE("K1: a device on the second GPU works while the first is current, which it stays") {
  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus < 2) {
    (void)cudaGetLastError();
    WARN("skipped: there is no second GPU");
    SUCCEED();
    return;
  }
  const auto way = GENERATE(copy_way::kernel, copy_way::engine, copy_way::staged);
  cuda_device_options options = cuda_under_test::uncalibrated();
  options.only = way;
  KVFERRY_CUDA_OK(cudaSetDevice(0));
  auto gpu = cuda_device::create(1, options).value();
  auto view = gpu->interface();
  const auto pools = view->make_pools(some_pools()).value();
  cudaPointerAttributes where{};
  KVFERRY_CUDA_OK(cudaPointerGetAttributes(&where, pools[0].buffers[0].base));
  REQUIRE(where.device == 1);
  KVFERRY_CUDA_OK(cudaSetDevice(1));
  KVFERRY_CUDA_OK(cudaMemset(pools[0].buffers[0].base + 3 * 4096, 0x5a, 4096));
  KVFERRY_CUDA_OK(cudaDeviceSynchronize());
  KVFERRY_CUDA_OK(cudaSetDevice(0));
  const stream_id down = view->create_stream("down"), up = view->create_stream("up");
  const std::vector<page_copy> saved{copy_of(3, 9)}, loaded{copy_of(7, 9)};
  view->wait(up, view->copy_pages(down, copy_direction::to_host, saved));
  gpu->wait_for(view->copy_pages(up, copy_direction::to_gpu, loaded));
  std::vector<std::byte> came_back(4096);
  KVFERRY_CUDA_OK(
      cudaMemcpy(came_back.data(), pools[0].buffers[0].base + 7 * 4096, came_back.size(), cudaMemcpyDefault));
  REQUIRE(std::all_of(came_back.begin(), came_back.end(), [](std::byte b) { return b == std::byte{0x5a}; }));
  auto tables = view->allocate_tables(64, 64).value();
  auto staging = view->allocate_staging(sizeof(table_entry)).value();
  auto& entry = *new (staging->data()) table_entry{};
  entry.value = 77;
  entry.offset = 8;
  entry.width = 4;
  view->write_tables(down, *tables, {&entry, 1});
  gpu->finish();
  std::int32_t written = 0;
  KVFERRY_CUDA_OK(cudaMemcpy(&written, tables->data() + 8, sizeof written, cudaMemcpyDefault));
  REQUIRE(written == 77);
  int current = -1;
  KVFERRY_CUDA_OK(cudaGetDevice(&current));
  REQUIRE(current == 0);
}

TEST_CASE("A20: a graph that another thread captures stays whole, whatever is called here meanwhile") {
  // A20: a capture in global mode fails when any thread makes calls that might not be safe.
  KVFERRY_NEEDS_GPU(d, some_pools());
  stream_id s = d.create_stream("compute");
  std::atomic<bool> capturing = false;
  std::atomic<bool> done = false;
  cudaError_t ended = cudaErrorUnknown;
  std::thread engine([&] {
    cudaStream_t captured = nullptr;
    KVFERRY_CUDA_OK(cudaStreamCreateWithFlags(&captured, cudaStreamNonBlocking));
    void* memory = nullptr;
    KVFERRY_CUDA_OK(cudaMalloc(&memory, 64));
    KVFERRY_CUDA_OK(cudaStreamBeginCapture(captured, cudaStreamCaptureModeGlobal));
    capturing = true;
    while (!done)
      std::this_thread::yield();
    launch_fill(static_cast<std::byte*>(memory), 64, 1, 0, captured);
    cudaGraph_t graph = nullptr;
    ended = cudaStreamEndCapture(captured, &graph);
    if (graph != nullptr)
      (void)cudaGraphDestroy(graph);
    (void)cudaStreamDestroy(captured);
    (void)cudaFree(memory);
  });
  while (!capturing)
    std::this_thread::yield();
  // No kernel of the test's own here: it would be launched without our guard.
  stream_id side = d.runtime_view()->create_stream("side");
  d.copy(side, copy_direction::to_host, {copy_of(0, 0), copy_of(1, 1)});
  std::vector<page_copy> many;
  for (std::uint32_t i = 0; i < 64; ++i)
    many.push_back(copy_of(i, i));
  d.copy(side, copy_direction::to_gpu, many);
  d.runtime_view()->wait(s, d.runtime_view()->record(side));
  auto tables = d.runtime_view()->allocate_tables(4096, 64);
  auto staging = d.runtime_view()->allocate_staging(4096);
  d.wait_for(d.runtime_view()->record(s));
  d.runtime_view()->poll();
  done = true;
  engine.join();
  REQUIRE(tables.has_value());
  REQUIRE(staging.has_value());
  REQUIRE(ended == cudaSuccess);
}

} // namespace kvferry::test
