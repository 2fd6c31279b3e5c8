// A whole run of kvferry-serve that is small enough for a test: generated requests over tight pools.
#pragma once

#include <cstdint>
#include <string>

#include "examples/serve/serve.hpp"
#include "examples/workload/generator.hpp"
#include "tests/catch.hpp"
#include "tests/serve/scratch_file.hpp"

namespace serve::test {

/// Requests with a 1,024-token system prompt, many of them at once.
inline ::serve::workload small_workload(std::uint32_t requests) {
  ::workload::shape shape;
  shape.requests = requests;
  shape.length_scale = 0.08;
  shape.system_prompt_tokens = 1024;
  shape.think_seconds = 2.0;
  std::string text;
  for (const auto& request : ::workload::generator(shape, 7).run())
    text += ::workload::line_of(request);
  scratch_file file("small.jsonl", text);
  workload_options reading;
  reading.time_scale = 4.0;
  auto loaded = read_workload(file.path(), reading);
  REQUIRE(loaded);
  return *loaded;
}

/// Everything checked; pools that hold about a third of what the run would like to have.
inline serve_options small_options() {
  serve_options options;
  options.tokens_per_block = 16;
  auto groups = parse_groups("sparse:2x64,sparse:1x32,dense:1x64:window=256");
  REQUIRE(groups);
  options.groups = *groups;
  options.gpu_slots = 300;
  options.host_slots = 2000;
  options.rows = 24;
  options.prefill_tokens = 1024;
  return options;
}

inline run_report run(const serve_options& options, std::uint32_t requests = 30) {
  auto report = serve_workload(options, small_workload(requests));
  INFO((report ? "" : report.error().message));
  REQUIRE(report);
  return *report;
}

/// Nothing wrong, nothing left, nobody unanswered.
inline void require_good(const run_report& report) {
  INFO(table_of(report));
  REQUIRE(report.good());
  REQUIRE(report.mismatches == 0);
  REQUIRE(report.unordered_accesses == 0u);
  REQUIRE(report.left.slots == 0);
  REQUIRE(report.left.owners == 0);
  REQUIRE(report.left.copies == 0);
  REQUIRE(report.left.requests == 0);
}

} // namespace serve::test
