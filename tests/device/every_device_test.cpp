// What holds on every device. Linked into one program per device.
#include <cstring>
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

bool all_are(const std::vector<std::byte>& bytes, std::byte value) {
  return std::all_of(bytes.begin(), bytes.end(), [&](std::byte b) { return b == value; });
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

TEST_CASE("F1: a host slot is the fragments of all buffers in their order, for every group apart") {
  // F1: several layers in one allocation, all bound to the base offset; each must come back as itself.
  KVFERRY_NEEDS_DEVICE(d, config_of({group_of({5, 3, 8}, 4, 6), group_of({16}, 4, 6)}));
  stream_id s = d.create_stream("compute");
  d.fill(s, gpu_page(2, 0), 1);
  d.fill(s, gpu_page(2, 1), 2);
  d.copy(s, copy_direction::to_host, {copy_of(2, 5, 0), copy_of(2, 4, 1)});
  d.finish();
  REQUIRE(d.pools[0].host_slot_bytes == 16);
  REQUIRE(d.bytes_at(d.pools[0].host_base + 5 * 16, 16) == blob_of({5, 3, 8}, 1));
  REQUIRE(d.bytes_at(d.pools[1].host_base + 4 * 16, 16) == blob_of({16}, 2));
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

TEST_CASE("an engine's own buffer is used where it is, and only within its fragments") {
  KVFERRY_NEEDS_DEVICE(d, small_pools());
  constexpr std::byte before{0xEE};
  std::byte* tensor = d.engine_tensor(4 * 32, before);
  configuration config = config_of({group_of({24, 8}, 4, 4)});
  config.groups[0].buffers[0].base_address = reinterpret_cast<std::uintptr_t>(tensor);
  config.groups[0].buffers[0].slot_stride_bytes = 32;
  d.use_pools(config);
  REQUIRE(d.pools[0].buffers[0].base == tensor);

  stream_id s = d.create_stream("compute");
  d.fill(s, gpu_page(1), 3);
  d.copy(s, copy_direction::to_host, {copy_of(1, 0)});
  d.copy(s, copy_direction::to_gpu, {copy_of(2, 0)});
  d.finish();
  std::vector<std::byte> expected(4 * 32, before);
  for (std::uint64_t i = 0; i < 24; ++i)
    expected[32 + i] = expected[64 + i] = pattern(3, 0, i);
  REQUIRE(d.bytes_at(tensor, 4 * 32) == expected);
}

TEST_CASE("G1: pages beyond 2 and 4 GiB are copied whole") {
  // G1: page times stride in 32 bit.
  constexpr std::uint64_t stride = 3ull << 30;
  configuration config = config_of({group_of({4096}, 3, 2)});
  config.groups[0].buffers[0].slot_stride_bytes = stride;
  KVFERRY_NEEDS_DEVICE(d, config);
  stream_id s = d.create_stream("compute");
  for (std::uint32_t slot = 0; slot < 3; ++slot)
    d.fill(s, gpu_page(slot), slot + 1);
  d.copy(s, copy_direction::to_host, {copy_of(2, 1)});
  d.copy(s, copy_direction::to_gpu, {copy_of(1, 1)});
  d.finish();
  for (std::uint64_t slot : {1, 2})
    REQUIRE(d.bytes_at(d.pools[0].buffers[0].base + slot * stride, 4096) == blob_of({4096}, 3));
  REQUIRE(d.bytes_at(d.pools[0].host_base + 4096, 4096) == blob_of({4096}, 3));
}

TEST_CASE("pools that 64 bit cannot address are refused and name the buffer") {
  KVFERRY_NEEDS_DEVICE(d, small_pools());
  configuration config = config_of({group_of({8}, 1u << 31, 1)});
  config.groups[0].buffers[0].slot_stride_bytes = 1ull << 40;
  auto made = d.runtime_view()->make_pools(config);
  REQUIRE(made.error().code == error_code::invalid_configuration);
  REQUIRE_THAT(made.error().message, ContainsSubstring("groups[0].buffers[0]"));
}

TEST_CASE("a group without host slots has no host memory") {
  KVFERRY_NEEDS_DEVICE(d, config_of({group_of({8}, 4, 0)}));
  REQUIRE(d.pools[0].host_slots == 0);
  REQUIRE(d.pools[0].host_base == nullptr);
}

TEST_CASE("E1 F5 G7: memory that cannot be had is named by tier, bytes and option, and the next try has all of it") {
  // G7: a host failure that reads as GPU memory. E1: what was taken before the failure leaks.
  KVFERRY_NEEDS_DEVICE(d, small_pools());
  auto device = d.runtime_view();
  configuration config = config_of({group_of({24, 8}, 10, 20), group_of({4}, 5, 6)});
  std::vector<std::string> expected{
      "GPU memory of groups[0].buffers[0] (10 slots, groups[0].gpu_slots): 240 bytes could not be allocated",
      "GPU memory of groups[0].buffers[1] (10 slots, groups[0].gpu_slots): 80 bytes could not be allocated",
      "host memory of groups[0] (20 slots, groups[0].host_slots): 640 bytes could not be allocated",
      "GPU memory of groups[1].buffers[0] (5 slots, groups[1].gpu_slots): 20 bytes could not be allocated",
      "host memory of groups[1] (6 slots, groups[1].host_slots): 24 bytes could not be allocated"};
  for (std::size_t nth = 0; nth < expected.size(); ++nth) {
    d.fail_allocation(nth);
    auto made = device->make_pools(config);
    REQUIRE(made.error().code == error_code::out_of_memory);
    REQUIRE(made.error().message == expected[nth]);
  }
  REQUIRE(device->make_pools(config).value().size() == 2);

  d.fail_allocation(0);
  REQUIRE_THAT(device->allocate_tables(64, 32).error().message, ContainsSubstring("GPU memory of a batch's tables"));
  d.fail_allocation(0);
  REQUIRE_THAT(device->allocate_staging(64).error().message, ContainsSubstring("host memory for staging"));
}

TEST_CASE("tables begin with ones and zeros, and entries of every width land where they say, few or many") {
  auto count = GENERATE(1u, 3u, 16u, 17u, 250u, 251u, 5000u);
  KVFERRY_NEEDS_DEVICE(d, small_pools());
  stream_id s = d.create_stream("compute");
  const std::uint64_t bytes = count * 8 + 64;
  auto tables = d.runtime_view()->allocate_tables(bytes, 32).value();
  REQUIRE(all_are(d.bytes_at(tables->data(), 32), std::byte{0xff}));
  REQUIRE(all_are(d.bytes_at(tables->data() + 32, bytes - 32), std::byte{0}));

  auto staging = d.runtime_view()->allocate_staging(count * sizeof(table_entry)).value();
  auto* entries = reinterpret_cast<table_entry*>(staging->data());
  std::vector<std::byte> expected(bytes, std::byte{0});
  std::fill_n(expected.begin(), 32, std::byte{0xff});
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t width = i % 3 == 0 ? 1 : i % 3 == 1 ? 4 : 8;
    const std::uint64_t value = 0x0102030405060708ull * (i + 1);
    entries[i] = {};
    entries[i].value = value;
    entries[i].offset = (16 + i * 8ull) & ((1ull << 56) - 1);
    entries[i].width = width & 0xff;
    std::memcpy(expected.data() + 16 + i * 8ull, &value, width);
  }
  d.runtime_view()->write_tables(s, *tables, {entries, count});
  d.finish();
  REQUIRE(d.bytes_at(tables->data(), bytes) == expected);
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

TEST_CASE("a runtime's next pools are made when the work of the last one is over") {
  KVFERRY_NEEDS_DEVICE(d, small_pools());
  stream_id s = d.create_stream("compute");
  d.copy(s, copy_direction::to_host, {copy_of(0, 0)});
  d.finish();
  d.use_pools(config_of({group_of({8}, 2, 2)}));
  REQUIRE(d.pools[0].gpu_slots == 2);
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
