#include "examples/search/options.hpp"

#include <sstream>

#include <CLI/CLI.hpp>

namespace search {

tl::expected<search_options, usage_stop> parse_options(int argc, const char* const* argv) {
  search_options options;
  bool exhaustive = false, random = false;
  std::string given;
  std::vector<std::string> fault_names;
  CLI::App app{
      "Runs a scenario with the next message, the next completion and faults as choices, and looks for an order "
      "in which something does not hold. A failure is made as short as it gets and written as a record that "
      "kvferry-replay shows. Exit status: 0 when all held, 1 when something did not, 2 when a file or the "
      "command line is wrong.",
      "kvferry-search"};
  app.get_formatter()->column_width(36);
  app.add_option("scenario", options.scenarios, "scenario files")->type_name("SCENARIO")->required();
  CLI::Option* deviations =
      app.add_option("--deviations", options.deviations,
                     "all runs with at most K choices that are not the oldest message, the engine's next step")
          ->type_name("K")
          ->capture_default_str();
  CLI::Option* all = app.add_flag("--exhaustive", exhaustive, "all runs, whatever the number of deviations");
  CLI::Option* any = app.add_flag("--random", random, "runs by chance, from --seed on");
  CLI::Option* depth =
      app.add_option("--pct", options.depth, "runs by random priorities that change at D - 1 points, from --seed on")
          ->type_name("D");
  CLI::Option* again = app.add_option("--schedule", given, "one run, as a failure was reported (\"-\": no deviations)")
                           ->type_name("P:O,…");
  deviations->excludes(all)->excludes(any)->excludes(depth)->excludes(again);
  all->excludes(any)->excludes(depth)->excludes(again);
  any->excludes(depth)->excludes(again);
  depth->excludes(again);
  app.add_option("--budget", options.budget, "at most so many runs of each scenario")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--seed", options.seed, "of --random and --pct")->type_name("S")->capture_default_str();
  app.add_option("--fault", fault_names,
                 "what may go wrong: copy, allocation, completion (a second one), request, actor (its death)")
      ->type_name("NAME")
      ->check(CLI::IsMember({"copy", "allocation", "completion", "request", "actor"}));
  app.add_option("--faults", options.allowed.at_most, "at most so many of these in a run")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--plant", options.plant, "plants a fault in the runtime (a test build)")->type_name("NAME");
  app.add_option("--report", options.report, "writes what was done and found as JSON")->type_name("FILE");
  app.add_option("--trace", options.trace, "where a failure's record goes (SCENARIO.failure.jsonl)")->type_name("FILE");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& stop) {
    std::ostringstream text;
    bool wrong = app.exit(stop, text, text) != 0;
    return tl::unexpected(usage_stop{wrong ? 2 : 0, text.str()});
  }
  using way = search_options::way;
  options.by = exhaustive ? way::exhaustive
               : random   ? way::random
               : *depth   ? way::priorities
               : *again   ? way::given
                          : way::deviations;
  for (const std::string& name : fault_names) {
    options.allowed.fail_copy |= name == "copy";
    options.allowed.fail_allocation |= name == "allocation";
    options.allowed.repeat_completion |= name == "completion";
    options.allowed.kill_request |= name == "request";
    options.allowed.kill_actor |= name == "actor";
  }
  if (*again) {
    auto parsed = parse_schedule(given);
    if (!parsed)
      return tl::unexpected(usage_stop{2, parsed.error().message + "\n"});
    options.given = std::move(*parsed);
  }
  return options;
}

} // namespace search
