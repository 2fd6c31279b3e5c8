// The end of a runtime with work in flight (design section 10, 13 and 14).
#include "tests/runtime/runtime_rig.hpp"

namespace kvferry::test {

TEST_CASE("J1: a shutdown with copies, loads and kernels in flight ends, and every later call is answered") {
  const auto scheduler = GENERATE(from_range(schedulers()));
  runtime_rig r(16, 16, scheduler);
  const request_id decoding = r.prefill('a', 3);
  REQUIRE(r.of->enter_decode(decoding).has_value());
  REQUIRE(r.rows->publish({}, r.engine).has_value());
  while (r.of->take_statistics().pages_offloaded < 2) // under threads copies are submitted in their own time
    r.settle();
  const auto loading = r.of->open(r.prompt('a', 3)).value();
  REQUIRE(loading.loading);
  const request_id moving = r.prefill('b', 3);
  REQUIRE(r.of->enter_decode(moving).has_value());
  REQUIRE(r.rows->publish({}, r.engine).has_value()); // copies are on streams and do not run
  r.gpu->launch(r.engine, "model", [](kernel&) {});
  const leftovers left = r.of->shut_down();
  REQUIRE(left.requests == 3);
  REQUIRE(left.copies > 0);
  REQUIRE(left.owners > 0);
  REQUIRE_THAT(left.description, ContainsSubstring("3 requests"));
  REQUIRE(code_of(r.of->open(r.prompt('c', 1))) == error_code::runtime_stopped);
  REQUIRE(code_of(r.of->close(moving)) == error_code::runtime_stopped);
  REQUIRE(code_of(r.of->storage_of(moving)) == error_code::runtime_stopped);
  REQUIRE(code_of(r.rows->publish({}, r.engine)) == error_code::runtime_stopped);
  r.of->poll();
  REQUIRE(r.of->take_statistics().pages_allocated == 0);
  REQUIRE(r.of->shut_down().requests == 3); // again: the same answer
  r.gpu->run_all();
}

TEST_CASE("what was closed leaves nothing, whatever was in flight when it was closed") {
  runtime_rig r;
  const request_id first = r.prefill('a', 3);
  REQUIRE(r.rows->add(first).has_value());
  REQUIRE(r.rows->publish({{first}}, r.engine).has_value());
  REQUIRE(r.of->enter_decode(first).has_value());
  SECTION("a copy that is queued") { REQUIRE(r.of->take_statistics().pages_offloaded == 0); }
  SECTION("a copy that is on a stream") { REQUIRE(r.rows->publish({{first}}, r.engine).has_value()); }
  SECTION("a copy that has run") {
    REQUIRE(r.rows->publish({{first}}, r.engine).has_value());
    r.gpu->run_all();
  }
  REQUIRE(r.of->close(first).has_value());
  REQUIRE(r.rows->publish({}, r.engine).has_value());
  r.settle();
  REQUIRE(r.of->check_quiet().value() == std::vector<std::string>{});
  r.require_nothing_left();
}

} // namespace kvferry::test
