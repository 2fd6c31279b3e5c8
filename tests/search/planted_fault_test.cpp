// Faults of the protocol, planted on purpose: the search finds each, makes its schedule short, and its record shows it.
#include "kvferry/test_hooks.hpp"

#include "examples/scenario/parse.hpp"
#include "examples/search/shrink.hpp"
#include "kvferry/contract.hpp"
#include "kvferry/trace.hpp"
#include "tests/catch.hpp"
#include "tests/serve/scratch_file.hpp"

namespace search::test {
namespace {

/// Planted while this lives.
struct planting {
  explicit planting(const std::string& name) { REQUIRE(kvferry::plant_fault(name)); }
  ~planting() { (void)kvferry::plant_fault("none"); }
};

faults faults_named(const std::string& name) {
  faults allowed;
  allowed.fail_copy = name == "copy";
  allowed.kill_request = name == "request";
  return allowed;
}

/// What becomes of fresh actors that get the recorded messages.
std::string replayed(const kvferry::trace& trace) {
  const kvferry::contracts_throw contracts;
  try {
    const auto result = trace.replay();
    REQUIRE(result);
    REQUIRE(result->handlings > 10);
    return contracts.broken() ? "breaks" : result->difference ? result->difference->text : "the same";
  } catch (const kvferry::contract_failure&) {
    return "breaks";
  }
}

} // namespace

TEST_CASE("each planted fault of the protocol is found, shortened and recorded") {
  auto [fault, file, allowed, deviations, words] =
      GENERATE(table<std::string, std::string, std::string, std::size_t, std::string>(
          {{"copy_wait_dropped", "an_abort_during_a_copy", "", 0u, "unordered access"},
           {"load_wait_dropped", "a_load_into_a_slot_that_was_read", "", 0u, "unordered access"},
           {"slot_before_unnamed", "a_slot_that_a_row_names", "", 0u, "unordered access"},
           {"retry_forgotten", "two_owners_and_a_decode_entry", "", 0u, "forgotten"},
           {"host_page_under_load", "loads_of_two_blocks", "", 0u, "broken contract"},
           {"tier_before_copy_done", "an_abort_during_a_copy", "", 0u, "broken contract"},
           {"grant_before_submission", "a_demotion_under_a_writer", "", 0u, "unordered access"},
           {"seen_ignored", "a_decoder_grows_while_its_blocks_move", "", 2u, "there is capacity"},
           {"ghost_blocks", "a_row_that_shows_its_pages_again", "request", 1u, "broken contract"},
           {"void_spill_used", "a_spill_that_becomes_void", "", 0u, "broken contract"},
           {"failed_copy_counts", "two_owners_and_a_decode_entry", "copy", 1u, "expected 0x"},
           {"gone_at_leaving", "a_row_that_left_is_still_read", "", 0u, "publish_first"},
           {"close_ignores_steps", "a_load_behind_the_steps_of_a_closed_request", "", 1u, "unordered access"},
           {"ready_before_loads", "loads_of_two_blocks", "copy", 1u, "nothing is bound"}}));
  INFO(fault << " in " << file);
  const auto plan = scenarios::load_scenario(std::string{KVFERRY_SEARCH_DIR} + "/" + file + ".json");
  REQUIRE(plan);
  run_setup setup{*plan, faults_named(allowed), {}};
  coverage seen;
  const serve::test::scratch_file record{"planted.jsonl", ""};
  failed_run shortened;
  {
    const planting now(fault);
    search_result found = explore(setup, {20'000, 2}, seen, {});
    REQUIRE(found.failure);
    std::uint64_t runs = 0;
    shortened = shrink(setup, std::move(*found.failure), runs);
    CHECK(shortened.chosen.size() == deviations);
    CHECK_THAT(to_string(shortened.findings.front()), kvferry::test::ContainsSubstring(words));
    setup.record = record.path();
    given_schedule again(shortened.chosen);
    REQUIRE_FALSE(run_once(setup, again, seen).findings.empty());

    const auto trace = kvferry::trace::read(record.path());
    REQUIRE(trace);
    REQUIRE(replayed(*trace) == (words == "broken contract" ? "breaks" : "the same"));
  }
  setup.record.clear();
  given_schedule same(shortened.chosen);
  REQUIRE(run_once(setup, same, seen).findings.empty());
}

} // namespace search::test
