#include "examples/serve/options.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <type_traits>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace serve {
namespace {

constexpr const char* default_groups = "sparse:2x256,sparse:1x256,dense:1x256:window=4096";

/// A description with its default, in the same form whatever the version of CLI11.
std::string with_default(const char* description, const std::string& value) {
  return value.empty() ? description : fmt::format("{} [{}]", description, value);
}

/// The whole number, not below `least`, that all of `text` spells.
template <class Number>
std::optional<Number> whole_number(const std::string& text, Number least) {
  Number value = 0;
  auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool right = wrong == std::errc{} && end == text.data() + text.size() && value >= least;
  return right ? std::optional{value} : std::nullopt;
}

template <class Number>
CLI::Option* add_count(CLI::App& app, const char* name, Number& target, Number least, const char* unit,
                       const char* description) {
  auto take = [=, &target](const std::string& text) {
    auto value = whole_number(text, least);
    if (!value)
      throw CLI::ValidationError(name, fmt::format("\"{}\" should be a whole number from {}", text, least));
    target = *value;
  };
  return app.add_option_function<std::string>(name, take, with_default(description, fmt::format("{}", target)))
      ->type_name(unit);
}

/// An option that takes a whole number, or one word for none.
template <class Take>
CLI::Option* add_count_or(CLI::App& app, const char* name, const char* word, const char* standard, Take take,
                          const char* description) {
  auto parse = [=](const std::string& text) {
    auto value = whole_number<std::uint32_t>(text, 0);
    if (!value && text != word)
      throw CLI::ValidationError(name, fmt::format("\"{}\" should be a whole number or \"{}\"", text, word));
    take(value);
  };
  return app.add_option_function<std::string>(name, parse, with_default(description, standard))
      ->type_name(fmt::format("N|{}", word));
}

template <class Value>
using choices = std::vector<std::pair<std::string, Value>>;

/// An option that takes one of a few words.
template <class Value>
CLI::Option* add_choice(CLI::App& app, const char* name, const choices<std::type_identity_t<Value>>& all, Value& target,
                        const char* description) {
  std::string words, standard;
  for (const auto& [word, value] : all) {
    words += fmt::format("{}{}", words.empty() ? "" : "|", word);
    standard = value == target ? word : standard;
  }
  auto take = [=, &target](const std::string& text) {
    auto found = std::ranges::find_if(all, [&](const auto& choice) { return choice.first == text; });
    if (found == all.end())
      throw CLI::ValidationError(name, fmt::format("\"{}\" should be one of {}", text, words));
    target = found->second;
  };
  return app.add_option_function<std::string>(name, take, with_default(description, standard))->type_name(words);
}

CLI::Option* add_number(CLI::App& app, const char* name, double& target, const char* unit, bool (*right)(double),
                        const char* right_in_words, const char* description) {
  auto take = [=, &target](const double& value) {
    if (!right(value))
      throw CLI::ValidationError(name, fmt::format("{} should be {}", value, right_in_words));
    target = value;
  };
  return app.add_option_function<double>(name, take, with_default(description, fmt::format("{}", target)))
      ->type_name(unit);
}

CLI::Option* add_chance(CLI::App& app, const char* name, double& target, const char* description) {
  return add_number(
      app, name, target, "CHANCE", [](double value) { return value >= 0.0 && value <= 1.0; }, "a chance from 0 to 1",
      description);
}

void add_workload(CLI::App& app, serve_options& o) {
  app.add_option("--workload", o.workload,
                 "requests to serve, Mooncake JSON lines or Azure CSV; found as given, in $KVFERRY_TRACES, or in "
                 "../shared/traces beside the project")
      ->type_name("FILE");
  app.add_option("--scenario", o.scenario,
                 "steps to do and what must hold, instead of a workload; prints the page "
                 "table after each")
      ->type_name("FILE");
  auto take = [&o](auto count) { o.requests_max = count ? *count : std::numeric_limits<std::uint64_t>::max(); };
  add_count_or(app, "--requests", "all", "all", take, "requests to take from the front of the file");
  add_number(
      app, "--time-scale", o.time_scale, "FACTOR", [](double value) { return value > 0.0; }, "more than 0",
      "divides arrival times: 40 makes 40 times the load");
  app.add_flag("--skip-bad", o.skip_bad, "count bad rows of the workload and go on");
}

/// Options that a configuration file replaces.
std::vector<CLI::Option*> add_runtime(CLI::App& app, serve_options& o) {
  auto take_groups = [&o](const std::string& text) {
    auto groups = parse_groups(text);
    if (!groups)
      throw CLI::ValidationError("--groups", groups.error().message);
    o.groups = *groups;
  };
  return {
      add_count(app, "--tokens-per-block", o.tokens_per_block, 1u, "TOKENS", "tokens in one block, a power of two"),
      app.add_option_function<std::string>(
             "--groups", take_groups,
             with_default("layer groups: kind : buffers x bytes per slot : window in tokens", default_groups))
          ->type_name("GROUP,..."),
      add_count(app, "--gpu-slots", o.gpu_slots, 1u, "SLOTS", "GPU slots of each group"),
      add_count(app, "--host-slots", o.host_slots, 0u, "SLOTS", "host slots of each group"),
      add_count_or(
          app, "--defer-steps-max", "never", "32", [&o](auto steps) { o.defer_steps_max = steps; },
          "publications after which a deferred block is copied although others still need it on the GPU"),
      add_choice(app, "--on-host-full",
                 {{"refuse", kvferry::host_full_policy::refuse}, {"defer", kvferry::host_full_policy::defer}},
                 o.on_host_full, "decode entry when the host pool is short"),
      add_choice(app, "--scheduler",
                 {{"stepped", kvferry::scheduler_kind::stepped}, {"threaded", kvferry::scheduler_kind::threaded}},
                 o.scheduler, "how actors run: on the engine's thread or on CAF's"),
      add_choice(app, "--order", {{"fifo", kvferry::delivery_order::fifo}, {"random", kvferry::delivery_order::random}},
                 o.order, "which stream of the device goes on next, and with --scheduler stepped which message"),
      add_count(app, "--seed", o.seed, std::uint64_t{0}, "N", "of all that is random"),
  };
}

void add_engine(CLI::App& app, serve_options& o) {
  add_count(app, "--step-ms", o.step_ms, 1u, "MS", "virtual time of a step, in milliseconds");
  add_count(app, "--prefill-tokens", o.prefill_tokens, 1u, "TOKENS",
            "tokens prefilled in a step, by all requests together");
  add_count(app, "--rows", o.rows, 1u, "ROWS", "rows of the batch: requests at once");
  add_count(app, "--steps-in-flight", o.steps_in_flight, 1u, "STEPS", "steps launched before the oldest is retired");
  add_choice(app, "--device", {{"host", device_kind::host}, {"cuda", device_kind::cuda}}, o.device,
             "where pages live; host: an emulated GPU");
  add_count(app, "--gpu", o.gpu, 0u, "N", "which GPU, with --device cuda");
}

void add_checks(CLI::App& app, serve_options& o, std::optional<kvferry::order_check>& check) {
  add_choice(app, "--verify", {{"all", verify_mode::all}, {"sampled", verify_mode::sampled}, {"off", verify_mode::off}},
             o.verify, "pages compared each step: every one, one row and entry in 16, none");
  add_choice<std::optional<kvferry::order_check>>(app, "--check-order",
                                                  {{"all", kvferry::order_check::all},
                                                   {"sampled", kvferry::order_check::sampled},
                                                   {"off", kvferry::order_check::off}},
                                                  check, "accesses whose order on the device is checked [as --verify]");
  add_chance(app, "--fail-copies", o.fail_copies, "chance that a page copy fails");
  add_chance(app, "--abort", o.abort, "chance that a running request is aborted, per step");
  add_chance(app, "--suspend", o.suspend, "chance that a running request is suspended, per step");
}

CLI::Option* add_files(CLI::App& app, serve_options& o) {
  app.add_option("--record", o.record, "every message, as JSON lines")->type_name("FILE");
  app.add_option("--report", o.report, "the numbers of the run, as JSON")->type_name("FILE.json");
#ifdef KVFERRY_TEST_HOOKS
  app.add_option("--plant", o.plant, "a fault to plant")->type_name("NAME")->group(""); // not shown in the help
#endif
  return app.add_option("--config", o.config, "the runtime's configuration as JSON, instead of options about it")
      ->type_name("FILE");
}

kvferry::order_check check_like(verify_mode verify) {
  switch (verify) {
  case verify_mode::all: return kvferry::order_check::all;
  case verify_mode::sampled: return kvferry::order_check::sampled;
  case verify_mode::off: break;
  }
  return kvferry::order_check::off;
}

} // namespace

