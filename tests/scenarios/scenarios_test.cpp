// Runs every file of this folder: with messages and device work in order, and with five random orders of both. Each
// file is a section of its name, and a test of its own in ctest.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

#include <fmt/format.h>

#include "examples/scenario/parse.hpp"
#include "examples/scenario/runner.hpp"
#include "tests/catch.hpp"

namespace scenarios::test {
namespace {

using kvferry::test::ContainsSubstring;

const std::filesystem::path folder = KVFERRY_SCENARIO_DIR;

std::vector<std::filesystem::path> files_in(const std::filesystem::path& where) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(where))
    if (entry.path().extension() == ".json" && entry.path().stem().extension() != ".schema")
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::string findings_of(const scenario& plan, kvferry::delivery_order order, std::uint64_t seed) {
  run_options options{plan.config, {}, true};
  options.config.order = order;
  options.config.seed = options.device.seed = seed;
  if (order == kvferry::delivery_order::random)
    options.device.drive = kvferry::drive_mode::random;
  std::string text;
  for (const finding& found : run_scenario(plan, options))
    text += fmt::format("seed {}: {}\n", seed, to_string(found));
  return text;
}

#if KVFERRY_TEST_HOOKS
constexpr bool hooks = true;
#else
constexpr bool hooks = false;
#endif

bool kills(const scenario& plan) {
  return std::any_of(plan.steps.begin(), plan.steps.end(),
                     [](const numbered_step& step) { return std::holds_alternative<kill_step>(step.what); });
}

kvferry::configuration small_configuration() {
  kvferry::configuration config;
  config.tokens_per_block = 4;
  config.groups = {{"kv", kvferry::group_kind::sparse, 0, {{"k", 64}}, 8, 8}};
  return config;
}

constexpr const char* head = R"({"why": "w", "configuration": {"tokens_per_block": 4, "groups": [{"name": "kv",
  "kind": "sparse", "buffers": [{"name": "k", "bytes_per_slot": 64}], "gpu_slots": 8, "host_slots": 8}]}, "steps": )";

std::vector<finding> findings_of(const std::string& steps) {
  auto plan = parse_scenario(head + steps + "}");
  REQUIRE(plan);
  return run_scenario(*plan, {small_configuration(), {}, true});
}

} // namespace

TEST_CASE("a scenario holds", "[.each]") {
  for (const auto& file : files_in(folder))
    SECTION(file.stem().string()) {
      auto plan = load_scenario(file);
      INFO((plan ? std::string{} : plan.error().message));
      REQUIRE(plan);
      INFO(plan->why);
      if (!hooks && kills(*plan)) {
        SUCCEED("needs a build with KVFERRY_TEST_HOOKS");
        return;
      }
      CHECK(findings_of(*plan, kvferry::delivery_order::fifo, 0) == "");
      for (std::uint64_t seed = 1; seed <= 5; ++seed)
        CHECK(findings_of(*plan, kvferry::delivery_order::random, seed) == "");
    }
}

TEST_CASE("a wrong scenario file is refused with the path of the field") {
  std::ifstream expected(folder / "bad" / "expected.txt");
  REQUIRE(expected);
  std::size_t told = 0;
  for (std::string file, words; std::getline(expected, file, ' ') && std::getline(expected, words); ++told) {
    INFO(file);
    auto plan = load_scenario(folder / "bad" / file);
    REQUIRE_FALSE(plan);
    CHECK_THAT(plan.error().message, ContainsSubstring(words));
  }
  CHECK(told == files_in(folder / "bad").size());
}

