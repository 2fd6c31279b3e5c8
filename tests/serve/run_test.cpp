// Whole workloads through the engine, the actors and the emulated device, every byte checked: orders, depths, block
// sizes, failures and disturbances.
#include <fstream>
#include <sstream>

#include "tests/serve/small_run.hpp"

namespace serve::test {
namespace {

std::string record_of(serve_options options, const std::string& name) {
  scratch_file file(name, "");
  options.record = file.path().string();
  require_good(run(options, 8));
  std::ifstream in(file.path(), std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

} // namespace

TEST_CASE("a workload over tight pools completes, and pages go to the host and come back") {
  run_report report = run(small_options());
  require_good(report);
  REQUIRE(report.requests_completed == 30);
  REQUIRE(report.pages_verified > 10'000);
  REQUIRE(report.pages.pages_offloaded > 0);
  REQUIRE(report.pages.pages_loaded > 0);
  REQUIRE(report.pages.pages_evicted > 0);
  REQUIRE(report.pages.pages_deferred > 0);
  REQUIRE(report.pages.pages_retried > 0);
  REQUIRE(report.pages.prefix_blocks_hit > 0);
}

TEST_CASE("any order of messages and completions gives the same bytes") {
  serve_options options = small_options();
  options.order = kvferry::delivery_order::random;
  options.seed = GENERATE(std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3}, std::uint64_t{4});
  require_good(run(options, 20));
}

TEST_CASE("steps in flight from one to three are served alike") {
  serve_options options = small_options();
  options.steps_in_flight = GENERATE(1u, 2u, 3u);
  require_good(run(options, 20));
}

TEST_CASE("F10: blocks of 1, 8 and 64 tokens are served alike") {
  // Field report F10: rarely used page sizes.
  serve_options options = small_options();
  options.tokens_per_block = GENERATE(1u, 8u, 64u);
  options.gpu_slots = 300 * 16 / options.tokens_per_block;
  options.host_slots = 2000 * 16 / options.tokens_per_block;
  require_good(run(options, options.tokens_per_block == 1 ? 4 : 16));
}

TEST_CASE("copies that fail are tried again and harm nobody") {
  serve_options options = small_options();
  options.fail_copies = 0.05;
  run_report report = run(options);
  require_good(report);
  REQUIRE(report.pages.copies_failed > 0);
}

TEST_CASE("aborted and suspended requests leave nothing behind") {
  serve_options options = small_options();
  options.abort = 0.003;
  options.suspend = 0.02;
  run_report report = run(options);
  require_good(report);
  REQUIRE(report.requests_aborted > 0);
  REQUIRE(report.requests_suspended > 0);
  REQUIRE(report.requests_completed + report.requests_aborted == 30);
}

TEST_CASE("a small host pool is lived with under both policies") {
  serve_options options = small_options();
  options.host_slots = 220;
  options.on_host_full = GENERATE(kvferry::host_full_policy::refuse, kvferry::host_full_policy::defer);
  run_report report = run(options, 16);
  require_good(report);
  REQUIRE(report.requests_completed + report.requests_aborted == 16);
}

TEST_CASE("deferral is bounded by publications, by none, or not at all") {
  serve_options options = small_options();
  options.defer_steps_max =
      GENERATE(std::optional<std::uint32_t>{0}, std::optional<std::uint32_t>{4}, std::optional<std::uint32_t>{});
  require_good(run(options, 16));
}

TEST_CASE("J10: two runs with the same inputs record the same bytes") {
  serve_options options = small_options();
  options.order = GENERATE(kvferry::delivery_order::fifo, kvferry::delivery_order::random);
  const std::string first = record_of(options, "first.jsonl");
  REQUIRE(first.size() > 10'000);
  REQUIRE(first == record_of(options, "second.jsonl"));
}

TEST_CASE("another seed of a random order records other bytes") {
  serve_options options = small_options();
  options.order = kvferry::delivery_order::random;
  const std::string first = record_of(options, "first.jsonl");
  options.seed = 2;
  REQUIRE(first != record_of(options, "second.jsonl"));
}

} // namespace serve::test
