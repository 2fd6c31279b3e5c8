// kvferry-search: looks for an order of messages, completions and faults in which a scenario does not hold.
#include <chrono>
#include <cstdio>

#include <fmt/format.h>

#include "examples/scenario/parse.hpp"
#include "examples/search/options.hpp"
#include "examples/search/report.hpp"
#include "examples/search/shrink.hpp"
#include "examples/terminal/progress_bar.hpp"
#include "kvferry/test_hooks.hpp"

namespace search {
namespace {

constexpr int all_held = 0;
constexpr int something_did_not = 1;
constexpr int unusable = 2;

std::string words_of(const search_options& options) {
  using way = search_options::way;
  switch (options.by) {
  case way::deviations: return fmt::format("at most {} deviations", options.deviations);
  case way::exhaustive: return "any number of deviations";
  case way::random: return fmt::format("by chance, seeds from {}", options.seed);
  case way::priorities:
    return fmt::format("priorities that change {} times, seeds from {}", options.depth - 1, options.seed);
  case way::given: return fmt::format("schedule {}", to_string(options.given));
  }
  return "?";
}

search_result search_by(const search_options& options, const run_setup& setup, coverage& seen,
                        const on_progress& tell) {
  using way = search_options::way;
  if (options.by == way::deviations)
    return explore(setup, {options.budget, options.deviations}, seen, tell);
  if (options.by == way::exhaustive)
    return explore(setup, {options.budget, {}}, seen, tell);
  std::uint32_t points = 0; // of a run without deviations, for priorities
  if (options.by == way::priorities) {
    given_schedule none({});
    points = run_once(setup, none, seen).points;
  }
  const std::uint64_t budget = options.by == way::given ? 1 : options.budget;
  auto made = [&](std::uint64_t n) -> std::unique_ptr<chooser> {
    if (options.by == way::random)
      return std::make_unique<random_choice>(options.seed + n);
    if (options.by == way::priorities)
      return std::make_unique<priority_choice>(options.seed + n, options.depth, points);
    return std::make_unique<given_schedule>(options.given);
  };
  return try_some(setup, budget, made, seen, tell);
}

/// Errors (invalid_argument): the run had no such point or option, e.g. since faults are not allowed as they were.
kvferry::expected<void> require_all_chosen(const search_options& options, const search_result& result) {
  if (result.last_chosen == options.given)
    return {};
  return kvferry::fail(kvferry::error_code::invalid_argument,
                       fmt::format("schedule {}: the run has no such points or options, it went {}; scenario and "
                                   "--fault must be those of the search",
                                   to_string(options.given), to_string(result.last_chosen)));
}

/// Shortens the failure and writes its record.
void describe_failure(const search_options& options, run_setup setup, scenario_report& report) {
  failed_run& failure = *report.result.failure;
  if (options.by != search_options::way::given)
    failure = shrink(setup, std::move(failure), report.shrinking);
  report.trace = options.trace;
  if (report.trace.empty())
    report.trace = std::filesystem::path{report.scenario}.stem().string() + ".failure.jsonl";
  setup.record = report.trace;
  coverage unused;
  given_schedule again(failure.chosen);
  run_once(setup, again, unused);
}

kvferry::expected<scenario_report> search_scenario(const search_options& options, const std::filesystem::path& file) {
  auto plan = scenarios::load_scenario(file);
  if (!plan)
    return tl::unexpected(plan.error());
  const run_setup setup{*plan, options.allowed, {}};
  scenario_report report{file.string(), words_of(options), {}, 0, {}, {}, 0};
  coverage seen;
  const auto start = std::chrono::steady_clock::now();
  {
    terminal::progress_bar progress(options.budget);
    report.result = search_by(options, setup, seen, [&](const search_result& so_far) {
      progress.show(so_far.schedules, [&] { return fmt::format("{} states, {}", so_far.states, report.scenario); });
    });
  }
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  report.pairs = seen.names();
  if (options.by == search_options::way::given && !report.result.failure)
    if (auto fits = require_all_chosen(options, report.result); !fits)
      return tl::unexpected(fits.error());
  if (report.result.failure)
    describe_failure(options, setup, report);
  return report;
}

int refuse(const kvferry::error& why) {
  fmt::print(stderr, "kvferry-search: {}\n", why.message);
  return unusable;
}

int run(const search_options& options) {
  if (!options.plant.empty())
    if (auto planted = kvferry::plant_fault(options.plant); !planted)
      return refuse(planted.error());
  const kvferry::keeps_actor_host kept; // a schedule takes less time than to make one
  std::vector<scenario_report> reports;
  int status = all_held;
  for (const std::filesystem::path& file : options.scenarios) {
    auto report = search_scenario(options, file);
    if (!report)
      return refuse(report.error());
    fmt::print("{}", to_text(*report));
    std::fflush(stdout);
    if (report->result.failure)
      status = something_did_not;
    reports.push_back(std::move(*report));
  }
  if (!options.report.empty())
    if (auto written = write_json(options.report, reports); !written)
      return refuse(written.error());
  return status;
}

} // namespace
} // namespace search

int main(int argc, char** argv) {
  auto options = search::parse_options(argc, argv);
  if (!options) {
    fmt::print(options.error().status == 0 ? stdout : stderr, "{}", options.error().text);
    return options.error().status;
  }
  return search::run(*options);
}