TEST_CASE("what does not hold is a finding with the number and the text of its step") {
  auto found = findings_of(R"([{"open": {"request": "A", "prompt": [[0, 8]], "matched": 4}},
                               {"run": {"request": "A", "until": 8}},
                               {"pages": {"request": "A", "places": ["host", "gpu"]}}])");
  REQUIRE(found.size() == 2);
  CHECK(found[0].step == 1);
  CHECK(found[0].what == "matched_tokens is 0, but should be 4");
  CHECK(found[1].step == 3);
  CHECK_THAT(found[1].step_text, ContainsSubstring(R"("places":["host","gpu"])"));
  CHECK(found[1].what == "the blocks are gpu gpu, but should be host gpu");
}

TEST_CASE("a call that should be refused and is not is a finding, and so is the wrong refusal") {
  auto found = findings_of(R"([{"open": {"request": "A", "prompt": [[0, 8]]}},
                               {"reserve": {"request": "A", "tokens": 8, "refused": {"code": "gpu_full"}}},
                               {"reserve": {"request": "A", "tokens": 36,
                                            "refused": {"code": "gpu_full", "needed": 7, "free": 7}}},
                               {"resume": {"request": "A", "refused": {"code": "gpu_full"}}},
                               {"resume": {"request": "A"}}])");
  REQUIRE(found.size() == 4);
  CHECK(found[0].what == "succeeded, but should be refused with gpu_full");
  CHECK(found[1].what == "free is 6, but should be 7");
  CHECK_THAT(found[2].what, ContainsSubstring("was refused with wrong_status") && ContainsSubstring("gpu_full"));
  CHECK_THAT(found[3].what, ContainsSubstring("was refused with wrong_status"));
}

TEST_CASE("a name that nothing brings about is refused with its path") {
  auto refused = [](const std::string& steps) {
    auto plan = parse_scenario(head + steps + "}", "x");
    REQUIRE_FALSE(plan);
    return plan.error().message;
  };
  CHECK(refused(R"([{"close": {"request": "A"}}])") == "x: steps[0].close.request is \"A\", but must be a request's "
                                                       "name that an earlier step opened: there is none yet");
  CHECK(refused(R"([{"open": {"request": "A", "prompt": [[0, 4]]}}, {"close": {"request": "B"}}])") ==
        "x: steps[1].close.request is \"B\", but must be a request's name that an earlier step opened: A");
  CHECK(refused(R"([{"publish": {"batch": "b"}}])") ==
        "x: steps[0].publish.batch is \"b\", but must be a batch's name that an earlier step created: main");
  CHECK(refused(R"([{"open": {"request": "A", "prompt": [[0, 4]], "refused": {"code": "publish_first",
                                                                          "batches": ["b"]}}}])") ==
        "x: steps[0].open.refused.batches[0] is \"b\", but must be a batch's name that an earlier step created: main");
  CHECK(refused(R"([{"hold": {"streams": ["compute", "copies"]}}])") ==
        "x: steps[0].hold.streams[1] is \"copies\", but must be a stream's name that some step runs something on: "
        "compute, copies to gpu, copies to host");
  CHECK(refused(R"([{"open": {"request": "A", "prompt": [[0, 4]]}},
                    {"pages": {"request": "A", "group": "vk", "places": []}}])") ==
        "x: steps[1].pages.group is \"vk\", but must be a group's name: kv");
  CHECK(refused(R"([{"same_page": {"blocks": ["there"]}}])") ==
        "x: steps[0].same_page.blocks[0] is \"there\", but must be a name that an earlier step remembered: there is "
        "none yet");
  CHECK(refused(R"([{"poll": {}, "poll": {}}])") ==
        "x: a field poll is given twice in one object, but must be given once");
}

TEST_CASE("the engine of a scenario finds a page that is read before it is written") {
  auto found = findings_of(R"([{"open": {"request": "A", "prompt": [[0, 8]]}},
                               {"reserve": {"request": "A", "tokens": 8}},
                               {"add": {"request": "A"}},
                               {"write": {"request": "A", "until": 8}}])");
  REQUIRE(found.size() == 1);
  CHECK(found[0].what == "nothing can be written: the request's row was not published");
}

} // namespace scenarios::test
