// The same workloads with the actors on their own threads.
#include "tests/serve/small_run.hpp"

namespace serve::test {

TEST_CASE("actors on worker threads serve the workload alike") {
  serve_options options = small_options();
  options.scheduler = kvferry::scheduler_kind::threaded;
  run_report report = run(options);
  require_good(report);
  REQUIRE(report.requests_completed == 30);
  REQUIRE(report.pages.pages_offloaded > 0);
}

TEST_CASE("actors on worker threads survive failures, aborts and suspensions") {
  serve_options options = small_options();
  options.scheduler = kvferry::scheduler_kind::threaded;
  options.fail_copies = 0.05;
  options.abort = 0.003;
  options.suspend = 0.02;
  run_report report = run(options);
  require_good(report);
  REQUIRE(report.requests_completed + report.requests_aborted == 30);
}

} // namespace serve::test
