// What was asked for is what there is, and can be read back.
#include <algorithm>

#include "tests/runtime/runtime_rig.hpp"

namespace kvferry::test {

TEST_CASE("G5: the pools have the slots and bytes that were asked for, on both tiers of each group") {
  configuration config = config_of({group_of({24, 8}, 10, 20), group_of({4}, 5, 6), group_of({16}, 7, 0)});
  config.groups[1].name = "other";
  config.groups[2].name = "dense";
  config.groups[2].kind = group_kind::dense;
  auto gpu = host_device::create();
  auto of = runtime::create(config, gpu->interface()).value();
  const auto pools = of->pools();
  REQUIRE(pools.size() == 3);
  for (std::size_t g = 0; g < pools.size(); ++g) {
    REQUIRE(pools[g].gpu_slots == config.groups[g].gpu_slots);
    REQUIRE(pools[g].host_slots == config.groups[g].host_slots);
    REQUIRE(pools[g].buffers.size() == config.groups[g].buffers.size());
    std::uint64_t fragments = 0;
    for (const buffer_config& buffer : config.groups[g].buffers)
      fragments += buffer.bytes_per_slot;
    REQUIRE(pools[g].host_slot_bytes == fragments);
  }
}

TEST_CASE("G5: a request gets every slot that was asked for, and not one more") {
  runtime_rig r(6, 5);
  const request_id id = r.of->open(r.prompt('a', 6)).value().request;
  REQUIRE(r.of->reserve(id, 24).has_value());
  const auto more = r.of->reserve(id, 25);
  REQUIRE(code_of(more) == error_code::gpu_full);
  REQUIRE(more.error().numbers->free == 0);
  REQUIRE(r.of->advance({id, 24, {}, false}, r.engine).has_value());
  const auto entered = r.of->enter_decode(id); // six blocks, five slots
  REQUIRE(code_of(entered) == error_code::host_full);
  REQUIRE(entered.error().numbers->needed == 6);
  REQUIRE(entered.error().numbers->free == 5);
}

} // namespace kvferry::test
