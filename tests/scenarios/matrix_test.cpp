// Values of options that broke someone (docs/field_reports.md, "Configurations"): with each the same small engine run
// ends with every byte checked and nothing left, or the value is refused, with the field and the reason.
#include <fmt/format.h>

#include "examples/scenario/parse.hpp"
#include "examples/scenario/runner.hpp"
#include "tests/catch.hpp"

namespace scenarios::test {
namespace {

using kvferry::test::ContainsSubstring;

/// What a run is made of; the rest follows.
struct setting {
  std::uint32_t tokens_per_block = 4; ///< T
  std::uint32_t gpu_slots = 12;
  std::uint32_t host_slots = 16;
  std::string buffers = R"([{"name": "k", "bytes_per_slot": 4096}, {"name": "v", "bytes_per_slot": 2048}])";
  std::string fields = ""; ///< of the configuration, with a comma behind
};

std::string file_of(const setting& s, std::string_view steps) {
  return fmt::format(R"({{"why": "w", "configuration": {{"tokens_per_block": {}, {} "groups": [
    {{"name": "kv", "kind": "sparse", "buffers": {}, "gpu_slots": {}, "host_slots": {}}}]}}, "steps": [{}]}})",
                     s.tokens_per_block, s.fields, s.buffers, s.gpu_slots, s.host_slots, steps);
}

/// Runs the steps in order and in a random order of messages and device work.
void require_holds(const setting& s, std::string_view steps) {
  auto plan = parse_scenario(file_of(s, steps));
  INFO((plan ? std::string{} : plan.error().message));
  REQUIRE(plan);
  for (const std::uint64_t seed : {0, 1}) {
    run_options options{plan->config, {}, true};
    options.config.order = seed == 0 ? kvferry::delivery_order::fifo : kvferry::delivery_order::random;
    options.config.seed = options.device.seed = seed;
    options.device.drive = seed == 0 ? kvferry::drive_mode::by_hand : kvferry::drive_mode::random;
    std::string found;
    for (const finding& one : run_scenario(*plan, options))
      found += to_string(one) + "\n";
    REQUIRE(found == "");
  }
}

void require_refused(const setting& s, std::string_view words) {
  auto plan = parse_scenario(file_of(s, R"({"poll": {}})"));
  REQUIRE_FALSE(plan);
  REQUIRE_THAT(plan.error().message, ContainsSubstring(std::string{words}));
}

constexpr std::string_view seen = R"({"publish": {}}, {"settle": {}}, {"publish": {}}, {"settle": {}})";

/// Every road that a page can take, for prompts of 2 blocks and a token: out, shared, back, suspended, generated on.
std::string all_roads(std::uint32_t t) {
  return fmt::format(
      R"({{"open": {{"request": "A", "prompt": [[0, {0}]]}}}}, {{"run": {{"request": "A", "until": {0}}}}},
    {{"enter_decode": {{"request": "A", "moving": 2}}}}, {4},
    {{"open": {{"request": "B", "prompt": [[0, {1}], [500000, 2]], "matched": {1}, "loading": true}}}},
    {{"publish": {{}}}}, {{"settle": {{"ready": ["B"]}}}},
    {{"run": {{"request": "B", "until": {2}}}}}, {{"suspend": {{"request": "A"}}}}, {4},
    {{"enter_decode": {{"request": "B", "rebound": 2, "deferred": 0}}}}, {{"resume": {{"request": "A"}}}}, {4},
    {{"run": {{"request": "A", "until": {3}}}}}, {4}, {{"close": {{"request": "B"}}}}, {4},
    {{"pages": {{"request": "A", "places": ["host", "host", "host"], "history": 3}}}})",
      2 * t + 1, 2 * t, 2 * t + 2, 3 * t, seen);
}

} // namespace

