#include "examples/search/explorer.hpp"

#include <memory>
#include <set>

#include "examples/scenario/parse.hpp"
#include "examples/search/shrink.hpp"
#include "tests/catch.hpp"

namespace search::test {
namespace {

scenarios::scenario plan_of(const std::string& name) {
  auto plan = scenarios::load_scenario(std::string{KVFERRY_SEARCH_DIR} + "/" + name + ".json");
  if (!plan)
    throw std::runtime_error(plan.error().message);
  return std::move(*plan);
}

/// Notes what there was to choose from, and takes option 0.
struct looker final : chooser {
  std::uint32_t choose(const choice_point& at) override {
    options.push_back(at.options.size());
    return 0;
  }
  std::vector<std::size_t> options;
};

search_result explore_quietly(const run_setup& setup, std::uint32_t deviations) {
  coverage seen;
  return explore(setup, {1'000'000, deviations}, seen, {});
}

} // namespace

TEST_CASE("a run without deviations is what happens without a search") {
  const auto plan =
      plan_of(GENERATE(std::string{"two_owners_and_a_decode_entry"}, std::string{"prefill_joins_a_running_copy"},
                       std::string{"a_load_against_eviction"}, std::string{"an_abort_during_a_copy"},
                       std::string{"a_full_host_pool"}, std::string{"a_publication_against_slot_reuse"},
                       std::string{"a_close_during_commit"}, std::string{"suspend_and_resume_under_pressure"}));
  coverage seen;
  given_schedule none({});
  const run_result run = run_once({plan, {}, {}}, none, seen);
  REQUIRE(run.findings.empty());
  REQUIRE(run.chosen.empty());
  REQUIRE(run.points >= 12);
  REQUIRE(run.deliveries <= 60);
}

TEST_CASE("of one deviation there are as many schedules as there were other options") {
  const auto plan = plan_of("an_abort_during_a_copy");
  coverage seen;
  looker look;
  run_once({plan, {}, {}}, look, seen);
  std::size_t others = 0;
  for (std::size_t options : look.options)
    others += options - 1;
  const search_result found = explore_quietly({plan, {}, {}}, 1);
  REQUIRE(found.complete);
  REQUIRE(found.complete_deviations == 1u);
  REQUIRE(found.schedules == others + 1);
  REQUIRE(found.cut > 0);
  REQUIRE(found.cut < found.schedules);
}

TEST_CASE("a search is the same each time, and goes further with more deviations") {
  const auto plan = plan_of("two_owners_and_a_decode_entry");
  const search_result one = explore_quietly({plan, {}, {}}, 1);
  const search_result two = explore_quietly({plan, {}, {}}, 2);
  const search_result again = explore_quietly({plan, {}, {}}, 2);
  REQUIRE(two.schedules == again.schedules);
  REQUIRE(two.states == again.states);
  REQUIRE(two.cut == again.cut);
  REQUIRE(two.states > one.states);
}

namespace {

/// Goes by a schedule, and notes what else there was behind it, and the state at the last choice point.
struct follower final : chooser {
  explicit follower(const schedule& deviations)
      : given(deviations), first_new(deviations.empty() ? 0 : deviations.back().point + 1) {}

  std::uint32_t choose(const choice_point& at) override {
    last = at.state;
    if (at.number >= first_new)
      for (std::uint32_t option = 1; option < at.options.size(); ++option)
        others.push_back({at.number, option});
    return given.choose(at);
  }

