// When an actor dies (rule 10): a request's death is its own, any other ends the runtime; everybody is answered.
#include "kvferry/test_hooks.hpp"
#include "tests/runtime/runtime_rig.hpp"

namespace kvferry::test {

TEST_CASE("J4: the death of a long-lived actor ends the runtime, and every later call names it") {
  runtime_rig r(16, 16, scheduler_kind::stepped, 8);
  const request_id id = r.prefill('a', 2);
  REQUIRE(r.rows->add(id).has_value());
  REQUIRE(r.rows->publish({{id}}, r.engine).has_value());
  const std::string who = GENERATE("page_registry", "storage", "completions", "batch_publisher/1");
  if (who == "batch_publisher/1")
    REQUIRE(kill_publisher(*r.of, r.rows->id()).has_value());
  else
    REQUIRE(kill_actor(*r.of, who).has_value());
  const auto opened = r.of->open(r.prompt('b', 1));
  REQUIRE(code_of(opened) == error_code::actor_died);
  REQUIRE_THAT(opened.error().message, StartsWith(who + " has died"));
  REQUIRE(code_of(r.of->reserve(id, 8)) == error_code::actor_died);
  REQUIRE(code_of(r.of->enter_decode(id)) == error_code::actor_died);
  REQUIRE(code_of(r.of->close(id)) == error_code::actor_died);
  REQUIRE(code_of(r.of->storage_of(id)) == error_code::actor_died);
  REQUIRE(code_of(r.of->check_quiet()) == error_code::actor_died);
  REQUIRE(code_of(r.of->take_router_events()) == error_code::actor_died);
  REQUIRE(code_of(r.of->create_batch({.rows = 1, .max_blocks = 1})) == error_code::actor_died);
  REQUIRE(code_of(r.rows->publish({{id}}, r.engine)) == error_code::actor_died);
  REQUIRE(code_of(r.rows->step({})) == error_code::actor_died);
  r.of->poll();
  r.rows.reset();
  r.of->shut_down();
  REQUIRE(code_of(r.of->open(r.prompt('b', 1))) == error_code::runtime_stopped);
}

TEST_CASE("J4: under threads a call to an actor that has died is answered", "[threads]") {
  runtime_rig r(16, 16, schedulers().back());
  const request_id id = r.prefill('a', 2);
  REQUIRE(kill_actor(*r.of, "page_registry").has_value());
  REQUIRE(code_of(r.of->enter_decode(id)) == error_code::actor_died);
  REQUIRE(code_of(r.of->open(r.prompt('b', 1))) == error_code::actor_died);
}

TEST_CASE("a request's death is its own: its calls name it, others go on, and its close gives everything back") {
  runtime_rig r;
  const request_id dead = r.prefill('a', 2), other = r.prefill('b', 2);
  const bool in_row = GENERATE(false, true);
  for (request_id id : {dead, other})
    if (in_row)
      REQUIRE(r.rows->add(id).has_value());
  REQUIRE(r.rows->publish({{dead, other}}, r.engine).has_value());
  REQUIRE(kill_request(*r.of, dead).has_value());
  REQUIRE(code_of(r.of->reserve(dead, 12)) == error_code::actor_died);
  REQUIRE(code_of(r.of->storage_of(dead)) == error_code::actor_died);
  REQUIRE(r.of->enter_decode(other).has_value());
  REQUIRE(r.of->close(dead).has_value());
  REQUIRE(r.of->close(dead).has_value()); // again: the same answer
  REQUIRE(r.rows->publish({{other}}, r.engine).has_value());
  REQUIRE(r.of->close(other).has_value());
  r.settle();
  r.require_nothing_left();
}

TEST_CASE("the pages of a request that died in no row are not handed out before what ran it has passed") {
  runtime_rig r(2);
  const request_id dead = r.of->open(r.prompt('a', 2)).value().request;
  REQUIRE(r.of->reserve(dead, 8).has_value());
  r.gpu->hold_stream(r.engine);
  const auto pages = r.of->storage_of(dead).value().groups[0].blocks;
  r.gpu->launch(r.engine, "prefill", [&](kernel& k) {
    for (const block_place& page : pages)
      std::ranges::fill(k.write({group_id{0}, tier::gpu, page.slot}, 0, 0, 8), std::byte{1});
  });
  REQUIRE(kill_request(*r.of, dead).has_value());
  const request_id next = r.of->open(r.prompt('b', 2)).value().request;
  REQUIRE(code_of(r.of->reserve(next, 4)) == error_code::gpu_full);
  REQUIRE(r.of->close(dead, {{r.engine}}).has_value());
  REQUIRE(r.of->reserve(next, 8).has_value());
  REQUIRE(r.rows->add(next).has_value());
  const stream_id other = r.gpu->create_stream("other");
  REQUIRE(r.rows->publish({{next}}, other).has_value()); // makes the stream wait for what ran the dead
  r.gpu->launch(other, "prefill", [&](kernel& k) {
    for (const block_place& page : pages)
      std::ranges::fill(k.write({group_id{0}, tier::gpu, page.slot}, 0, 0, 8), std::byte{2});
  });
  r.gpu->run_all();
  r.gpu->release_stream(r.engine);
  r.gpu->run_all();
  REQUIRE(r.gpu->unordered_accesses() == 0);
}

} // namespace kvferry::test
