// What becomes of copies that the driver refuses, of work in flight when the process ends, and of a GPU with a fault.
// A fault ends a process's use of the GPU, so those tests run in a child process: this program, with one of the cases
// that are named "child: …".
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include <unistd.h>

#include "kvferry/runtime.hpp"
#include "tests/catch.hpp"
#include "tests/cuda/cuda_under_test.hpp"
#include "tests/cuda/test_kernels.hpp"

namespace kvferry::test {

namespace {

configuration some_pools() { return config_of({group_of({4096, 100}, 64, 64)}); }

cuda_device_options going(copy_way way) {
  cuda_device_options options = cuda_under_test::uncalibrated();
  options.only = way;
  return options;
}

bool is_child() { return std::getenv("KVFERRY_TEST_CHILD") != nullptr; }

/// Runs a case of this program in a child process, thirty seconds at most; its exit status and what it printed.
std::pair<int, std::string> run_child(const std::string& name) {
  char self[4096];
  const ssize_t length = ::readlink("/proc/self/exe", self, sizeof self - 1);
  const std::string command = "KVFERRY_TEST_CHILD=1 timeout 30 '" +
                              std::string(self, static_cast<std::size_t>(std::max<ssize_t>(length, 0))) + "' '" + name +
                              "' 2>&1";
  std::FILE* output = ::popen(command.c_str(), "r");
  std::string text;
  char part[512];
  while (output != nullptr && std::fgets(part, sizeof part, output) != nullptr)
    text += part;
  const int status = output == nullptr ? -1 : ::pclose(output);
  return {status, text};
}

void require_good_child(const std::string& name) {
  auto [status, text] = run_child(name);
  CAPTURE(text);
  REQUIRE(status == 0);
  REQUIRE_THAT(text, ContainsSubstring("All tests passed"));
}

} // namespace

TEST_CASE("a copy that the driver refuses is a failed copy like any other") {
  auto way = GENERATE(copy_way::kernel, copy_way::engine, copy_way::staged);
  auto direction = GENERATE(copy_direction::to_host, copy_direction::to_gpu);
  KVFERRY_NEEDS_GPU(d, some_pools(), going(way));
  stream_id s = d.create_stream("compute");
  for (std::uint32_t slot = 0; slot < 8; ++slot)
    d.fill(s, gpu_page(slot), slot);
  if (direction == copy_direction::to_gpu)
    d.copy(s, copy_direction::to_host, {copy_of(0, 0), copy_of(1, 1), copy_of(2, 2), copy_of(3, 3)});
  d.finish();
  d.runtime_view()->poll();

  const std::uint32_t to = direction == copy_direction::to_gpu ? 10 : 0;
  d.gpu->refuse_submission(0);
  fence refused = d.copy(s, direction, {copy_of(to, 0), copy_of(to + 1, 1)});
  d.copy(s, direction, {copy_of(to + 2, 2), copy_of(to + 3, 3)});
  auto right = d.compare(s, direction == copy_direction::to_gpu ? gpu_page(to + 2) : host_page(2), 2);
  d.finish();
  auto progress = d.runtime_view()->poll();
  REQUIRE_FALSE(progress.lost);
  REQUIRE(progress.failed.size() == 1);
  REQUIRE(progress.failed[0].submitted == refused);
  REQUIRE(progress.failed[0].positions == std::vector<std::uint32_t>{0, 1});
  REQUIRE(d.gpu->copies().refused_pages == 2);
  REQUIRE(*right);
}

TEST_CASE("child: ends with work in flight") {
  if (!is_child()) {
    WARN("skipped: another case runs it in a child process");
    SUCCEED();
    return;
  }
  KVFERRY_NEEDS_GPU(d, config_of({group_of({65'536}, 4096, 4096)}));
  stream_id s = d.create_stream("compute");
  std::vector<page_copy> all;
  for (std::uint32_t i = 0; i < 4096; ++i)
    all.push_back(copy_of(i, (i * 5) % 4096));
  for (int i = 0; i < 4; ++i)
    for (auto direction : {copy_direction::to_host, copy_direction::to_gpu})
      d.copy(s, direction, all);
  REQUIRE_FALSE(d.passed(d.runtime_view()->record(s)));
} // the device goes here; its memory must not before the copies have ended

TEST_CASE("K2: a process ends well with work in flight") {
  if (auto gpus = cuda_device::count(); !gpus) {
    WARN("skipped: " << gpus.error().message);
    SUCCEED();
    return;
  }
  require_good_child("child: ends with work in flight");
}

TEST_CASE("child: loses its device") {
  if (!is_child()) {
    WARN("skipped: another case runs it in a child process");
    SUCCEED();
    return;
  }
  KVFERRY_NEEDS_GPU(d, some_pools());
  stream_id s = d.create_stream("compute");
  stream_id other = d.runtime_view()->create_stream("other");
  d.hold(s);
  launch_fault(d.raw(s));
  fence first = d.copy(s, copy_direction::to_host, {copy_of(0, 0), copy_of(1, 1)});
  d.release(s);
  std::vector<device_progress::failed_copies> failed;
  for (bool lost = false; !lost;) {
    auto progress = d.runtime_view()->poll();
    failed.insert(failed.end(), progress.failed.begin(), progress.failed.end());
    lost = progress.lost.has_value();
  }
  REQUIRE(failed.size() == 1);
  REQUIRE(failed[0].submitted == first);
  REQUIRE(failed[0].positions == std::vector<std::uint32_t>{0, 1});
  fence second = d.copy(other, copy_direction::to_host, {copy_of(2, 2)});
  REQUIRE(d.passed(first));
  REQUIRE(d.passed(second));
  auto progress = d.runtime_view()->poll();
  REQUIRE(progress.lost->code == error_code::device_lost);
  REQUIRE(progress.failed.size() == 1);
  REQUIRE(progress.failed[0].submitted == second);
  REQUIRE(d.runtime_view()->allocate_tables(64, 0).error().code == error_code::device_lost);
  d.runtime_view()->wait(other, first);
  d.runtime_view()->record(other);
}

TEST_CASE("child: runs a runtime on a device that it loses") {
  if (!is_child()) {
    WARN("skipped: another case runs it in a child process");
    SUCCEED();
    return;
  }
  KVFERRY_NEEDS_GPU(d, some_pools());
  configuration config = some_pools();
  config.tokens_per_block = 16;
  auto runtime = runtime::create(config, d.runtime_view()).value();
  auto batch = runtime->create_batch({.rows = 4, .max_blocks = 16}).value();
  auto request = runtime->open(std::vector<token>(100, 7)).value().request;
  step_input step;
  step.stream = d.create_stream("compute");
  step.reserve = {{request, 112}};
  step.order = {request};
  REQUIRE(batch->step(step).has_value());
  step.reserve.clear();
  step.advance = {{request, 100, {}, true}};
  step.enter_decode = {request}; // copies to the host are under way
  REQUIRE(batch->step(step).has_value());
  launch_fault(d.raw(step.stream));
  (void)cudaStreamSynchronize(d.raw(step.stream));
  const auto begin = std::chrono::steady_clock::now();
  runtime->poll();
  REQUIRE(batch->step(step).error().code == error_code::device_lost);
  REQUIRE(runtime->open({1, 2, 3}).error().code == error_code::device_lost);
  REQUIRE(runtime->close(request).error().code == error_code::device_lost);
  REQUIRE(runtime->create_batch({.rows = 4, .max_blocks = 16}).error().code == error_code::device_lost);
  batch.reset();
  runtime->shut_down();
  runtime.reset();
  REQUIRE(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
}

TEST_CASE("a GPU with a fault is told as lost: fences pass, copies fail, calls say so, and the process ends") {
  if (auto gpus = cuda_device::count(); !gpus) {
    WARN("skipped: " << gpus.error().message);
    SUCCEED();
    return;
  }
  require_good_child("child: loses its device");
  require_good_child("child: runs a runtime on a device that it loses");
}

} // namespace kvferry::test
