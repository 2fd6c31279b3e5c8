// The command line: defaults, what each wrong value is told, and the configuration that comes of it.
#include "examples/serve/options.hpp"

#include "tests/catch.hpp"

namespace serve::test {

using kvferry::delivery_order;
using kvferry::host_full_policy;
using kvferry::order_check;
using kvferry::scheduler_kind;
using kvferry::test::ContainsSubstring;

namespace {

tl::expected<serve_options, usage_stop> parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "kvferry-serve");
  return parse_options(static_cast<int>(arguments.size()), arguments.data());
}

} // namespace

TEST_CASE("the defaults are those that the help shows") {
  auto o = parse({"--workload", "w"});
  REQUIRE(o);
  REQUIRE(o->workload == "w");
  REQUIRE(o->requests_max == std::numeric_limits<std::uint64_t>::max());
  REQUIRE(o->time_scale == 1.0);
  REQUIRE(o->tokens_per_block == 64);
  REQUIRE(o->step_ms == 30);
  REQUIRE(o->prefill_tokens == 8192);
  REQUIRE(o->rows == 256);
  REQUIRE(o->groups == *parse_groups("sparse:2x256,sparse:1x256,dense:1x256:window=4096"));
  REQUIRE(o->gpu_slots == 12288);
  REQUIRE(o->host_slots == 49152);
  REQUIRE(o->steps_in_flight == 2);
  REQUIRE(o->scheduler == scheduler_kind::stepped);
  REQUIRE(o->order == delivery_order::fifo);
  REQUIRE(o->seed == 1);
  REQUIRE(o->verify == verify_mode::all);
  REQUIRE(o->check_order == order_check::all);
  REQUIRE(o->fail_copies == 0.0);
  REQUIRE(o->abort == 0.0);
  REQUIRE(o->suspend == 0.0);
  REQUIRE(o->defer_steps_max == 32);
  REQUIRE(o->on_host_full == host_full_policy::refuse);
  REQUIRE_FALSE(o->skip_bad);

  auto help = parse({"--help"});
  REQUIRE_FALSE(help);
  REQUIRE(help.error().status == 0);
  for (const char* shown : {"--requests N|all",
                            "file [all]",
                            "--step-ms MS",
                            "[30]",
                            "--prefill-tokens TOKENS",
                            "[8192]",
                            "--rows ROWS",
                            "[256]",
                            "[sparse:2x256,sparse:1x256,dense:1x256:window=4096]",
                            "--gpu-slots SLOTS",
                            "[12288]",
                            "[49152]",
                            "--steps-in-flight STEPS",
                            "fifo|random",
                            "[fifo]",
                            "all|sampled|off",
                            "as --verify",
                            "--defer-steps-max N|never",
                            "[32]",
                            "refuse",
                            "--record FILE",
                            "--report FILE.json",
                            "--config FILE",
                            "--time-scale",
                            "--skip-bad"})
    REQUIRE_THAT(help.error().text, ContainsSubstring(shown));
  REQUIRE(help.error().text.find("--plant") == std::string::npos);
}

TEST_CASE("a scenario is run instead of a workload, with an order of its own unless one is given") {
  auto o = parse({"--scenario", "s.json"});
  REQUIRE(o);
  REQUIRE(o->scenario == "s.json");
  REQUIRE_FALSE(o->order_given);
  REQUIRE_FALSE(o->seed_given);
  auto random = parse({"--scenario", "s.json", "--order", "random", "--seed", "7"});
  REQUIRE(random);
  REQUIRE(random->order_given);
  REQUIRE(random->seed_given);

  auto both = parse({"--scenario", "s.json", "--workload", "w"});
  REQUIRE_FALSE(both);
  REQUIRE(both.error().status == 2);
  REQUIRE_THAT(both.error().text, ContainsSubstring("--scenario"));
  auto neither = parse({});
  REQUIRE_FALSE(neither);
  REQUIRE(neither.error().status == 2);
  REQUIRE_THAT(neither.error().text, ContainsSubstring("--workload is required"));
}

