// Where pages lie on the host device, and what becomes of their bytes when they are copied.
#include "device/host/host_pools.hpp"

#include <cstring>

#include "tests/catch.hpp"
#include "tests/device/death.hpp"
#include "tests/device/rig.hpp"
#include "tests/properties.hpp"

namespace kvferry::test {

TEST_CASE("F1: a host slot is the fragments of all buffers in their order, for every group apart") {
  // F1: several layers in one allocation, all bound to the base offset; each must come back as itself.
  rig r({}, config_of({group_of({5, 3, 8}, 4, 6), group_of({16}, 4, 6)}));
  stream_id s = r.gpu->create_stream("compute");
  r.fill(s, gpu_page(2, 0), 1);
  r.fill(s, gpu_page(2, 1), 2);
  r.copy(s, copy_direction::to_host, {copy_of(2, 5, 0), copy_of(2, 4, 1)});
  r.gpu->run_all();

  std::vector<std::byte> expected;
  std::vector<std::uint64_t> sizes{5, 3, 8};
  for (std::uint32_t buffer = 0; buffer < sizes.size(); ++buffer)
    for (std::uint64_t i = 0; i < sizes[buffer]; ++i)
      expected.push_back(pattern(1, buffer, i));
  REQUIRE(r.pools[0].host_slot_bytes == 16);
  REQUIRE(std::memcmp(r.pools[0].host_base + 5 * 16, expected.data(), 16) == 0);
  for (std::uint64_t i = 0; i < 16; ++i)
    REQUIRE(r.pools[1].host_base[4 * 16 + i] == pattern(2, 0, i));
}

TEST_CASE("a page comes back from the host as it went, in another slot") {
  rig r({}, config_of({group_of({5, 3, 8}, 4, 6)}));
  stream_id s = r.gpu->create_stream("compute");
  r.fill(s, gpu_page(0), 7);
  r.copy(s, copy_direction::to_host, {copy_of(0, 5)});
  r.copy(s, copy_direction::to_gpu, {copy_of(3, 5)});
  bool on_gpu = false;
  bool on_host = false;
  r.compare(s, gpu_page(3), 7, &on_gpu);
  r.compare(s, host_page(5), 7, &on_host);
  r.gpu->run_all();
  REQUIRE(on_gpu);
  REQUIRE(on_host);
}

TEST_CASE("an engine's own buffer is used where it is, and only within its fragments") {
  std::vector<std::byte> tensor(4 * 32, std::byte{0xEE});
  configuration config = config_of({group_of({24, 8}, 4, 4)});
  config.groups[0].buffers[0].base_address = reinterpret_cast<std::uintptr_t>(tensor.data());
  config.groups[0].buffers[0].slot_stride_bytes = 32;
  rig r({}, config);
  REQUIRE(r.pools[0].buffers[0].base == tensor.data());

  stream_id s = r.gpu->create_stream("compute");
  r.fill(s, gpu_page(2), 3);
  r.gpu->run_all();
  for (std::size_t i = 0; i < tensor.size(); ++i)
    REQUIRE(tensor[i] == (i >= 64 && i < 88 ? pattern(3, 0, i - 64) : std::byte{0xEE}));
}

TEST_CASE("G1: an address is base plus slot times stride plus offset, in 64 bit") {
  // G1: page times stride in 32 bit.
  REQUIRE(holds([] {
    auto slots = *rc::gen::inRange<std::uint32_t>(1, 1u << 31);
    auto bytes = *rc::gen::inRange<std::uint64_t>(1, 1u << 14);
    auto stride = bytes + *rc::gen::inRange<std::uint64_t>(0, 1u << 14);
    auto slot = *rc::gen::inRange<std::uint32_t>(0, slots);
    auto offset = *rc::gen::inRange<std::uint64_t>(0, bytes);

    configuration config = config_of({group_of({bytes}, slots, 0)});
    config.groups[0].buffers[0].base_address = 4096; // never dereferenced
    config.groups[0].buffers[0].slot_stride_bytes = stride;
    host_allocator allocator;
    auto pools = host_pools::make(config, allocator).value();
    auto address = reinterpret_cast<std::uintptr_t>(pools.address(gpu_page(slot), 0, offset, bytes - offset));
    std::uintptr_t from_slot_0 = address - 4096 - offset;
    RC_ASSERT(from_slot_0 % stride == 0);
    RC_ASSERT(from_slot_0 / stride == slot);
  }));
}

TEST_CASE("G1: pages beyond 2 and 4 GiB are copied whole, and memory that is not touched costs nothing") {
  constexpr std::uint64_t stride = 3ull << 30;
  configuration config = config_of({group_of({4096}, 3, 2)});
  config.groups[0].buffers[0].slot_stride_bytes = stride;
  rig r({}, config);
  stream_id s = r.gpu->create_stream("compute");
  for (std::uint32_t slot = 0; slot < 3; ++slot)
    r.fill(s, gpu_page(slot), slot + 1);
  r.copy(s, copy_direction::to_host, {copy_of(2, 1)});
  r.gpu->run_all();
  for (std::uint64_t i = 0; i < 4096; ++i) {
    REQUIRE(r.pools[0].buffers[0].base[2 * stride + i] == pattern(3, 0, i));
    REQUIRE(r.pools[0].host_base[4096 + i] == pattern(3, 0, i));
  }
}

TEST_CASE("pools that 64 bit cannot address are refused and name the buffer") {
  configuration config = config_of({group_of({8}, 1u << 31, 1)});
  config.groups[0].buffers[0].slot_stride_bytes = 1ull << 40;
  auto made = host_device::create()->interface()->make_pools(config);
  REQUIRE(made.error().code == error_code::invalid_configuration);
  REQUIRE_THAT(made.error().message, ContainsSubstring("groups[0].buffers[0]"));
}

TEST_CASE("a group without host slots has no host memory") {
  rig r({}, config_of({group_of({8}, 4, 0)}));
  REQUIRE(r.pools[0].host_slots == 0);
  REQUIRE(r.pools[0].host_base == nullptr);
}

TEST_CASE("E1 F5 G7: memory that cannot be had is named by tier, bytes and option, and the next try has all of it") {
  // G7: a host failure that reads as GPU memory. E1: what was taken before the failure leaks. F5: more is taken than planned.
  auto gpu = host_device::create();
  auto device = gpu->interface();
  configuration config = config_of({group_of({24, 8}, 10, 20), group_of({4}, 5, 6)});
  std::vector<std::string> expected{
      "GPU memory of groups[0].buffers[0] (10 slots, groups[0].gpu_slots): 240 bytes could not be allocated",
      "GPU memory of groups[0].buffers[1] (10 slots, groups[0].gpu_slots): 80 bytes could not be allocated",
      "host memory of groups[0] (20 slots, groups[0].host_slots): 640 bytes could not be allocated",
      "GPU memory of groups[1].buffers[0] (5 slots, groups[1].gpu_slots): 20 bytes could not be allocated",
      "host memory of groups[1] (6 slots, groups[1].host_slots): 24 bytes could not be allocated"};
  for (std::size_t nth = 0; nth < expected.size(); ++nth) {
    gpu->fail_allocation(nth);
    auto made = device->make_pools(config);
    REQUIRE(made.error().code == error_code::out_of_memory);
    REQUIRE(made.error().message == expected[nth]);
  }
  REQUIRE(device->make_pools(config).value().size() == 2);

  gpu->fail_allocation(0);
  REQUIRE_THAT(device->allocate_tables(64, 32).error().message, ContainsSubstring("GPU memory of a batch's tables"));
  gpu->fail_allocation(0);
  REQUIRE_THAT(device->allocate_staging(64).error().message, ContainsSubstring("host memory for staging"));
}

TEST_CASE("an access outside of the pools stops the process and names group, tier, slot and limits") {
  rig r;
  stream_id s = r.gpu->create_stream("compute");
  auto reading = [&](page_ref page, std::uint32_t buffer, std::uint64_t offset, std::uint64_t size) {
    return words_of_death([&] {
      r.gpu->launch(s, "wild", [=](kernel& k) { k.read(page, buffer, offset, size); });
      r.gpu->run_all();
    });
  };
  REQUIRE_THAT(reading(gpu_page(32), 0, 0, 1),
               ContainsSubstring("group 0 of 1, tier 0, slot 32 of 32, buffer 0 of 2, bytes [0, 0 + 1) of 24"));
  REQUIRE_THAT(reading(host_page(40), 1, 0, 1), ContainsSubstring("tier 1, slot 40 of 32, buffer 1 of 2"));
  REQUIRE_THAT(reading(gpu_page(0, 3), 0, 0, 1), ContainsSubstring("group 3 of 1"));
  REQUIRE_THAT(reading({group_id{0}, tier::none, 0}, 0, 0, 1), ContainsSubstring("tier 255"));
  REQUIRE_THAT(reading(gpu_page(0), 2, 0, 1), ContainsSubstring("buffer 2 of 2"));
  REQUIRE_THAT(reading(gpu_page(0), 1, 4, 5), ContainsSubstring("bytes [4, 4 + 5) of 8"));
  REQUIRE_THAT(reading(gpu_page(0), 1, ~0ull, 2), ContainsSubstring("of 8"));
  REQUIRE_THAT(words_of_death([&] { r.copy(s, copy_direction::to_host, {copy_of(31, 32)}); }),
               ContainsSubstring("gpu slot 31 of 32 and host slot 32 of 32 of group 0"));
}

} // namespace kvferry::test
