// A record of actors on threads: the order is the one that happened, and it replays.
#include "tests/replay/edited.hpp"
#include "tests/replay/recorded_run.hpp"

namespace kvferry::test {

TEST_CASE("a rough run on threads is reproduced") {
  serve::serve_options options = rough_options();
  options.scheduler = scheduler_kind::threaded;
  REQUIRE(difference_in(record_of_workload(options, 20)) == "");
}

TEST_CASE("what routers are told on threads is reproduced") {
  serve::serve_options options = rough_options();
  options.scheduler = scheduler_kind::threaded;
  const std::string text = record_of_workload(options, 6, 100);
  REQUIRE(text.find("\"type\":\"index_changed\"") != text.npos);
  REQUIRE(difference_in(text) == "");
}

TEST_CASE("each actor of a run on threads is reproduced alone") {
  serve::serve_options options = rough_options();
  options.scheduler = scheduler_kind::threaded;
  const std::string text = record_of_workload(options, 6);
  for (const char* actor : {"page_registry", "storage", "completions", "batch_publisher/1", "request_cache/3"})
    REQUIRE(difference_in(text, actor) == "");
}

} // namespace kvferry::test