TEST_CASE("F10 G4: blocks of 1 to 512 tokens take every road") {
  setting s;
  s.tokens_per_block = GENERATE(1u, 2u, 8u, 16u, 64u, 256u, 512u);
  s.gpu_slots = s.tokens_per_block == 1 ? 16 : 12;
  CAPTURE(s.tokens_per_block);
  if (s.tokens_per_block == 1) // a block is full with its token: what is history is on the host
    require_holds(s, fmt::format(R"({{"open": {{"request": "A", "prompt": [[0, 3]]}}}},
      {{"run": {{"request": "A", "until": 3}}}}, {{"enter_decode": {{"request": "A", "moving": 3}}}}, {0},
      {{"open": {{"request": "B", "prompt": [[0, 3], [9, 2]], "matched": 3, "loading": true}}}}, {0},
      {{"run": {{"request": "B", "until": 5}}}}, {{"suspend": {{"request": "A"}}}}, {0}, {{"resume": {{"request": "A"}}}},
      {{"run": {{"request": "A", "until": 6}}}}, {0},
      {{"pages": {{"request": "A", "places": ["host", "host", "host", "host", "host", "host"], "history": 6}}}})",
                                 seen));
  else
    require_holds(s, all_roads(s.tokens_per_block));
}

TEST_CASE("G4: a block size that is no power of two is refused, and so is a host page of another size") {
  setting s;
  s.tokens_per_block = GENERATE(0u, 3u, 24u, 48u);
  CAPTURE(s.tokens_per_block);
  require_refused(s,
                  fmt::format("configuration.tokens_per_block is {}, but must be a power of two", s.tokens_per_block));
  setting ratio;
  ratio.fields = R"("tokens_per_host_page": 6,)";
  require_refused(ratio, "configuration.tokens_per_host_page is unknown (found 6)");
}

TEST_CASE("G4: a sparse group without host pages is refused, with the reason") {
  setting s;
  s.host_slots = 0;
  require_refused(s, "configuration.groups[0].host_slots is 0, but must be at least 1");
}

TEST_CASE("G4: with fewer host pages than one request has, decode entry is refused with the numbers, or waits") {
  setting s;
  s.host_slots = GENERATE(1u, 2u);
  const bool defer = GENERATE(false, true);
  CAPTURE(s.host_slots, defer);
  if (defer)
    s.fields = R"("on_host_full": "defer",)";
  const std::string entry =
      defer ? R"({"enter_decode": {"request": "A"}})"
            : fmt::format(R"({{"enter_decode": {{"request": "A", "refused": {{"code": "host_full", "group": "kv",
                "on": "host", "needed": 3, "free": {}}}}}}})",
                          s.host_slots);
  const std::string_view then =
      defer ? s.host_slots == 1 ? R"(["host", "gpu", "gpu", "gpu"])" : R"(["host", "host", "gpu", "gpu"])"
            : R"(["gpu", "gpu", "gpu", "gpu"])";
  require_holds(s, fmt::format(R"({{"open": {{"request": "A", "prompt": [[0, 13]]}}}},
    {{"run": {{"request": "A", "until": 13}}}}, {}, {}, {{"pages": {{"request": "A", "places": {}, "history": {}}}}})",
                               entry, seen, then, defer ? s.host_slots : 0));
}

TEST_CASE("G4: as many host pages as GPU pages, and very many more, take every road") {
  setting s;
  s.host_slots = GENERATE(12u, 100'000u);
  require_holds(s, all_roads(4));
}

TEST_CASE("G4: a GPU pool that holds one request and no more serves requests one after the other") {
  setting s;
  s.gpu_slots = 4; // 3 blocks, and one to grow
  require_holds(s, fmt::format(R"({{"open": {{"request": "A", "prompt": [[0, 12]]}}}},
    {{"run": {{"request": "A", "until": 12}}}}, {0}, {{"suspend": {{"request": "A"}}}}, {0},
    {{"open": {{"request": "B", "prompt": [[50, 12]]}}}},
    {{"reserve": {{"request": "B", "tokens": 12, "refused": {{"code": "copies_in_flight", "needed": 3, "free": 1}}}}}}, {0},
    {{"run": {{"request": "B", "until": 12}}}}, {0}, {{"close": {{"request": "B"}}}}, {0},
    {{"resume": {{"request": "A"}}}}, {0}, {{"run": {{"request": "A", "until": 16}}}})",
                               seen));
  require_holds(s, R"({"open": {"request": "A", "prompt": [[0, 20]],
    "refused": {"code": "prompt_exceeds_gpu_pool", "group": "kv", "on": "gpu", "needed": 5}}})");
}

