// The records in tests/traces: what the actors once sent they still send. After a change of what they say:
// KVFERRY_UPDATE_TRACES=1 before build/dev/bin/test_replay "the traces*".
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>

#include "tests/replay/edited.hpp"
#include "tests/replay/recorded_run.hpp"

namespace kvferry::test {

namespace {

std::map<std::string, std::function<std::string()>> recorded_traces() {
  auto rough = [](auto change) {
    return [change] {
      serve::serve_options options = rough_options();
      change(options);
      return record_of_workload(options, 4);
    };
  };
  return {
      {"shared_block", record_of_shared_block},
      {"death", record_of_death},
      {"rough", rough([](auto&) {})},
      {"rough_random_order", rough([](auto& o) { o.order = delivery_order::random; })},
      {"host_full", rough([](auto& o) {
         o.gpu_slots = 20;
         o.host_slots = 7;
         o.on_host_full = host_full_policy::defer;
       })},
      {"threaded", rough([](auto& o) { o.scheduler = scheduler_kind::threaded; })},
  };
}

std::filesystem::path path_of(const std::string& name) {
  return std::filesystem::path{KVFERRY_SOURCE_DIR} / "tests" / "traces" / (name + ".jsonl");
}

} // namespace

TEST_CASE("the traces in tests/traces are reproduced") {
  for (const auto& [name, record] : recorded_traces()) {
    INFO(name);
    if (std::getenv("KVFERRY_UPDATE_TRACES") != nullptr)
      std::ofstream(path_of(name), std::ios::binary) << record();
    const std::string text = content_of(path_of(name));
    REQUIRE(parsed(text).state() == trace_state::whole);
    REQUIRE(difference_in(text) == "");
  }
}

/// With every version of the actor library: what it does may not show.
TEST_CASE("the runs behind the traces, made again under stepped, give the same bytes") {
  for (const auto& [name, record] : recorded_traces()) {
    INFO(name);
    if (name != "threaded")
      REQUIRE((record() == content_of(path_of(name)))); // without the texts, should they differ
  }
}

} // namespace kvferry::test
