// Whom the engine takes slots from, and that it takes from nobody without need.
#include "examples/serve/relief.hpp"

#include "tests/catch.hpp"

namespace serve::test {
namespace {

using action = relief::action;
using kvferry::error_code;

job& add(job_map& live, std::uint32_t number, job_state state, bool decoding = false) {
  job& j = live[number];
  j.number = number;
  j.state = state;
  j.decoding = decoding;
  j.prefill_end = 100;
  return j;
}

void stall(job& j, std::uint32_t steps, error_code why = error_code::gpu_full, std::uint32_t held = 0) {
  j.stalled_steps = steps;
  kvferry::shortage numbers;
  numbers.held = held;
  j.stalled_on = kvferry::error{why, "", numbers};
}

void require(const relief& found, action what, const job& whom) {
  REQUIRE(found.what == what);
  REQUIRE(found.whom == &whom);
}

} // namespace

TEST_CASE("nobody makes room while nobody has waited long") {
  job_map live;
  stall(add(live, 1, job_state::running, true), 7);
  add(live, 2, job_state::running, true);
  REQUIRE(relief_for(live).what == action::none);
}

TEST_CASE("for a decoder that waits the youngest is suspended, in whatever phase") {
  job_map live;
  add(live, 0, job_state::running, true);
  stall(add(live, 1, job_state::running, true), 8);
  add(live, 2, job_state::running);
  job& last = add(live, 3, job_state::loading);
  require(relief_for(live), action::suspend, last);
}

TEST_CASE("a prefill that is not the oldest takes from younger prefills, never from decoders") {
  job_map live;
  add(live, 0, job_state::running, true);
  stall(add(live, 1, job_state::running), 64);
  job& prefill = add(live, 2, job_state::running);
  add(live, 3, job_state::running, true);
  require(relief_for(live), action::suspend, prefill);
  prefill.state = job_state::suspended;
  REQUIRE(relief_for(live).what == action::none);
}

TEST_CASE("while others decode a prefill waits longer, since their ends make room") {
  job_map live;
  add(live, 0, job_state::running, true);
  stall(add(live, 1, job_state::running), 63);
  add(live, 2, job_state::running);
  REQUIRE(relief_for(live).what == action::none);
}

TEST_CASE("the oldest is let through: all others are suspended for it, then closed, the youngest first") {
  job_map live;
  job& oldest = add(live, 4, job_state::running);
  stall(oldest, 64);
  job& second = add(live, 5, job_state::running, true);
  job& third = add(live, 6, job_state::running);
  require(relief_for(live), action::suspend, third);
  third.state = job_state::suspended;
  require(relief_for(live), action::suspend, second);
  second.state = job_state::suspended;
  require(relief_for(live), action::requeue, third);
  live.erase(6);
  require(relief_for(live), action::requeue, second);
  live.erase(5);
  require(relief_for(live), action::give_up, oldest);
}

TEST_CASE("pages of suspended jobs that found no room on the host are given up") {
  job_map live;
  stall(add(live, 1, job_state::running, true), 8, error_code::gpu_full, 3);
  job& young = add(live, 2, job_state::running, true);
  job& suspended = add(live, 3, job_state::suspended);
  require(relief_for(live), action::requeue, suspended);
  live.erase(3);
  require(relief_for(live), action::suspend, young);
}

TEST_CASE("nobody is closed to make room for a younger one") {
  job_map live;
  add(live, 1, job_state::suspended);
  job& young = add(live, 2, job_state::running, true);
  stall(young, 8, error_code::gpu_full, 3);
  require(relief_for(live), action::requeue, young);
}

TEST_CASE("with the host full nobody is suspended: decoders end, and without any the youngest is closed") {
  job_map live;
  stall(add(live, 1, job_state::running), 64, error_code::host_full);
  add(live, 2, job_state::running, true);
  REQUIRE(relief_for(live).what == action::none);
  live.erase(2);
  job& prefill = add(live, 3, job_state::running);
  job& suspended = add(live, 4, job_state::suspended);
  require(relief_for(live), action::requeue, suspended);
  live.erase(4);
  require(relief_for(live), action::requeue, prefill);
  live.erase(3);
  require(relief_for(live), action::give_up, live.at(1));
}

TEST_CASE("a suspended job that cannot come back has others closed for it only when nobody runs") {
  job_map live;
  stall(add(live, 1, job_state::suspended), 100);
  job& other = add(live, 2, job_state::suspended);
  add(live, 3, job_state::running, true);
  REQUIRE(relief_for(live).what == action::none);
  live.erase(3);
  require(relief_for(live), action::requeue, other);
}

TEST_CASE("a suspended job that is alone and cannot come back is computed again") {
  job_map live;
  stall(add(live, 1, job_state::suspended), 64);
  require(relief_for(live), action::requeue, live.at(1));
}

} // namespace serve::test
