// A step's control work in one call, held against the same work in single calls.
#include <algorithm>

#include "tests/runtime/runtime_rig.hpp"

namespace kvferry::test {

namespace {

/// What there is to count after a request has been written, has moved and has ended.
struct counted {
  statistics pages;
  std::vector<request_id> granted; ///< each reservation that was granted, in order
};

counted by_single_calls() {
  runtime_rig r;
  counted c;
  const request_id id = r.of->open(r.prompt('a', 2)).value().request;
  auto reserve = [&](std::uint32_t tokens) {
    if (r.of->reserve(id, tokens).has_value())
      c.granted.push_back(id);
  };
  reserve(8);
  REQUIRE(r.rows->add(id).has_value());
  REQUIRE(r.rows->publish({{id}}, r.engine).has_value());
  REQUIRE(r.of->advance({id, 7, {}, true}, r.engine).has_value());
  REQUIRE(r.of->enter_decode(id).has_value());
  reserve(8); // it has them
  reserve(12);
  reserve(80); // more than there are
  REQUIRE(r.rows->publish({{id}}, r.engine).has_value());
  r.settle();
  REQUIRE(r.of->close(id).has_value());
  REQUIRE(r.rows->publish({}, r.engine).has_value());
  r.settle();
  c.pages = r.of->take_statistics();
  return c;
}

counted by_steps() {
  runtime_rig r;
  counted c;
  const request_id id = r.of->open(r.prompt('a', 2)).value().request;
  auto step = [&](step_input input) {
    input.stream = r.engine;
    const step_result done = r.rows->step(input).value();
    REQUIRE_FALSE(done.not_published.has_value());
    c.granted.insert(c.granted.end(), done.granted.begin(), done.granted.end());
  };
  step({.reserve = {{id, 8}}, .order = {id}});
  step({.advance = {{id, 7, {}, true}}, .enter_decode = {id}, .reserve = {{id, 8}, {id, 12}, {id, 80}}, .order = {id}});
  r.settle();
  step({.close = {id}});
  r.settle();
  c.pages = r.of->take_statistics();
  return c;
}

} // namespace

TEST_CASE("C10: steps grant and count what the same single calls do") {
  // C10: the call for many forgot what the call for one counts.
  const counted single = by_single_calls(), steps = by_steps();
  REQUIRE(single.granted.size() == 3);
  REQUIRE(steps.granted == single.granted);
  REQUIRE(single.pages.pages_allocated == 3);
  REQUIRE(single.pages.pages_offloaded == 1);
  REQUIRE(single.pages.publications == 3);
  REQUIRE(steps.pages.pages_allocated == single.pages.pages_allocated);
  REQUIRE(steps.pages.pages_offloaded == single.pages.pages_offloaded);
  REQUIRE(steps.pages.pages_evicted == single.pages.pages_evicted);
  REQUIRE(steps.pages.bytes_to_host == single.pages.bytes_to_host);
  REQUIRE(steps.pages.publications == single.pages.publications);
  REQUIRE(steps.pages.entries_published == single.pages.entries_published);
}

TEST_CASE("a step gives rows to an order that was published before without them") {
  runtime_rig r;
  const request_id first = r.prefill('a', 2), second = r.prefill('b', 2);
  auto step = [&](std::vector<request_id> order) { return r.rows->step({.order = order, .stream = r.engine}).value(); };
  auto shown = [&](request_id id) {
    r.gpu->run_all();
    const table_view tables = r.rows->tables();
    return std::find(tables.row_request, tables.row_request + 4, id.value()) != tables.row_request + 4;
  };
  REQUIRE(step({first}).refused.empty());
  REQUIRE(r.rows->publish({{first, second}}, r.engine));
  REQUIRE_FALSE(shown(second));
  REQUIRE(step({first, second}).refused.empty());
  REQUIRE(shown(second));
}

TEST_CASE("a request of an unchanged order that left comes again, and one that was closed is refused each time") {
  runtime_rig r;
  const request_id first = r.prefill('a', 2), second = r.prefill('b', 2);
  const step_input both{.order = {first, second}, .stream = r.engine};
  auto active = [&] {
    r.gpu->run_all();
    return *r.rows->tables().num_active;
  };
  REQUIRE(r.rows->step(both)->refused.empty());
  REQUIRE(r.rows->step(both)->refused.empty());
  REQUIRE(r.rows->remove(first));
  REQUIRE(r.rows->step(both)->refused.size() == 1); // it joins after the next publication
  REQUIRE(r.rows->step(both)->refused.empty());
  REQUIRE(active() == 2);
  REQUIRE(r.of->close(second));
  for (int again = 0; again < 2; ++again) {
    const step_result done = r.rows->step(both).value();
    REQUIRE(done.refused.size() == 1);
    REQUIRE(done.refused[0].request == second);
    REQUIRE(done.refused[0].why.code == error_code::unknown_request);
    REQUIRE(active() == 1);
  }
}

TEST_CASE("an order whose publication was refused is told again") {
  runtime_rig r;
  const request_id first = r.prefill('a', 2), second = r.prefill('b', 2);
  REQUIRE(r.rows->step({.order = {first}, .stream = r.engine})->refused.empty());
  REQUIRE(r.rows->begin_read(r.engine));
  REQUIRE(r.rows->step({.order = {second, first}, .stream = r.engine})->not_published->code == error_code::read_open);
  REQUIRE(r.rows->end_read(r.engine));
  REQUIRE(r.rows->publish({{second, first}}, r.engine));
  r.gpu->run_all();
  REQUIRE(*r.rows->tables().num_active == 2);
  REQUIRE(r.rows->tables().active_rows[0] == 1);
}

TEST_CASE("a step whose slots are refused has gone forward all the same") {
  runtime_rig r(3);
  const request_id id = r.prefill('a', 2), other = r.prefill('b', 1);
  auto done = r.rows->step(
      {.advance = {{id, 8, {'b'}, true}}, .reserve = {{id, 12}}, .order = {id}, .stream = r.engine}); // a third block
  REQUIRE(done.value().granted.empty());
  REQUIRE(done->refused.size() == 1);
  REQUIRE(done->refused[0].call == step_call::reserve);
  REQUIRE(done->refused[0].why.code == error_code::gpu_full);
  for (request_id each : {id, other})
    REQUIRE(r.of->close(each));
  REQUIRE(r.rows->publish({}, r.engine));
  r.settle();
  REQUIRE(r.of->open(r.prompt('a', 3)).value().matched_tokens == 8); // both blocks have entered the index
}

TEST_CASE("slots that a step asks for with progress cost no page that others of the step make room for") {
  runtime_rig r(5);
  REQUIRE(r.of->close(r.prefill('c', 2))); // its first block stays, idle
  const request_id goes = r.prefill('a', 2), grows = r.prefill('b', 2);
  auto done = r.rows->step({.advance = {{grows, 8, {'d'}, false}},
                            .close = {goes},
                            .reserve = {{grows, 12}},
                            .order = {grows},
                            .stream = r.engine});
  REQUIRE(done.value().refused.empty());
  REQUIRE(done->granted == std::vector<request_id>{grows});
  REQUIRE(r.of->take_statistics().pages_evicted == 0);
  REQUIRE(r.of->open(r.prompt('c', 2)).value().matched_tokens == 4);
}

TEST_CASE("a step that is not published leaves the batch the order that it had") {
  runtime_rig r;
  const request_id a = r.prefill('a', 2), b = r.prefill('b', 2);
  REQUIRE(r.rows->step({.order = {a, b}, .stream = r.engine}).value().refused.empty());
  const stream_id other = r.gpu->create_stream("other");
  REQUIRE(r.rows->begin_read(other));
  REQUIRE(r.rows->step({.order = {b, a}, .stream = r.engine}).value().not_published->code == error_code::read_open);
  REQUIRE(r.rows->end_read(other));
  REQUIRE(
      r.rows->step({.advance = {{a, 8, {'x'}, false}}, .order = {a, b}, .stream = r.engine}).value().refused.empty());
  REQUIRE(r.of->advance({b, 7, {}, false}, r.engine)); // where it was
  REQUIRE(code_of(r.of->advance({a, 7, {}, false}, r.engine)) == error_code::invalid_argument);
}

TEST_CASE("a publication behind which nothing happened asks no publisher, and shows what was shown") {
  const scheduler_kind scheduler = GENERATE(from_range(schedulers()));
  runtime_rig r(16, 16, scheduler);
  const request_id id = r.prefill('a', 2);
  REQUIRE(r.rows->add(id));
  REQUIRE(r.rows->publish({{id}}, r.engine).value().version == 1);
  const auto messages = [&] { return r.of->take_statistics().messages; }; // without its own, which the next one has
  const auto publish = [&] { return r.rows->publish({{id}}, r.engine); };
  const std::uint64_t before = messages();
  const publication again = publish().value();
  REQUIRE(again.version == 1);
  REQUIRE(again.entries == 0);
  if (scheduler == scheduler_kind::stepped) // on threads others may be at work yet
    REQUIRE(messages() - before - 1 == 1);  // the registry counts it
  REQUIRE(r.of->reserve(id, 12));
  REQUIRE(publish().value().version == 2);
  REQUIRE(publish().value().version == 2);

  const stream_id other = r.gpu->create_stream("other");
  REQUIRE(r.rows->begin_read(other).value() == 2);
  REQUIRE(code_of(publish()) == error_code::read_open);
  REQUIRE(r.rows->end_read(other));
  REQUIRE(publish().value().version == 2);

  r.gpu->run_all(); // nothing else holds the other stream back
  r.gpu->hold_stream(r.engine);
  bool ran = false;
  REQUIRE(r.rows->publish({{id}}, other).value().version == 2); // behind what the engine's stream does, all the same
  r.gpu->launch(other, "step", [&](kernel&) { ran = true; });
  r.gpu->run_all();
  REQUIRE_FALSE(ran);
  r.gpu->release_stream(r.engine);
  r.gpu->run_all();
  REQUIRE(ran);
  REQUIRE(r.rows->publish({}, r.engine).value().version == 3); // no row is active
  REQUIRE(r.of->close(id));
  REQUIRE(r.rows->publish({}, r.engine).value().version == 4);
}

} // namespace kvferry::test