tl::expected<serve_options, usage_stop> parse_options(int argc, const char* const* argv) {
  serve_options options;
  options.groups = *parse_groups(default_groups);
  std::optional<kvferry::order_check> check;
  CLI::App app{"Serves a workload through kvferry on an emulated GPU, and checks every byte that attention would read.",
               "kvferry-serve"};
  app.get_formatter()->column_width(36);
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast); // a script's can be overridden
  add_workload(app, options);
  std::vector<CLI::Option*> replaced = add_runtime(app, options);
  add_engine(app, options);
  add_checks(app, options, check);
  CLI::Option* config = add_files(app, options);
  try {
    app.parse(argc, argv);
    if (options.workload.empty() && options.scenario.empty())
      throw CLI::RequiredError("--workload");
    if (!options.workload.empty() && !options.scenario.empty())
      throw CLI::ValidationError("--scenario", "should be left out: --workload says what to run");
    options.order_given = app.count("--order") > 0;
    options.seed_given = app.count("--seed") > 0;
    for (const CLI::Option* option : replaced)
      if (*config && *option)
        throw CLI::ValidationError(option->get_name(), "should be left out: --config says it");
  } catch (const CLI::ParseError& stop) {
    std::ostringstream text;
    bool wrong = app.exit(stop, text, text) != 0;
    return tl::unexpected(usage_stop{wrong ? 2 : 0, text.str()});
  }
  options.check_order = check.value_or(check_like(options.verify));
  return options;
}

kvferry::expected<kvferry::configuration> configuration_of(const serve_options& options) {
  if (!options.config.empty()) {
    auto config = kvferry::load_configuration(options.config);
    if (config && !options.record.empty())
      config->record_path = options.record;
    return config;
  }
  kvferry::configuration config;
  config.tokens_per_block = options.tokens_per_block;
  config.groups = group_configs(options.groups, options.gpu_slots, options.host_slots);
  config.defer_steps_max = options.defer_steps_max;
  config.on_host_full = options.on_host_full;
  config.scheduler = options.scheduler;
  config.order = options.order;
  config.seed = options.seed;
  config.record_path = options.record;
  return config;
}

} // namespace serve
