// Runtimes, batches and requests come and go in any state; nothing hangs (ctest's time limit is the watchdog) and
// nothing is left.
#include <algorithm>

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

TEST_CASE("the slots of a batch that has closed are written again behind its last readers") {
  runtime_rig r(2);
  const stream_id reader = r.gpu->create_stream("reader");
  auto other = r.of->create_batch({.rows = 1, .max_blocks = 8}).value();
  const request_id id = r.of->open(r.prompt('a', 2)).value().request;
  REQUIRE(r.of->reserve(id, 8).has_value());
  REQUIRE(other->add(id).has_value());
  REQUIRE(other->publish({{id}}, reader).has_value());
  const auto pages = r.of->storage_of(id).value().groups[0].blocks;
  r.gpu->hold_stream(reader);
  r.gpu->launch(reader, "attention", [&](kernel& k) {
    for (const block_place& page : pages)
      (void)k.read({group_id{0}, tier::gpu, page.slot}, 0, 0, 8);
  });
  other.reset();
  REQUIRE(r.of->close(id).has_value()); // nothing has written it: that the batch was read is all that there is to know
  const request_id next = r.of->open(r.prompt('b', 2)).value().request;
  REQUIRE(r.of->reserve(next, 8).has_value());
  REQUIRE(r.rows->add(next).has_value());
  REQUIRE(r.rows->publish({{next}}, r.engine).has_value());
  r.gpu->launch(r.engine, "prefill", [&](kernel& k) {
    for (const block_place& page : pages)
      std::ranges::fill(k.write({group_id{0}, tier::gpu, page.slot}, 0, 0, 8), std::byte{1});
  });
  r.gpu->run_all();
  r.gpu->release_stream(reader);
  r.gpu->run_all();
  REQUIRE(r.gpu->unordered_accesses() == 0);
}

TEST_CASE("the pages of a request that closes in no row are written again behind what it says still runs") {
  runtime_rig r(2);
  const stream_id other = r.gpu->create_stream("other");
  const request_id id = r.of->open(r.prompt('a', 2)).value().request;
  REQUIRE(r.of->reserve(id, 8).has_value());
  const auto pages = r.of->storage_of(id).value().groups[0].blocks;
  const auto write = [&](stream_id stream) {
    r.gpu->launch(stream, "prefill", [&](kernel& k) {
      for (const block_place& page : pages)
        std::ranges::fill(k.write({group_id{0}, tier::gpu, page.slot}, 0, 0, 8), std::byte{1});
    });
  };
  r.gpu->hold_stream(r.engine);
  write(r.engine);
  REQUIRE(r.of->close(id, {{r.engine}}).has_value());
  const request_id next = r.of->open(r.prompt('b', 2)).value().request;
  REQUIRE(r.of->reserve(next, 8).has_value());
  REQUIRE(r.rows->add(next).has_value());
  REQUIRE(r.rows->publish({{next}}, other).has_value());
  write(other);
  r.gpu->run_all();
  r.gpu->release_stream(r.engine);
  r.gpu->run_all();
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
