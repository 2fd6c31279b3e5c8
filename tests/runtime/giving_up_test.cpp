// What an engine gives back, or up, through the public interface.
#include "tests/runtime/runtime_rig.hpp"

namespace kvferry::test {

TEST_CASE("capacity that was given back is another request's, and can be reserved again") {
  runtime_rig r(4);
  const request_id id = r.of->open(r.prompt('a', 2)).value().request;
  REQUIRE(r.of->reserve(id, 16).has_value());
  REQUIRE(r.of->advance({id, 5, {}, false}, r.engine).has_value());
  const request_id next = r.of->open(r.prompt('b', 2)).value().request;
  REQUIRE(code_of(r.of->reserve(next, 8)) == error_code::gpu_full);
  REQUIRE(r.of->shrink(id, 0).has_value()); // to its history: two blocks
  REQUIRE(r.of->storage_of(id).value().groups[0].blocks.size() == 2);
  REQUIRE(code_of(r.of->advance({id, 9, {1}, false}, r.engine)) == error_code::invalid_argument);
  REQUIRE(r.of->reserve(next, 8).has_value());
  REQUIRE(r.of->close(next).has_value());
  r.settle();
  REQUIRE(r.of->reserve(id, 16).has_value());
}

TEST_CASE("a dropped request answers every call but its close with must_recompute") {
  runtime_rig r;
  const request_id id = r.prefill('a', 3);
  REQUIRE(code_of(r.of->drop(id)) == error_code::wrong_status); // it is active
  REQUIRE(r.rows->add(id).has_value());
  REQUIRE(r.of->suspend(id).has_value());
  REQUIRE(r.of->drop(id).has_value());
  REQUIRE(code_of(r.of->resume(id)) == error_code::must_recompute);
  REQUIRE(code_of(r.of->drop(id)) == error_code::must_recompute);
  REQUIRE(code_of(r.of->enter_decode(id)) == error_code::must_recompute);
  REQUIRE(code_of(r.of->reserve(id, 20)) == error_code::must_recompute);
  REQUIRE(r.of->storage_of(id).value().groups[0].blocks.empty());
  REQUIRE(r.rows->publish({}, r.engine).has_value());
  REQUIRE(r.of->check_quiet().value() == std::vector<std::string>{});
  REQUIRE(r.of->open(r.prompt('a', 3)).value().matched_tokens == 8); // its committed blocks were cached
  REQUIRE(r.of->close(id).has_value());
}

TEST_CASE("a prompt that ends inside a cached block loads, and has its tokens there") {
  runtime_rig r;
  r.prefill('a', 3);
  auto opened = r.of->open(r.prompt('a', 2)).value();
  REQUIRE(opened.matched_tokens == 7);
  REQUIRE(opened.loading);
  REQUIRE(r.of->take_ready().empty());
  REQUIRE(r.rows->publish({}, r.engine).has_value()); // the step's copies are submitted
  r.settle();
  const auto ready = r.of->take_ready();
  REQUIRE(ready.size() == 1);
  REQUIRE(ready[0].request == opened.request);
  REQUIRE(ready[0].matched_tokens == 7);
  REQUIRE(r.of->take_statistics().pages_branched == 1);
  REQUIRE(r.of->advance({opened.request, 8, {}, true}, r.engine).has_value()); // there is capacity for its last token
}

} // namespace kvferry::test
