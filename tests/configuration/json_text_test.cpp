#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

#include "kvferry/configuration.hpp"
#include "runtime/configuration_json.hpp"
#include "tests/catch.hpp"
#include "tests/configuration/valid_configuration.hpp"

using namespace kvferry;
using kvferry::test::ContainsSubstring;
using kvferry::test::StartsWith;
using kvferry::test::valid_configuration;
using kvferry::test::valid_json;

namespace {

/// A file in the temporary folder, gone with this.
class scratch_file {
public:
  explicit scratch_file(std::string_view text)
      : path(std::filesystem::temp_directory_path() / ("kvferry_json_text_" + std::to_string(getpid()) + ".json")) {
    std::ofstream{path, std::ios::binary} << text;
  }
  ~scratch_file() { std::filesystem::remove(path); }

  const std::filesystem::path path;
};

std::string syntax_refusal(std::string_view text) {
  const auto result = parse_configuration(text, "engine.json");
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().code == error_code::invalid_configuration);
  return result.error().message;
}

/// No default is left in it but where there is no other value.
configuration unusual_configuration() {
  configuration config = valid_configuration();
  config.tokens_per_block = 16;
  config.groups[0].buffers[0].slot_stride_bytes = 8192;
  config.defer_steps_max = 5;
  config.on_host_full = host_full_policy::defer;
  config.on_host_hit = host_hit_policy::recompute;
  config.copy_retries = 9;
  config.router_events_max = 7;
  config.scheduler = scheduler_kind::threaded;
  config.order = delivery_order::random;
  config.seed = 18'446'744'073'709'551'615ULL;
  config.worker_threads = 3;
  return config;
}

} // namespace

TEST_CASE("a configuration is written with every field in the order of the structs") {
  CHECK(
      to_json_text(unusual_configuration()) ==
      R"({"tokens_per_block":16,"groups":[)"
      R"({"name":"full","kind":"sparse","window_tokens":0,"buffers":[)"
      R"({"name":"k","bytes_per_slot":4096,"slot_stride_bytes":8192},)"
      R"({"name":"v","bytes_per_slot":4096,"slot_stride_bytes":0}],"gpu_slots":100,"host_slots":400},)"
      R"({"name":"sliding","kind":"dense","window_tokens":4096,"buffers":[)"
      R"({"name":"kv","bytes_per_slot":2048,"slot_stride_bytes":0}],"gpu_slots":50,"host_slots":0}],)"
      R"("defer_steps_max":5,"on_host_full":"defer","on_host_hit":"recompute","copy_retries":9,"router_events_max":7,)"
      R"("scheduler":"threaded","order":"random","seed":18446744073709551615,"worker_threads":3})");
}

TEST_CASE("a configuration that was written reads as the same") {
  for (configuration config : {valid_configuration(), unusual_configuration()})
    for (const std::optional<std::uint32_t> bound : {std::optional<std::uint32_t>{0}, {32}, {}}) {
      config.defer_steps_max = bound;
      const std::string text = to_json_text(config);
      const auto read = parse_configuration(text);
      REQUIRE(read.has_value());
      CHECK(read->defer_steps_max == bound);
      CHECK(to_json_text(*read) == text);
    }
}

TEST_CASE("what belongs to one process or machine is not written") {
  configuration config = valid_configuration();
  const std::string text = to_json_text(config);
  config.record_path = "run.jsonl";
  config.groups[1].buffers[0].base_address = 4096;
  CHECK(to_json_text(config) == text);
}

TEST_CASE("a name that is no text is written as such") {
  configuration config = valid_configuration();
  config.groups[0].name = "full\xff";
  CHECK_THAT(to_json_text(config), ContainsSubstring("\"name\":\"full\xEF\xBF\xBD\""));
}

TEST_CASE("a syntax error is named with its line and column") {
  CHECK_THAT(syntax_refusal("{\n  \"tokens_per_block\": 64,\n  \"groups\": [}\n}"),
             StartsWith("engine.json: parse error at line 3, column 14: "));
  CHECK_THAT(syntax_refusal(""), StartsWith("engine.json: parse error at line 1, column 1: "));
  CHECK_THAT(syntax_refusal("{\"tokens_per_block\": 64"),
             StartsWith("engine.json: parse error at line 1, column 24: "));
  CHECK_THAT(syntax_refusal("{\"name\": \"\xff\"}"), ContainsSubstring("ill-formed UTF-8"));
  CHECK_THAT(syntax_refusal("{} {}"), StartsWith("engine.json: parse error at line 1, column 4: "));
}

TEST_CASE("a text that is nested too deep for a stack is refused like any other") {
  const std::string open(100'000, '[');
  CHECK_THAT(syntax_refusal(open), StartsWith("engine.json: parse error"));
  CHECK(syntax_refusal(open + std::string(100'000, ']')) ==
        "engine.json: the text is a list of 1, but must be an object");
}

TEST_CASE("a configuration is loaded from a file") {
  const scratch_file file{valid_json};
  const auto config = load_configuration(file.path);
  REQUIRE(config.has_value());
  CHECK(config->groups[1].name == "sliding");
}

TEST_CASE("an error in a file names the file and the field") {
  const scratch_file file{R"({"tokens_per_block": 64, "groups": 5})"};
  const auto result = load_configuration(file.path);
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().code == error_code::invalid_configuration);
  CHECK(result.error().message == file.path.string() + ": groups is 5, but must be a list of objects");
}

TEST_CASE("a file that cannot be read is an error of input and output") {
  const auto missing = load_configuration("no/such/file.json");
  REQUIRE_FALSE(missing.has_value());
  CHECK(missing.error().code == error_code::io_error);
  CHECK(missing.error().message == "no/such/file.json: cannot be opened");

  const auto folder = load_configuration(std::filesystem::temp_directory_path());
  REQUIRE_FALSE(folder.has_value());
  CHECK(folder.error().code == error_code::io_error);
  CHECK_THAT(folder.error().message, ContainsSubstring(": is a folder, but must be a JSON file"));

  const auto endless = load_configuration("/dev/zero");
  REQUIRE_FALSE(endless.has_value());
  CHECK(endless.error().message == "/dev/zero: is larger than 16777216 bytes, the most that a configuration takes");
}
