// What was asked for is what there is, and can be read back; what is beyond the limits is refused on every way in.
#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include "tests/runtime/runtime_rig.hpp"

namespace kvferry::test {

namespace {

/// Of this process, by number.
std::set<std::string> threads() {
  std::set<std::string> found;
  for (const auto& thread : std::filesystem::directory_iterator{"/proc/self/task"})
    found.insert(thread.path().filename());
  return found;
}

/// How many threads a runtime starts that was asked for so many workers.
std::size_t threads_started(std::uint32_t workers) {
  configuration config = config_of({group_of({8}, 4, 4)});
  config.scheduler = scheduler_kind::threaded;
  config.worker_threads = workers;
  auto gpu = host_device::create();
  const std::set<std::string> before = threads();
  auto of = runtime::create(config, gpu->interface()).value();
  const std::set<std::string> with = threads();
  return static_cast<std::size_t>(
      std::ranges::count_if(with, [&](const std::string& thread) { return !before.contains(thread); }));
}

} // namespace

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

TEST_CASE("G5: there are as many worker threads as were asked for", "[threads]") {
  if (schedulers().back() != scheduler_kind::threaded) {
    WARN("skipped: there are no threads of the actor library under TSan");
    return;
  }
  const std::size_t with_one = threads_started(1); // and what the actor library needs besides
  REQUIRE(with_one >= 1);
  REQUIRE(threads_started(2) == with_one + 1);
  REQUIRE(threads_started(7) == with_one + 6);
}

TEST_CASE("F8: a batch is held to the same limits whichever way it is made, and none is there when it is refused") {
  runtime_rig r;
  for (const batch_config wrong : {batch_config{.rows = 0}, batch_config{.rows = 4, .max_blocks = 0},
                                   batch_config{.rows = 4, .max_blocks = 8, .beam_width = 2}}) {
    const auto made = r.of->create_batch(wrong);
    REQUIRE(code_of(made) == error_code::invalid_configuration);
    REQUIRE(made.error().message == validate(wrong).error().message);
  }
  REQUIRE(r.of->create_batch({.rows = 4, .max_blocks = 8}).value()->id() == batch_id{r.rows->id().value() + 1});
}

} // namespace kvferry::test
