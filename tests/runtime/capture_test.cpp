// While a graph is captured from a stream nothing of ours may touch it (design section 5).
#include "tests/runtime/runtime_rig.hpp"

namespace kvferry::test {

TEST_CASE("A20: calls that would touch a stream which is being captured are refused by name and change nothing") {
  runtime_rig r;
  const request_id id = r.prefill('a', 2);
  REQUIRE(r.rows->add(id).has_value());
  REQUIRE(r.rows->publish({{id}}, r.engine).has_value());
  const auto before = r.of->storage_of(id).value();
  r.gpu->begin_capture(r.engine);
  REQUIRE(code_of(r.of->advance({id, 8, {}, false}, r.engine)) == error_code::stream_capturing);
  REQUIRE(code_of(r.of->suspend(id)) == error_code::stream_capturing);
  REQUIRE(code_of(r.of->shrink(id, 4)) == error_code::stream_capturing);
  REQUIRE(code_of(r.of->close(id)) == error_code::stream_capturing);
  REQUIRE(code_of(r.rows->publish({{id}}, r.engine)) == error_code::stream_capturing);
  REQUIRE(code_of(r.rows->begin_read(r.engine)) == error_code::stream_capturing);
  step_input step;
  step.stream = r.engine;
  step.enter_decode = {id};
  auto refused = r.rows->step(step);
  REQUIRE(code_of(refused) == error_code::stream_capturing);
  REQUIRE_THAT(refused.error().message, ContainsSubstring("stream " + std::to_string(r.engine.value())));
  REQUIRE(r.of->storage_of(id).value().change == before.change);
  REQUIRE(r.of->storage_of(id).value().version == before.version);
  r.gpu->end_capture(r.engine);
  REQUIRE(r.rows->step(step).value().refused.empty());
  REQUIRE(r.of->close(id).has_value());
  r.require_nothing_left();
}

TEST_CASE("a publication on another stream is refused while the one before is being captured") {
  runtime_rig r;
  const request_id id = r.prefill('a', 2);
  REQUIRE(r.rows->add(id).has_value());
  REQUIRE(r.rows->publish({{id}}, r.engine).has_value());
  const stream_id other = r.gpu->create_stream("other");
  r.gpu->begin_capture(r.engine); // the new stream would have to be ordered behind it
  REQUIRE(code_of(r.rows->publish({{id}}, other)) == error_code::stream_capturing);
  r.gpu->end_capture(r.engine);
  REQUIRE(r.rows->publish({{id}}, other).has_value());
}

TEST_CASE("the first read on another stream needs the publications' stream, later ones do not") {
  runtime_rig r;
  const stream_id other = r.gpu->create_stream("other");
  const request_id id = r.prefill('a', 2);
  REQUIRE(r.rows->add(id));
  REQUIRE(r.rows->publish({{id}}, r.engine));
  r.gpu->begin_capture(r.engine);
  REQUIRE(code_of(r.rows->begin_read(other)) == error_code::stream_capturing);
  r.gpu->end_capture(r.engine);
  REQUIRE(r.rows->begin_read(other));
  REQUIRE(r.rows->end_read(other));
  REQUIRE(r.of->reserve(id, 12));
  REQUIRE(r.rows->publish({{id}}, r.engine).value().version == 2);
  r.gpu->begin_capture(r.engine);
  REQUIRE(r.rows->begin_read(other).value() == 2);
  REQUIRE(r.rows->end_read(other));
  r.gpu->end_capture(r.engine);
}

TEST_CASE("a batch with an open read on a stream that is being captured closes when the capture has ended") {
  runtime_rig r;
  const stream_id other = r.gpu->create_stream("other");
  const request_id id = r.prefill('a', 2);
  REQUIRE(r.rows->add(id).has_value());
  REQUIRE(r.rows->publish({{id}}, r.engine).has_value());
  REQUIRE(r.rows->begin_read(other).has_value());
  r.gpu->begin_capture(other);
  REQUIRE(r.rows->end_read(other).error().code == error_code::stream_capturing);
  r.rows.reset();
  const std::unique_ptr<batch> next = r.of->create_batch({.rows = 4, .max_blocks = 8}).value();
  REQUIRE(next->add(id).error().code == error_code::in_other_batch);
  r.gpu->end_capture(other);
  r.of->poll();
  REQUIRE(next->add(id).has_value());
}

TEST_CASE("in a step a close is refused alone when a stream that ran the request is being captured") {
  runtime_rig r;
  const stream_id prefills = r.gpu->create_stream("prefills");
  const request_id here = r.prefill('a', 2);
  const request_id there = r.of->open(r.prompt('b', 2)).value().request;
  REQUIRE(r.of->reserve(there, 8).has_value());
  REQUIRE(r.of->advance({there, 7, {}, false}, prefills).has_value());
  r.gpu->begin_capture(prefills);
  step_input step;
  step.stream = r.engine;
  step.close = {here, there};
  const step_result done = r.rows->step(step).value();
  REQUIRE(done.refused.size() == 1);
  REQUIRE(done.refused[0].request == there);
  REQUIRE(done.refused[0].why.code == error_code::stream_capturing);
  r.gpu->end_capture(prefills);
  REQUIRE(r.of->close(there).has_value());
  r.require_nothing_left();
}

} // namespace kvferry::test
