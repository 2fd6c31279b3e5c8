// A runtime over the emulated device, driven through its public interface: T is 4, one sparse group.
#pragma once

#include <memory>

#include "kvferry/host_device.hpp"
#include "kvferry/runtime.hpp"
#include "tests/catch.hpp"
#include "tests/device/rig.hpp"

namespace kvferry::test {

/// Both; under TSan only the one that uses no threads of the actor library, which is built without it and would be
/// reported falsely.
inline std::vector<scheduler_kind> schedulers() {
#if defined(__SANITIZE_THREAD__)
  return {scheduler_kind::stepped};
#else
  return {scheduler_kind::stepped, scheduler_kind::threaded};
#endif
}

struct runtime_rig {
  explicit runtime_rig(std::uint32_t gpu_slots = 16, std::uint32_t host_slots = 16,
                       scheduler_kind scheduler = scheduler_kind::stepped, std::uint32_t router_events_max = 0) {
    configuration config = config_of({group_of({8}, gpu_slots, host_slots)});
    config.tokens_per_block = 4;
    config.scheduler = scheduler;
    config.router_events_max = router_events_max;
    of = runtime::create(config, gpu->interface()).value();
    rows = of->create_batch({.rows = 4, .max_blocks = 8}).value();
  }

  ~runtime_rig() { rows.reset(); }

  /// A prompt of `blocks` blocks whose tokens are all `letter`.
  static std::vector<token> prompt(char letter, std::uint32_t blocks) {
    return std::vector<token>(std::size_t{blocks} * 4, letter);
  }

  /// Opened, with slots for its prompt, written but for the last token, committed.
  request_id prefill(char letter, std::uint32_t blocks) {
    const request_id id = of->open(prompt(letter, blocks)).value().request;
    REQUIRE(of->reserve(id, blocks * 4).has_value());
    REQUIRE(of->advance({id, blocks * 4 - 1, {}, true}, engine).has_value());
    return id;
  }

  void settle() {
    gpu->run_all();
    of->poll();
  }

  void require_nothing_left() {
    rows.reset();
    settle();
    const leftovers left = of->shut_down();
    INFO(left.description);
    REQUIRE(left.slots == 0);
    REQUIRE(left.owners == 0);
    REQUIRE(left.copies == 0);
    REQUIRE(left.requests == 0);
    REQUIRE(gpu->unordered_accesses() == 0);
  }

  std::shared_ptr<host_device> gpu = host_device::create();
  stream_id engine = gpu->create_stream("engine");
  std::unique_ptr<runtime> of;
  std::unique_ptr<batch> rows;
};

template <class T>
error_code code_of(const expected<T>& result) {
  REQUIRE_FALSE(result.has_value());
  return result.error().code;
}

} // namespace kvferry::test
