// Lists of copies beyond what may be in flight: the rest waits on the host, keeps its place among what its stream was
// given, and is told like any other copy.
#include "tests/catch.hpp"
#include "tests/cuda/cuda_under_test.hpp"

namespace kvferry::test {

namespace {

constexpr std::uint32_t slots = 6'000; // 94 MiB; parts of 128, 512 and 2,048 pages are the first 42

configuration pools() { return config_of({group_of({16'384}, slots, slots)}); }

cuda_device_options narrow() {
  cuda_device_options options = cuda_under_test::uncalibrated();
  options.copies_in_flight_bytes_max = 1 << 20;
  return options;
}

std::vector<page_copy> all_pages(std::uint32_t shift = 0) {
  std::vector<page_copy> copies;
  for (std::uint32_t i = 0; i < slots; ++i)
    copies.push_back(copy_of((i + shift) % slots, i));
  return copies;
}

std::uint64_t submitted(const cuda_under_test& d) {
  const copy_counts counts = d.gpu->copies();
  return counts.kernel_pages + counts.engine_pages + counts.staged_pages;
}

} // namespace

TEST_CASE(
    "what is beyond the bound is enqueued when earlier copies have ended, and the fence passes behind all of it") {
  const auto direction = GENERATE(copy_direction::to_host, copy_direction::to_gpu);
  KVFERRY_NEEDS_GPU(d, pools(), narrow());
  stream_id s = d.create_stream("copies");
  for (std::uint32_t i : {0u, 3'000u, slots - 1})
    d.fill(s, gpu_page(i), i);
  d.copy(s, copy_direction::to_host, {copy_of(0, 0), copy_of(3'000, 3'000), copy_of(slots - 1, slots - 1)});
  for (std::uint32_t i : {0u, 3'000u, slots - 1})
    d.fill(s, gpu_page(i), direction == copy_direction::to_host ? i + 1 : 7);
  d.finish();
  const std::uint64_t before = submitted(d);
  d.hold(s);
  const fence behind = d.copy(s, direction, all_pages());
  d.runtime_view()->poll();
  REQUIRE(submitted(d) - before < slots); // although the list may be gone
  REQUIRE_FALSE(d.passed(behind));
  d.release(s);
  d.wait_for(behind);
  REQUIRE(submitted(d) - before == slots);
  std::vector<std::shared_ptr<const bool>> right;
  for (std::uint32_t i : {0u, 3'000u, slots - 1})
    right.push_back(direction == copy_direction::to_host ? d.compare(s, host_page(i), i + 1)
                                                         : d.compare(s, gpu_page(i), i));
  d.finish();
  for (const auto& each : right)
    REQUIRE(*each);
}

TEST_CASE("what is enqueued on a stream, or waits for its fence, comes behind all of its list") {
  const std::string how = GENERATE("its fence", "a position behind it", "the next copies of the stream, the other way");
  CAPTURE(how);
  KVFERRY_NEEDS_GPU(d, pools(), narrow());
  auto device = d.runtime_view();
  stream_id s = d.create_stream("copies");
  stream_id other = d.create_stream("other");
  d.fill(s, gpu_page(slots - 1), 5);
  d.hold(s);
  const fence saved = d.copy(s, copy_direction::to_host, all_pages());
  if (how == "the next copies of the stream, the other way")
    d.copy(s, copy_direction::to_gpu, all_pages(1)); // page slots - 1 comes back as page 0
  device->wait(other, how == "its fence" ? saved : device->record(s));
  d.copy(other, copy_direction::to_gpu, {copy_of(0, slots - 1)});
  d.release(s);
  const auto came_back = d.compare(other, gpu_page(0), 5);
  d.finish();
  REQUIRE(*came_back);
  REQUIRE(d.gpu->copies().refused_pages == 0);
}

TEST_CASE("a stream whose list waits goes on in order: later waits hold later lists alone") {
  KVFERRY_NEEDS_GPU(d, pools(), narrow());
  auto device = d.runtime_view();
  stream_id s = d.create_stream("copies");
  stream_id engine = d.create_stream("engine");
  d.hold(s);
  const fence first = d.copy(s, copy_direction::to_host, all_pages());
  d.hold(engine);
  device->wait(s, device->record(engine));
  const fence second = d.copy(s, copy_direction::to_host, {copy_of(3, 4)});
  d.release(s);
  d.wait_for(first);
  for (int i = 0; i < 100; ++i)
    REQUIRE_FALSE(d.passed(second));
  d.release(engine);
  d.wait_for(second);
  REQUIRE(d.passed(second));
}

TEST_CASE("what a stream is to wait for while its list waits holds whatever comes next on it") {
  const std::string next = GENERATE("a position", "a copy the other way", "a copy within the GPU");
  CAPTURE(next);
  KVFERRY_NEEDS_GPU(d, pools(), narrow());
  auto device = d.runtime_view();
  stream_id s = d.create_stream("copies");
  stream_id engine = d.create_stream("engine");
  d.hold(s);
  const fence first = d.copy(s, copy_direction::to_host, all_pages());
  d.hold(engine);
  device->wait(s, device->record(engine));
  fence behind;
  if (next == "a position")
    behind = device->record(s);
  else if (next == "a copy the other way")
    behind = d.copy(s, copy_direction::to_gpu, {copy_of(3, 4)});
  else
    behind =
        d.copy(s, copy_direction::within_gpu, {page_copy{group_id{0}, gpu_slot{3}, host_slot::none(), gpu_slot{4}}});
  d.release(s);
  d.wait_for(first);
  for (int i = 0; i < 100; ++i)
    REQUIRE_FALSE(d.passed(behind));
  d.release(engine);
  d.wait_for(behind);
  REQUIRE(d.passed(behind));
}

TEST_CASE("a copy that fails far behind the bound is told by its list's fence, and no other") {
  KVFERRY_NEEDS_GPU(d, pools(), narrow());
  stream_id s = d.create_stream("copies");
  d.gpu->fail_copy(5'500);
  d.hold(s);
  const fence behind = d.copy(s, copy_direction::to_host, all_pages());
  d.release(s);
  d.finish();
  const auto failed = d.runtime_view()->poll().failed;
  REQUIRE(failed.size() == 1);
  REQUIRE(failed[0].submitted == behind);
  REQUIRE(failed[0].positions == std::vector<std::uint32_t>{5'500});
}

TEST_CASE("both directions go on in turn when both are beyond the bound") {
  KVFERRY_NEEDS_GPU(d, pools(), narrow());
  auto device = d.runtime_view();
  stream_id down = d.create_stream("down");
  stream_id up = d.create_stream("up");
  std::vector<page_copy> saved, loaded;
  for (std::uint32_t i = 0; i < slots / 2; ++i) {
    saved.push_back(copy_of(i, i));
    loaded.push_back(copy_of(slots / 2 + i, slots / 2 + i));
  }
  d.fill(down, gpu_page(slots / 2 - 1), 3);
  d.fill(up, gpu_page(slots - 1), 4);
  d.copy(up, copy_direction::to_host, {copy_of(slots - 1, slots - 1)});
  d.fill(up, gpu_page(slots - 1), 9);
  const std::vector<copy_list> lists{{down, copy_direction::to_host, saved, {}},
                                     {up, copy_direction::to_gpu, loaded, {}}};
  const auto behind = device->copy_lists(lists);
  for (fence each : behind)
    d.wait_for(each);
  const auto there = d.compare(down, host_page(slots / 2 - 1), 3), back = d.compare(up, gpu_page(slots - 1), 4);
  d.finish();
  REQUIRE(*there);
  REQUIRE(*back);
}

} // namespace kvferry::test