TEST_CASE("A4: a GPU pool of two fifths of what is wanted serves all, with pages going out and in") {
  setting s;
  s.gpu_slots = 5; // of 12
  std::string steps;
  for (std::string_view name : {"A", "B", "C", "D"})
    steps += fmt::format(
        R"({{"open": {{"request": "{0}", "prompt": [[{1}, 9]]}}}}, {{"run": {{"request": "{0}", "until": 9}}}},
      {{"enter_decode": {{"request": "{0}", "moving": 2}}}}, {2}, {{"run": {{"request": "{0}", "until": 12}}}}, {2},
      {{"pages": {{"request": "{0}", "places": ["host", "host", "host"], "history": 3}}}}, )",
        name, 100 * (name[0] - 'A'), seen);
  require_holds(s, steps + std::string{seen});
}

TEST_CASE("B1: one, two, three and more steps in flight are served alike") {
  const int behind = GENERATE(1, 2, 3, 9);
  CAPTURE(behind);
  std::string steps = fmt::format(R"({{"open": {{"request": "A", "prompt": [[0, 9]]}}}},
    {{"step": {{"run": [{{"request": "A", "until": 9}}]}}}}, {{"step": {{"run": [{{"request": "A", "until": 10}}],
    "enter_decode": ["A"]}}}}, {}, )",
                                  seen);
  for (int until = 11; until < 29; ++until) {
    steps += fmt::format(R"({{"step": {{"run": [{{"request": "A", "until": {}}}]}}}}, )", until);
    if ((until - 10) % behind == 0)
      steps += R"({"settle": {}}, )";
  }
  require_holds({}, steps + std::string{seen});
}

TEST_CASE("G4: copy streams and staging rings are not for an engine to choose: such fields are refused by name") {
  setting s;
  const std::string field = GENERATE("copy_streams", "staging_ring", "heartbeat_ms");
  s.fields = fmt::format(R"("{}": 2,)", field);
  require_refused(s, fmt::format("configuration.{} is unknown (found 2)", field));
}

TEST_CASE("F1 F5: buffers of equal and of unequal bytes per page come back as they went") {
  setting s;
  s.buffers = GENERATE(R"([{"name": "k", "bytes_per_slot": 64}, {"name": "v", "bytes_per_slot": 64}])",
                       R"([{"name": "k", "bytes_per_slot": 1}, {"name": "v", "bytes_per_slot": 8191}])",
                       R"([{"name": "k", "bytes_per_slot": 4096, "slot_stride_bytes": 0},
                           {"name": "index", "bytes_per_slot": 12}, {"name": "v", "bytes_per_slot": 513}])");
  CAPTURE(s.buffers);
  require_holds(s, all_roads(4));
}

TEST_CASE("C19: lengths around a multiple of a block, the longest prompt, none and few new tokens") {
  const auto prompt = GENERATE(7u, 8u, 9u, 47u, 48u);
  const auto outputs = GENERATE(0u, 1u, 3u);
  CAPTURE(prompt, outputs);
  setting s;
  s.host_slots = 20;
  std::string steps = fmt::format(R"({{"open": {{"request": "A", "prompt": [[0, {0}]]}}}},
    {{"run": {{"request": "A", "until": {0}}}}}, {{"enter_decode": {{"request": "A", "moving": {1}}}}}, {2})",
                                  prompt, prompt / 4, seen);
  if (outputs != 0)
    steps += fmt::format(R"(, {{"run": {{"request": "A", "until": {}}}}})", prompt + outputs);
  std::string places;
  for (std::uint32_t o = 0; o < (prompt + outputs + 3) / 4; ++o)
    places += fmt::format(R"({}"{}")", o == 0 ? "" : ", ", o < (prompt + outputs) / 4 ? "host" : "gpu");
  require_holds(s, fmt::format(R"({}, {}, {{"pages": {{"request": "A", "places": [{}], "history": {}}}}})", steps, seen,
                               places, (prompt + outputs) / 4));
}

} // namespace scenarios::test
