#include "examples/serve/scenario_run.hpp"

#include <fmt/format.h>

#include "examples/scenario/parse.hpp"
#include "examples/scenario/runner.hpp"
#include "kvferry/test_hooks.hpp"

namespace serve {

kvferry::expected<std::size_t> run_scenario(const serve_options& options) {
  auto scenario = scenarios::load_scenario(options.scenario);
  if (!scenario)
    return tl::unexpected(scenario.error());
  scenarios::run_options run{scenario->config, {}, true};
  if (options.order_given)
    run.config.order = options.order;
  if (options.seed_given)
    run.config.seed = options.seed;
  if (!options.record.empty())
    run.config.record_path = options.record;
  if (!options.plant.empty())
    if (auto planted = kvferry::plant_fault(options.plant); !planted)
      return tl::unexpected(planted.error());
  fmt::print("{}\n\n", scenario->why);
  scenarios::runner running(*scenario, run);
  std::size_t told = 0;
  auto tell = [&] {
    for (; told < running.findings().size(); ++told)
      fmt::print("    NOT: {}\n", running.findings()[told].what);
  };
  while (!running.done()) {
    const scenarios::numbered_step& step = scenario->steps[running.steps_done()];
    running.step();
    if (!step.note.empty())
      fmt::print("     {}\n", step.note);
    fmt::print("{:>3}  {}\n{}", running.steps_done(), step.text, running.page_table());
    tell();
  }
  running.finish();
  tell();
  fmt::print("\n{} steps: {}\n", running.steps_done(),
             told == 0 ? std::string{"all held"} : fmt::format("{} did not hold", told));
  return told;
}

} // namespace serve
