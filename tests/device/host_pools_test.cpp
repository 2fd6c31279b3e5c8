// Where pages lie on the host device, and what becomes of their bytes when they are copied.
#include "device/host/host_pools.hpp"

#include <cstring>

#include "tests/catch.hpp"
#include "tests/device/death.hpp"
#include "tests/device/rig.hpp"
#include "tests/properties.hpp"

namespace kvferry::test {

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
