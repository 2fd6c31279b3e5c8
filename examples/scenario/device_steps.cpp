// What the device does, what ends, and completions that enter.
#include <algorithm>

#include <fmt/ranges.h>

#include "examples/scenario/took.hpp"
#include "kvferry/test_hooks.hpp"

namespace scenarios {

void world::poll() {
  runtime_->poll();
  note_ready(runtime_->take_ready());
}

/// Until two rounds bring nothing new: what a completion makes possible may be submitted by the next poll only.
void world::settle() {
  constexpr int rounds_max = 1000;
  if (options_.waits_for_all)
    options_.waits_for_all(true);
  int idle = 0;
  for (int round = 0; round < rounds_max && idle < 2; ++round) {
    device_->run_all();
    poll();
    idle = device_->run_one() ? 0 : idle + 1;
  }
  if (options_.waits_for_all)
    options_.waits_for_all(false);
  if (idle < 2)
    find(fmt::format("the device has work for ever: {} rounds were not enough", rounds_max));
}

/// Until it may run, as an engine would: it goes on at once. An order that lets no message through cannot go on for
/// ever.
void world::wait_for_loads(const request_record& r) {
  constexpr int rounds_max = 3;
  for (int round = 0; round < rounds_max && r.status == request_record::state::loading; ++round) {
    device_->run_all();
    poll();
  }
  if (r.status == request_record::state::loading)
    settle();
}

void world::check_ready(const std::optional<std::vector<request_name>>& wanted, const std::vector<lost_load>& lost) {
  if (wanted) {
    std::set<std::string> should;
    for (const request_name& name : *wanted)
      should.insert(name.text);
    if (const auto is = std::exchange(ready_, {}); is != should)
      find(fmt::format("ready are {}, but should be {}", is, should));
  }
  std::map<std::string, std::uint32_t> should;
  for (const lost_load& one : lost)
    should.emplace(one.request.text, one.matched);
  if (const auto is = std::exchange(lost_, {}); is != should)
    find(fmt::format("loads failed of {}, but should of {}", is, should));
}

void world::run(const poll_step& step) {
  if (!runtime_)
    return;
  poll();
  check_ready(step.ready, step.load_failed);
}

void world::run(const settle_step& step) {
  if (!runtime_)
    return;
  settle();
  check_ready(step.ready, step.load_failed);
}

void world::run(const run_device_step& step) {
  if (options_.any_order && (step.until || step.operations))
    return find("in a search streams run on their own: run_device takes neither until nor operations there");
  if (step.until)
    device_->run_until(device_->record(stream(*step.until)));
  else if (!step.operations)
    device_->run_all();
  else
    for (std::uint32_t i = 0; i < *step.operations; ++i)
      device_->run_one();
}

void world::run(const hold_step& step) {
  for (kvferry::stream_id held : streams(step.streams)) {
    device_->hold_stream(held);
    held_.insert(held);
  }
}

void world::run(const release_step& step) {
  for (kvferry::stream_id held : streams(step.streams)) {
    device_->release_stream(held);
    held_.erase(held);
  }
}

void world::run(const begin_capture_step& step) {
  device_->begin_capture(stream(step.stream));
  captured_.insert(stream(step.stream));
}

void world::run(const end_capture_step& step) {
  device_->end_capture(stream(step.stream));
  captured_.erase(stream(step.stream));
}

void world::run(const fail_copies_step& step) {
  for (std::uint32_t i = 0; i < step.count; ++i)
    device_->fail_copy(std::uint64_t{step.from} + i);
}

void world::run(const fail_allocations_step& step) {
  for (std::uint32_t i = 0; i < step.count; ++i)
    device_->fail_allocation(std::uint64_t{step.from} + i);
}

void world::run(const kill_step& step) {
  if (!runtime_)
    return;
  if (step.request) {
    if (request_record* r = known(*step.request); r != nullptr && took(kvferry::kill_request(*runtime_, r->id), {})) {
      killed_ = options_.any_order;
      r->status = request_record::state::lost;
      note_left(*r, step.request->text); // the next publication is without its row
    }
    return;
  }
  stopped_ = true; // any other actor's death ends the runtime
  killed_ = options_.any_order;
  if (step.publisher) {
    if (const batch_record* b = known(*step.publisher))
      took(kvferry::kill_publisher(*runtime_, b->batch->id()), {});
  } else if (step.actor) {
    took(kvferry::kill_actor(*runtime_, *step.actor), {});
  }
}

void world::run(const shut_down_step& step) {
  if (!runtime_)
    return;
  const kvferry::leftovers left = runtime_->shut_down();
  stopped_ = true;
  must_be("leftovers", step.leftovers, left.slots + left.owners + left.copies + left.requests != 0);
}

} // namespace scenarios
