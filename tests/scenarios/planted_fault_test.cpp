// Faults planted on purpose: each is found by a scenario about the rule that it removes, or breaks a contract in it.
#include "kvferry/test_hooks.hpp"

#include <cstdio>
#include <cstdlib>

#include "examples/scenario/parse.hpp"
#include "examples/scenario/runner.hpp"
#include "tests/catch.hpp"
#include "tests/device/death.hpp"

namespace scenarios::test {

using kvferry::test::ContainsSubstring;

TEST_CASE("each planted fault is found by the scenario of its rule") {
  auto [fault, file, words] = GENERATE(table<std::string, std::string, std::string>(
      {{"copy_wait_dropped", "a_copy_waits_for_the_step_that_writes_it", "unordered access"},
       {"load_wait_dropped", "an_open_that_is_refused_leaves_nothing", "unordered access"},
       {"close_ignores_steps", "a_deferring_host_pool_admits_and_moves_as_slots_come", "unordered access"},
       {"slot_before_unnamed", "two_batches_over_one_runtime", "unordered access"},
       {"retry_forgotten", "a_prefill_owner_defers_the_move", "the blockers are"},
       {"host_page_under_load", "a_host_page_is_kept_while_its_loaded_page_has_owners", "broken contract"},
       {"tier_before_copy_done", "decode_entry_moves_the_complete_history", "broken contract"}}));
  INFO(fault);
  auto plan = load_scenario(std::string{KVFERRY_SCENARIO_DIR} + "/" + file + ".json");
  REQUIRE(plan);
  REQUIRE(run_scenario(*plan, {plan->config, {}, true}).empty());
  const std::string found = kvferry::test::words_of_death([&] {
    (void)kvferry::plant_fault(fault);
    for (const finding& one : run_scenario(*plan, {plan->config, {}, true}))
      std::fprintf(stderr, "%s\n", to_string(one).c_str());
    std::abort(); // so that its words are told
  });
  REQUIRE_THAT(found, ContainsSubstring(words));
}

} // namespace scenarios::test
