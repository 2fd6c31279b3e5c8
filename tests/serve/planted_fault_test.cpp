// Faults planted on purpose: each must be found by the run's own checks, which name the page.
#include "kvferry/test_hooks.hpp"
#include "tests/device/death.hpp"
#include "tests/serve/small_run.hpp"

namespace serve::test {
namespace {

/// Takes the fault away when the test ends.
struct planted {
  ~planted() { (void)kvferry::plant_fault("none"); }
};

std::string first_finding(const run_report& report) {
  if (!report.first_unordered.empty())
    return report.first_unordered.front().description;
  return report.first_mismatches.empty() ? "nothing was found" : report.first_mismatches.front();
}

run_report run_with(const std::string& fault, serve_options options) {
  planted guard;
  options.plant = fault;
  return run(options);
}

/// What the run says of the fault: its first finding, or the contract that it broke.
std::string last_words(const std::string& fault, const serve_options& options) {
  return kvferry::test::words_of_death([&] {
    const run_report report = run_with(fault, options);
    fmt::print(stderr, "{}", first_finding(report));
    std::abort();
  });
}

} // namespace

TEST_CASE("a dropped wait is found as an unordered access, with the slot's name") {
  auto [fault, copy] = GENERATE(
      table<std::string, std::string>({{"copy_wait_dropped", "copy to_host"}, {"load_wait_dropped", "copy to_gpu"}}));
  run_report report = run_with(fault, small_options());
  INFO(fault << ": " << first_finding(report));
  REQUIRE(report.unordered_accesses > 0u);
  REQUIRE_THAT(first_finding(report),
               kvferry::test::ContainsSubstring("slot ") && kvferry::test::ContainsSubstring(copy));
  REQUIRE_FALSE(report.good());
}

TEST_CASE("a close that ignores running steps is found") {
  serve_options options = small_options();
  options.abort = 0.01;
  options.steps_in_flight = 3;
  run_report report = run_with("close_ignores_steps", options);
  INFO(first_finding(report));
  REQUIRE(report.unordered_accesses > 0u);
  REQUIRE_THAT(first_finding(report), kvferry::test::ContainsSubstring("slot "));
}

TEST_CASE("a slot that is handed out while a row names it is found") {
  serve_options options = small_options();
  options.steps_in_flight = 3;
  REQUIRE_THAT(last_words("slot_before_unnamed", options), kvferry::test::ContainsSubstring("slot "));
}

TEST_CASE("a host page that is evicted under a load is found") {
  REQUIRE_THAT(last_words("host_page_under_load", small_options()), kvferry::test::ContainsSubstring("slot "));
}

TEST_CASE("a forgotten retry is found, with the block's name") {
  serve_options options = small_options();
  options.defer_steps_max = std::nullopt;
  run_report report = run_with("retry_forgotten", options);
  INFO(first_finding(report));
  REQUIRE(report.mismatches > 0);
  REQUIRE_THAT(report.first_mismatches.front(),
               kvferry::test::ContainsSubstring("forgotten") && kvferry::test::ContainsSubstring("GPU slot"));
}

TEST_CASE("a tier that is flipped before the copy is done is found") {
  REQUIRE_THAT(last_words("tier_before_copy_done", small_options()),
               kvferry::test::ContainsSubstring("bound to tier 1 where block"));
}

TEST_CASE("a fault that does not exist is refused with the names of those that do") {
  auto refused = kvferry::plant_fault("no_such_fault");
  REQUIRE_FALSE(refused);
  REQUIRE_THAT(refused.error().message, kvferry::test::ContainsSubstring("copy_wait_dropped"));
}

} // namespace serve::test
