// kvferry-serve: a small continuous-batching engine that serves a real workload through kvferry on an emulated GPU, and
// checks every byte that attention would read. Begin reading at engine.hpp.
//
// Exit status: 0 when all checks held, 1 when one did not, 2 when the command line, the configuration, the workload
// or the scenario is wrong.
#include <cstdio>
#include <fstream>

#include <fmt/format.h>

#include "examples/serve/scenario_run.hpp"
#include "examples/serve/serve.hpp"

namespace {

constexpr int all_held = 0;
constexpr int check_failed = 1;
constexpr int wrong_input = 2;

int refuse(const kvferry::error& why) {
  fmt::print(stderr, "kvferry-serve: {}\n", why.message);
  return wrong_input;
}

bool write_file(const std::string& name, const std::string& text) {
  std::ofstream out(name, std::ios::binary);
  out << text;
  out.flush();
  if (!out)
    fmt::print(stderr, "kvferry-serve: {}: cannot be written\n", name);
  return static_cast<bool>(out);
}

} // namespace

int main(int argc, char** argv) {
  auto options = serve::parse_options(argc, argv);
  if (!options) {
    fmt::print(options.error().status == 0 ? stdout : stderr, "{}", options.error().text);
    return options.error().status;
  }
  if (!options->scenario.empty()) {
    auto findings = serve::run_scenario(*options);
    return !findings ? refuse(findings.error()) : *findings == 0 ? all_held : check_failed;
  }
  auto requests = serve::workload_of(*options);
  if (!requests)
    return refuse(requests.error());
  auto report = serve::serve_workload(*options, *requests);
  if (!report)
    return refuse(report.error());
  fmt::print("{}", serve::table_of(*report));
  if (!options->report.empty() && !write_file(options->report, serve::json_of(*report)))
    return check_failed;
  return report->good() ? all_held : check_failed;
}
