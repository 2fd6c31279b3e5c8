// The numbers of a run: which keys the JSON has, and when a run counts as good.
#include "examples/serve/report.hpp"

#include <nlohmann/json.hpp>

#include "tests/catch.hpp"

namespace serve::test {

using kvferry::test::ContainsSubstring;

TEST_CASE("the JSON report has the keys that programs rely on, and no other") {
  run_report report;
  report.steps = 4;
  report.pages.messages = 10;
  report.unordered_accesses = 0;
  auto json = nlohmann::json::parse(json_of(report));
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) {
    REQUIRE(value.is_number());
    keys.push_back(key);
  }
  std::erase_if(keys, [](const std::string& key) { return key.starts_with("pages_in_host_runs_"); });
  REQUIRE(json.size() == keys.size() + report.pages.pages_by_host_run.size());
  REQUIRE(keys == std::vector<std::string>{"bytes_to_gpu",      "bytes_to_host",        "copies_failed",
                                           "entries_published", "host_us_per_step_p50", "host_us_per_step_p99",
                                           "leaked_owners",     "leaked_slots",         "messages",
                                           "messages_per_step", "mismatches",           "pages_allocated",
                                           "pages_branched",    "pages_deferred",       "pages_evicted",
                                           "pages_loaded",      "pages_offloaded",      "pages_rebound_without_copy",
                                           "pages_retried",     "pages_verified",       "peak_rss_mib",
                                           "prefix_blocks_hit", "publications",         "publish_us_p50",
                                           "requests_aborted",  "requests_completed",   "steps",
                                           "tokens_decoded",    "unordered_accesses",   "wall_s"});
  REQUIRE(json["messages_per_step"] == 2.5);
}

TEST_CASE("unordered accesses are null when nobody looked for them") {
  REQUIRE(nlohmann::json::parse(json_of(run_report{}))["unordered_accesses"].is_null());
  REQUIRE_THAT(table_of(run_report{}), ContainsSubstring("not checked"));
}

TEST_CASE("a run is good only when nothing mismatched, leaked, raced or was left open") {
  run_report good;
  good.requests = 3;
  good.requests_completed = 2;
  good.requests_aborted = 1;
  good.unordered_accesses = 0;
  REQUIRE(good.good());

  auto broken = [&](auto change) {
    run_report report = good;
    change(report);
    return !report.good();
  };
  REQUIRE(broken([](run_report& r) { r.mismatches = 1; }));
  REQUIRE(broken([](run_report& r) { r.unordered_accesses = 1; }));
  REQUIRE(broken([](run_report& r) { r.left.slots = 1; }));
  REQUIRE(broken([](run_report& r) { r.left.owners = 1; }));
  REQUIRE(broken([](run_report& r) { r.left.copies = 1; }));
  REQUIRE(broken([](run_report& r) { r.left.requests = 1; }));
  REQUIRE(broken([](run_report& r) { r.requests_completed = 1; }));
  REQUIRE(broken([](run_report& r) { r.stopped_by = kvferry::error{}; }));
}

TEST_CASE("the table groups digits and tells what went wrong") {
  run_report report;
  report.tokens_decoded = 4122048;
  report.steps = 999;
  report.first_mismatches = {"step 3, request 1: wrong"};
  report.stopped_by = kvferry::error{kvferry::error_code::actor_died, "storage has died", {}};
  std::string table = table_of(report);
  REQUIRE_THAT(table, ContainsSubstring("4,122,048"));
  REQUIRE_THAT(table, ContainsSubstring(" 999"));
  REQUIRE_THAT(table, ContainsSubstring("mismatch: step 3, request 1: wrong"));
  REQUIRE_THAT(table, ContainsSubstring("stopped: storage has died"));
}

} // namespace serve::test
