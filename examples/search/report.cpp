#include "examples/search/report.hpp"

#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace search {
namespace {

double rate_of(const scenario_report& report) {
  return report.seconds > 0 ? static_cast<double>(report.result.schedules) / report.seconds : 0;
}

nlohmann::ordered_json json_of(const scenario_report& report) {
  const search_result& r = report.result;
  nlohmann::ordered_json failures = nlohmann::ordered_json::array();
  if (r.failure) {
    nlohmann::ordered_json findings = nlohmann::ordered_json::array();
    for (const scenarios::finding& found : r.failure->findings)
      findings.push_back(to_string(found));
    failures.push_back({{"schedule", to_string(r.failure->chosen)},
                        {"deviations", r.failure->chosen.size()},
                        {"findings", std::move(findings)},
                        {"trace", report.trace.string()},
                        {"runs_to_shrink", report.shrinking}});
  }
  return {{"scenario", report.scenario},
          {"way", report.way},
          {"schedules", r.schedules},
          {"complete", r.complete},
          {"complete_deviations", r.complete_deviations ? nlohmann::ordered_json(*r.complete_deviations) : nullptr},
          {"failures", std::move(failures)},
          {"schedules_per_s", rate_of(report)},
          {"seconds", report.seconds},
          {"cut", r.cut},
          {"unrun", r.unrun},
          {"skipped", r.skipped},
          {"waited", r.waited},
          {"states", r.states},
          {"choice_points_max", r.points_max},
          {"deliveries_max", r.deliveries_max},
          {"message_pairs", report.pairs}};
}

} // namespace

std::string to_text(const scenario_report& report) {
  const search_result& r = report.result;
  std::string text = fmt::format("{}: {}\n", report.scenario, report.way);
  std::string how = r.failure ? "failed" : r.complete ? "complete" : r.schedules == 1 ? "held" : "budget exhausted";
  if (!r.complete && !r.failure && r.complete_deviations)
    how += fmt::format(", complete at {} deviations", *r.complete_deviations);
  text += fmt::format("  {}; {} schedules, {} cut where another had been ({} of them without a run), {} states, "
                      "{:.0f} a second\n",
                      how, r.schedules, r.cut, r.unrun, r.states, rate_of(report));
  text += fmt::format("  in {} the engine waited to be granted something, in {} it did without, after a fault\n",
                      r.waited, r.skipped);
  text += fmt::format("  at most {} choice points and {} deliveries in a run, {} pairs of messages\n", r.points_max,
                      r.deliveries_max, report.pairs.size());
  if (!r.failure)
    return text;
  text += fmt::format("  schedule {} ({} deviations), {}\n", to_string(r.failure->chosen), r.failure->chosen.size(),
                      report.trace.string());
  for (const scenarios::finding& found : r.failure->findings)
    text += fmt::format("    {}\n", to_string(found));
  return text;
}

kvferry::expected<void> write_json(const std::filesystem::path& file, const std::vector<scenario_report>& reports) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  std::uint64_t schedules = 0;
  double seconds = 0;
  bool complete = true;
  nlohmann::ordered_json failures = nlohmann::ordered_json::array();
  for (const scenario_report& report : reports) {
    all.push_back(json_of(report));
    schedules += report.result.schedules;
    seconds += report.seconds;
    complete = complete && report.result.complete;
    for (auto& failure : all.back()["failures"])
      failures.push_back(failure);
  }
  const nlohmann::ordered_json text = {{"schedules", schedules},
                                       {"complete", complete},
                                       {"failures", std::move(failures)},
                                       {"schedules_per_s", seconds > 0 ? static_cast<double>(schedules) / seconds : 0},
                                       {"scenarios", std::move(all)}};
  std::ofstream out{file, std::ios::binary};
  out << text.dump(2) << '\n';
  if (!out.flush())
    return kvferry::fail(kvferry::error_code::io_error, fmt::format("{}: cannot be written", file.string()));
  return {};
}

} // namespace search