  given_schedule given;
  std::uint32_t first_new;
  std::uint64_t last = 0;
  std::vector<deviation> others;
};

} // namespace

TEST_CASE("runs that are cut would have ended where others end") {
  const auto plan = plan_of("a_close_during_commit");
  const run_setup setup{plan, {}, {}};
  coverage seen;
  std::set<std::uint64_t> all; // of every schedule with at most two deviations, none of them cut
  std::vector<schedule> level{{}};
  for (int deviations = 0; deviations <= 2; ++deviations) {
    std::vector<schedule> next;
    for (const schedule& each : level) {
      follower run(each);
      run_once(setup, run, seen);
      all.insert(run.last);
      for (const deviation& other : run.others) {
        next.push_back(each);
        next.back().push_back(other);
      }
    }
    level = std::move(next);
  }
  std::set<std::uint64_t> kept;
  const search_result found = explore(setup, {1'000'000, 2}, seen, {}, &kept);
  REQUIRE(found.complete);
  REQUIRE(found.cut > 100);
  REQUIRE(kept == all);
}

TEST_CASE("schedules that are cut without a run would have been cut there by one") {
  const auto name = GENERATE(as<std::string>{}, "a_close_during_commit", "a_load_into_a_slot_that_was_read",
                             "steps_of_two_requests", "an_abort_during_a_copy", "loads_of_two_blocks");
  const auto plan = plan_of(name);
  faults any;
  any.fail_copy = any.repeat_completion = any.kill_request = GENERATE(false, true);
  INFO(name << (any.fail_copy ? ", with faults" : ""));
  const run_setup setup{plan, any, {}};
  const auto explored = [&](bool looks_ahead, coverage& seen, std::set<std::uint64_t>& ends) {
    return explore(setup, {300, 2, looks_ahead}, seen, {}, &ends);
  };
  coverage by_runs_seen, ahead_seen;
  std::set<std::uint64_t> by_runs_ends, ahead_ends;
  const search_result by_runs = explored(false, by_runs_seen, by_runs_ends);
  const search_result ahead = explored(true, ahead_seen, ahead_ends);
  REQUIRE(by_runs.unrun == 0);
  REQUIRE(ahead.unrun > 20);
  REQUIRE(ahead.schedules == by_runs.schedules);
  REQUIRE(ahead.cut == by_runs.cut);
  REQUIRE(ahead.states == by_runs.states);
  REQUIRE(ahead.waited == by_runs.waited);
  REQUIRE(ahead.points_max == by_runs.points_max);
  REQUIRE(ahead.deliveries_max == by_runs.deliveries_max);
  REQUIRE(ahead.last_chosen == by_runs.last_chosen);
  REQUIRE(ahead_ends == by_runs_ends);
  REQUIRE(ahead_seen.names() == by_runs_seen.names());
}

TEST_CASE("a search that ends with its budget says how far it was complete") {
  const auto plan = plan_of("two_owners_and_a_decode_entry");
  coverage seen;
  const search_result found = explore({plan, {}, {}}, {60, {}}, seen, {});
  REQUIRE_FALSE(found.complete);
  REQUIRE(found.schedules == 60);
  REQUIRE(found.complete_deviations == 1u);
  REQUIRE(seen.pairs() > 40);
  REQUIRE(seen.names().front().find(": ") != std::string::npos);
}

TEST_CASE("what does not hold in every order is found, and made as short as it gets") {
  // Holds when everything is delivered before the engine goes on, and not when its copy is not noticed yet.
  auto plan = scenarios::parse_scenario(R"({"why": "w", "configuration": {"tokens_per_block": 4, "groups": [
    {"name": "kv", "kind": "sparse", "buffers": [{"name": "k", "bytes_per_slot": 32}], "gpu_slots": 8, "host_slots": 8}
  ]}, "steps": [
    {"open": {"request": "A", "prompt": [[0, 5]]}}, {"run": {"request": "A", "until": 4}},
    {"enter_decode": {"request": "A"}}, {"publish": {}}, {"run_device": {}}, {"poll": {}},
    {"pages": {"request": "A", "places": ["host"], "history": 1}}]})");
  REQUIRE(plan);
  const run_setup setup{*plan, {}, {}};
  coverage seen;
  const search_result found =
      try_some(setup, 100, [](std::uint64_t n) { return std::make_unique<random_choice>(n); }, seen, {});
  REQUIRE(found.failure);
  REQUIRE_THAT(found.failure->findings.front().what, kvferry::test::ContainsSubstring("should be host"));

  std::uint64_t runs = 0;
  const failed_run shortened = shrink(setup, *found.failure, runs);
  REQUIRE(shortened.chosen.size() <= 2);
  REQUIRE(runs > 0);
  given_schedule again(shortened.chosen);
  REQUIRE(run_once(setup, again, seen).findings.size() == shortened.findings.size());

  const search_result bounded = explore_quietly(setup, 1);
  REQUIRE(bounded.failure);
  REQUIRE(bounded.failure->chosen.size() == 1);
}

} // namespace search::test
