// Pools, tables and staging memory, as they are on every device. Linked into one program per device.
#include <cstring>

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
  std::vector<table_entry> anywhere(count);
  auto* entries = count <= table_entries_by_value ? anywhere.data() : reinterpret_cast<table_entry*>(staging->data());
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
  std::fill(anywhere.begin(), anywhere.end(), table_entry{}); // they were taken
  d.finish();
  REQUIRE(d.bytes_at(tables->data(), bytes) == expected);
}

TEST_CASE("a runtime's next pools are made when the work of the last one is over") {
  KVFERRY_NEEDS_DEVICE(d, small_pools());
  stream_id s = d.create_stream("compute");
  d.copy(s, copy_direction::to_host, {copy_of(0, 0)});
  d.finish();
  d.use_pools(config_of({group_of({8}, 2, 2)}));
  REQUIRE(d.pools[0].gpu_slots == 2);
}

} // namespace kvferry::test
