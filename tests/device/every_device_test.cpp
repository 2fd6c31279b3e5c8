// Streams, fences and copies, as they are on every device. Linked into one program per device.
#include <thread>

#include "tests/catch.hpp"
#include "tests/device/device_under_test.hpp"

namespace kvferry::test {

namespace {

configuration small_pools() { return config_of({group_of({24, 8}, 32, 32)}); }

/// The fragments of a page's pattern, one behind the other.
std::vector<std::byte> blob_of(const std::vector<std::uint64_t>& sizes, std::uint32_t value) {
  std::vector<std::byte> bytes;
  for (std::uint32_t buffer = 0; buffer < sizes.size(); ++buffer)
    for (std::uint64_t i = 0; i < sizes[buffer]; ++i)
      bytes.push_back(pattern(value, buffer, i));
  return bytes;
}

} // namespace

TEST_CASE("A14: a stream waits for all fences of a set") {
  // A14: a record moves an event, it does not add to it; only the last of two readers counted.
  KVFERRY_NEEDS_DEVICE(d, small_pools());
  stream_id one = d.create_stream("one");
  stream_id two = d.create_stream("two");
  stream_id three = d.create_stream("three");
  d.hold(one);
  d.fill(one, gpu_page(0), 1);
  fence_set both = d.runtime_view()->record(one);
  d.fill(two, gpu_page(1), 2);
  fence by_two = d.runtime_view()->record(two);
  both.add(by_two);
  d.runtime_view()->wait(three, both);
  auto first = d.compare(three, gpu_page(0), 1);
  auto second = d.compare(three, gpu_page(1), 2);
  fence behind = d.runtime_view()->record(three);
  d.wait_for(by_two);
  REQUIRE_FALSE(d.passed(behind));
  d.release(one);
  d.finish();
  REQUIRE(d.passed(behind));
  REQUIRE(*first);
  REQUIRE(*second);
}

TEST_CASE("poll tells the latest fence of each stream that has passed, and goes on telling it") {
  KVFERRY_NEEDS_DEVICE(d, small_pools());
  stream_id one = d.create_stream("one");
  stream_id two = d.create_stream("two");
  REQUIRE(d.runtime_view()->poll().passed.empty());
  fence first = d.runtime_view()->record(one);
  d.wait_for(first);
  d.hold(one);
  fence second = d.runtime_view()->record(one);
  fence other = d.runtime_view()->record(two);
  d.wait_for(other);
  fence_set passed = d.runtime_view()->poll().passed;
  REQUIRE(passed.sequence_on(one) >= first.sequence);
  REQUIRE(passed.sequence_on(one) < second.sequence);
  d.release(one);
  d.finish();
  for (int i = 0; i < 2; ++i) {
    passed = d.runtime_view()->poll().passed;
    REQUIRE(passed.sequence_on(one) >= second.sequence);
    REQUIRE(passed.sequence_on(two) >= other.sequence);
  }
}

TEST_CASE("the list of a copy is read before the call returns") {
  KVFERRY_NEEDS_DEVICE(d, small_pools());
  stream_id s = d.create_stream("compute");
  d.hold(s);
  d.fill(s, gpu_page(1), 5);
  std::vector<page_copy> list{copy_of(1, 1)};
  d.copy(s, copy_direction::to_host, list);
  list[0] = copy_of(2, 2);
  auto copied = d.compare(s, host_page(1), 5);
  d.release(s);
  d.finish();
  REQUIRE(*copied);
}

TEST_CASE("copies that fail harm no other page and are told once, when they are over") {
  auto direction = GENERATE(copy_direction::to_host, copy_direction::to_gpu);
  KVFERRY_NEEDS_DEVICE(d, small_pools());
  stream_id s = d.create_stream("compute");
  for (std::uint32_t slot = 0; slot < 4; ++slot)
    d.fill(s, gpu_page(slot), slot);
  if (direction == copy_direction::to_gpu)
    d.copy(s, copy_direction::to_host, {copy_of(0, 0), copy_of(1, 1), copy_of(2, 2), copy_of(3, 3)});
  d.finish();
  d.runtime_view()->poll();
  d.fail_copy(1);
  d.fail_copy(3);
  d.hold(s);
  std::uint32_t to = direction == copy_direction::to_gpu ? 10 : 0;
  fence submitted = d.copy(s, direction, {copy_of(to, 0), copy_of(to + 1, 1), copy_of(to + 2, 2), copy_of(to + 3, 3)});
  fence behind = d.copy(s, direction, {copy_of(to, 0)});
  REQUIRE(d.runtime_view()->poll().failed.empty());

  std::vector<std::shared_ptr<const bool>> right;
  for (std::uint32_t i = 0; i < 4; ++i)
    right.push_back(d.compare(s, direction == copy_direction::to_gpu ? gpu_page(to + i) : host_page(i), i));
  d.release(s);
  d.wait_for(behind);
  auto failed = d.runtime_view()->poll().failed;
  REQUIRE(failed.size() == 1);
  REQUIRE(failed[0].submitted == submitted);
  REQUIRE(failed[0].positions == std::vector<std::uint32_t>{1, 3});
  d.finish();
  REQUIRE(d.runtime_view()->poll().failed.empty());
  REQUIRE(*right[0]);
  REQUIRE_FALSE(*right[1]);
  REQUIRE(*right[2]);
  REQUIRE_FALSE(*right[3]);
}

TEST_CASE("a page comes back from the host as it went, in another slot") {
  KVFERRY_NEEDS_DEVICE(d, config_of({group_of({5, 3, 8}, 4, 6)}));
  stream_id s = d.create_stream("compute");
  d.fill(s, gpu_page(0), 7);
  d.copy(s, copy_direction::to_host, {copy_of(0, 5)});
  d.copy(s, copy_direction::to_gpu, {copy_of(3, 5)});
  auto on_gpu = d.compare(s, gpu_page(3), 7);
  auto on_host = d.compare(s, host_page(5), 7);
  d.finish();
  REQUIRE(*on_gpu);
  REQUIRE(*on_host);
}

TEST_CASE("pages are copied from one GPU slot to another, behind what wrote them, and one that fails alone is told") {
  KVFERRY_NEEDS_DEVICE(d, small_pools());
  const stream_id writer = d.create_stream("writer"), copies = d.create_stream("copies");
  d.fill(writer, gpu_page(2), 5);
  d.fill(writer, gpu_page(3), 6);
  d.runtime_view()->wait(copies, d.runtime_view()->record(writer));
  d.fail_copy(1);
  const auto within = [](std::uint32_t to, std::uint32_t from) {
    return page_copy{group_id{0}, gpu_slot{to}, host_slot::none(), gpu_slot{from}};
  };
  const fence copied = d.copy(copies, copy_direction::within_gpu, {within(7, 2), within(8, 3)});
  const auto same = d.compare(copies, gpu_page(7), 5), source = d.compare(copies, gpu_page(2), 5);
  const auto failed = d.compare(copies, gpu_page(8), 6);
  d.finish();
  REQUIRE(*same);
  REQUIRE(*source);
  REQUIRE_FALSE(*failed);
  const auto told = d.runtime_view()->poll().failed;
  REQUIRE(told.size() == 1);
  REQUIRE(told[0].submitted == copied);
  REQUIRE(told[0].positions == std::vector<std::uint32_t>{1});
}

TEST_CASE("lists of both directions are copied in one call, and each has a fence of its own") {
  KVFERRY_NEEDS_DEVICE(d, small_pools());
  auto device = d.runtime_view();
  const stream_id compute = d.create_stream("compute");
  const stream_id down = device->create_stream("down"), up = device->create_stream("up");
  d.fill(compute, gpu_page(0), 7);
  d.copy(compute, copy_direction::to_host, {copy_of(0, 9)}); // what is loaded below
  d.fill(compute, gpu_page(1), 8);
  d.finish();
  d.hold(compute);
  const fence_set written = device->record(compute);
  const std::vector<page_copy> saved{copy_of(1, 5), copy_of(1, 6)}, loaded{copy_of(2, 9)};
  d.fail_copy(1);
  const std::vector<copy_list> lists{{down, copy_direction::to_host, saved, written},
                                     {up, copy_direction::to_gpu, loaded, {}}};
  const std::vector<fence> behind = device->copy_lists(lists);
  REQUIRE(behind.size() == 2);
  REQUIRE(behind[0].stream == down);
  REQUIRE(behind[1].stream == up);
  d.wait_for(behind[1]); // although the other list's stream waits
  REQUIRE_FALSE(d.passed(behind[0]));
  d.release(compute);
  device->wait(compute, behind[0]);
  device->wait(compute, behind[1]);
  const auto on_host = d.compare(compute, host_page(5), 8), on_gpu = d.compare(compute, gpu_page(2), 7);
  d.finish();
  REQUIRE(*on_host);
  REQUIRE(*on_gpu);
  const auto told = device->poll().failed;
  REQUIRE(told.size() == 1);
  REQUIRE(told[0].submitted == behind[0]);
  REQUIRE(told[0].positions == std::vector<std::uint32_t>{1});
}

TEST_CASE("a page is copied to the host after it was written, loaded after its last reader, and read after its load") {
  // A1, A2, A5: with these fences bytes are right in whichever order streams come to run.
  KVFERRY_NEEDS_DEVICE(d, small_pools());
  auto device = d.runtime_view();
  stream_id compute = d.create_stream("compute");
  stream_id down = device->create_stream("d2h");
  stream_id up = device->create_stream("h2d");
  d.hold(compute);
  d.fill(compute, gpu_page(0), 9);
  device->wait(down, device->record(compute));
  fence saved = d.copy(down, copy_direction::to_host, {copy_of(0, 4)});
  auto read_before = d.compare(compute, gpu_page(0), 9);
  fence_set before_load = device->record(compute);
  before_load.add(saved);
  d.release(compute);
  d.fill(compute, gpu_page(1), 8);
  device->wait(up, device->record(compute));
  device->wait(up, before_load);
  fence loaded = d.copy(up, copy_direction::to_gpu, {copy_of(1, 4)});
  device->wait(compute, loaded);
  auto read_after = d.compare(compute, gpu_page(1), 9);
  d.finish();
  REQUIRE(*read_before);
  REQUIRE(*read_after);
}

TEST_CASE("the runtime's view lives as long as somebody holds it") {
  std::string why;
  auto made = make_device(&why);
  if (!made) {
    WARN("skipped: " << why);
    SUCCEED();
    return;
  }
  std::shared_ptr<device> view = made->runtime_view();
  made.reset();
  stream_id s = view->create_stream("compute");
  REQUIRE(view->record(s).sequence == 1);
}

TEST_CASE("streams are used from several threads at once") {
  KVFERRY_NEEDS_DEVICE(d, small_pools());
  auto device = d.runtime_view();
  auto engine = [&](std::uint32_t slot) {
    stream_id own = d.create_stream("own");
    stream_id side = device->create_stream("side");
    for (std::uint32_t i = 0; i < 100; ++i) {
      d.fill(own, gpu_page(slot), i);
      device->wait(side, device->record(own));
      device->wait(own, d.copy(side, copy_direction::to_host, {copy_of(slot, slot)}));
      device->poll();
    }
  };
  std::thread one(engine, 1);
  std::thread two(engine, 2);
  one.join();
  two.join();
  d.finish();
  for (std::uint32_t slot : {1u, 2u})
    REQUIRE(d.bytes_at(d.pools[0].host_base + slot * 32, 32) == blob_of({24, 8}, 99));
}

} // namespace kvferry::test