TEST_CASE("every option is taken") {
  auto o = parse({"--workload",
                  "w",
                  "--requests",
                  "20",
                  "--time-scale",
                  "40",
                  "--tokens-per-block",
                  "16",
                  "--step-ms",
                  "10",
                  "--prefill-tokens",
                  "100",
                  "--rows",
                  "4",
                  "--groups",
                  "sparse:1x8",
                  "--gpu-slots",
                  "9",
                  "--host-slots",
                  "0",
                  "--steps-in-flight",
                  "3",
                  "--device",
                  "host",
                  "--scheduler",
                  "threaded",
                  "--order",
                  "random",
                  "--seed",
                  "7",
                  "--verify",
                  "sampled",
                  "--check-order",
                  "off",
                  "--fail-copies",
                  "0.01",
                  "--abort",
                  "0.001",
                  "--suspend",
                  "0.002",
                  "--defer-steps-max",
                  "never",
                  "--on-host-full",
                  "defer",
                  "--record",
                  "r",
                  "--report",
                  "p",
                  "--skip-bad"});
  REQUIRE(o);
  REQUIRE(o->requests_max == 20);
  REQUIRE(o->time_scale == 40.0);
  REQUIRE(o->rows == 4);
  REQUIRE(o->steps_in_flight == 3);
  REQUIRE(o->verify == verify_mode::sampled);
  REQUIRE(o->check_order == order_check::off);
  REQUIRE(o->fail_copies == 0.01);
  REQUIRE(o->abort == 0.001);
  REQUIRE(o->suspend == 0.002);
  REQUIRE(o->report == "p");
  REQUIRE(o->skip_bad);

  auto config = configuration_of(*o);
  REQUIRE(config);
  REQUIRE(config->tokens_per_block == 16);
  REQUIRE(config->groups.size() == 1);
  REQUIRE(config->groups[0].gpu_slots == 9);
  REQUIRE(config->groups[0].host_slots == 0);
  REQUIRE(config->defer_steps_max == std::nullopt);
  REQUIRE(config->on_host_full == host_full_policy::defer);
  REQUIRE(config->scheduler == scheduler_kind::threaded);
  REQUIRE(config->order == delivery_order::random);
  REQUIRE(config->seed == 7);
  REQUIRE(config->record_path == "r");
}

TEST_CASE("the order check goes with the verification unless it is chosen") {
  REQUIRE(parse({"--workload", "w", "--verify", "off"})->check_order == order_check::off);
  REQUIRE(parse({"--workload", "w", "--verify", "sampled"})->check_order == order_check::sampled);
  REQUIRE(parse({"--workload", "w", "--verify", "off", "--check-order", "all"})->check_order == order_check::all);
}

TEST_CASE("of an option given twice the last counts, so that a script's can be overridden") {
  REQUIRE(parse({"--workload", "w", "--gpu-slots", "3", "--workload", "v", "--gpu-slots", "4"})->gpu_slots == 4);
  REQUIRE(parse({"--workload", "w", "--workload", "v"})->workload == "v");
}

TEST_CASE("a wrong command line is refused with the option's name and status 2") {
  struct wrong {
    std::vector<const char*> arguments;
    const char* part;
  };
  auto w = GENERATE(values<wrong>({
      {{}, "--workload"},
      {{"--workload", "w", "--wat"}, "--wat"},
      {{"--workload", "w", "--requests", "some"}, "--requests: \"some\" should be a whole number or \"all\""},
      {{"--workload", "w", "--rows", "0"}, "--rows: \"0\" should be a whole number from 1"},
      {{"--workload", "w", "--rows", "-1"}, "--rows"},
      {{"--workload", "w", "--steps-in-flight", "0"}, "--steps-in-flight"},
      {{"--workload", "w", "--time-scale", "0"}, "--time-scale"},
      {{"--workload", "w", "--abort", "1.5"}, "--abort: 1.5 should be a chance from 0 to 1"},
      {{"--workload", "w", "--verify", "some"}, "--verify: \"some\" should be one of all|sampled|off"},
      {{"--workload", "w", "--device", "gpu"}, "--device: \"gpu\" should be one of host|cuda"},
      {{"--workload", "w", "--groups", "sparse:2y256"}, "--groups: in \"sparse:2y256\": \"2y256\" should be"},
      {{"--workload", "w", "--defer-steps-max", "x"}, "--defer-steps-max"},
      {{"--workload", "w", "--config", "c.json", "--gpu-slots", "3"}, "--gpu-slots: should be left out"},
  }));
  auto o = parse(w.arguments);
  REQUIRE_FALSE(o);
  REQUIRE(o.error().status == 2);
  REQUIRE_THAT(o.error().text, ContainsSubstring(w.part));
}

} // namespace serve::test
