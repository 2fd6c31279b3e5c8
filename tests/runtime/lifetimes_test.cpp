// Runtimes, batches and requests come and go in any state; nothing hangs (ctest's time limit is the watchdog) and
// nothing is left.
#include "tests/runtime/runtime_rig.hpp"

namespace kvferry::test {

TEST_CASE("J8: a runtime ends in whatever state it is, under both schedulers") {
  runtime_rig r(16, 16, GENERATE(from_range(schedulers())));
  SECTION("never used") { REQUIRE(r.of); } // a section without an assertion fails
  SECTION("with an open request") { r.prefill('a', 2); }
  SECTION("without its batch, which ended first") {
    const request_id id = r.prefill('a', 2);
    REQUIRE(r.rows->add(id).has_value());
    r.rows.reset();
  }
  SECTION("with copies queued") { REQUIRE(r.of->enter_decode(r.prefill('a', 2)).has_value()); }
  SECTION("with copies on a stream, and work that runs when it has ended") {
    REQUIRE(r.of->enter_decode(r.prefill('a', 2)).has_value());
    REQUIRE(r.rows->publish({}, r.engine).has_value());
    r.rows.reset();
    r.of.reset();
    r.gpu->run_all();
  }
  r.rows.reset();
  r.of.reset();
  REQUIRE(r.gpu->unordered_accesses() == 0);
}

TEST_CASE("J7: two thousand requests come and go, and each takes with it what was known of it") {
  runtime_rig r;
  for (int i = 0; i < 2'000; ++i) {
    const request_id id = r.of->open(r.prompt(static_cast<char>('a' + i % 20), 2)).value().request;
    REQUIRE(r.of->reserve(id, 8).has_value());
    REQUIRE(r.of->close(id).has_value());
    REQUIRE(code_of(r.of->reserve(id, 8)) == error_code::unknown_request);
  }
  REQUIRE(r.of->check_quiet().value() == std::vector<std::string>{});
  r.require_nothing_left();
}

} // namespace kvferry::test
