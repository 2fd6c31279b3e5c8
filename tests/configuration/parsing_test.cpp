#include <string>
#include <vector>

#include "kvferry/configuration.hpp"
#include "tests/catch.hpp"
#include "tests/configuration/valid_configuration.hpp"

using namespace kvferry;
using kvferry::test::ContainsSubstring;
using kvferry::test::replaced;
using kvferry::test::StartsWith;
using kvferry::test::valid_json;

namespace {

std::string refusal(std::string_view json) {
  const auto result = parse_configuration(json, "engine.json");
  if (result)
    return "accepted";
  CHECK(result.error().code == error_code::invalid_configuration);
  return result.error().message;
}

struct change {
  std::string part, by, message;
};

/// Makes one change at a time to the valid text.
void check_refused(const std::vector<change>& changes) {
  for (const auto& [part, by, message] : changes) {
    CAPTURE(part, by);
    CHECK(refusal(replaced(valid_json, part, by)) == "engine.json: " + message);
  }
}

} // namespace

TEST_CASE("fields that are given and defaults of those that are not become a configuration") {
  const auto config = parse_configuration(valid_json);
  REQUIRE(config.has_value());
  CHECK(config->tokens_per_block == 64);
  REQUIRE(config->groups.size() == 2);
  CHECK(config->groups[0].name == "full");
  CHECK(config->groups[0].kind == group_kind::sparse);
  REQUIRE(config->groups[0].buffers.size() == 2);
  CHECK(config->groups[0].buffers[1].name == "v");
  CHECK(config->groups[0].buffers[1].bytes_per_slot == 4096);
  CHECK(config->groups[0].gpu_slots == 100);
  CHECK(config->groups[0].host_slots == 400);
  CHECK(config->groups[1].kind == group_kind::dense);
  CHECK(config->groups[1].window_tokens == 4096);
  CHECK(config->groups[1].host_slots == 0);
  CHECK(config->defer_steps_max == 32u);
  CHECK(config->on_host_full == host_full_policy::refuse);
  CHECK(config->copy_retries == 3);
  CHECK(config->record_path.empty());
}

TEST_CASE("every policy can be given") {
  const auto config = parse_configuration(replaced(valid_json, R"("tokens_per_block": 64,)", R"(
    "tokens_per_block": 16, "defer_steps_max": 0, "on_host_full": "defer", "on_host_hit": "recompute",
    "copy_retries": 7, "scheduler": "threaded", "order": "random", "seed": 18446744073709551615,
    "worker_threads": 5, "record_path": "run.jsonl",)"));
  REQUIRE(config.has_value());
  CHECK(config->tokens_per_block == 16);
  CHECK(config->defer_steps_max == 0u);
  CHECK(config->on_host_full == host_full_policy::defer);
  CHECK(config->on_host_hit == host_hit_policy::recompute);
  CHECK(config->copy_retries == 7);
  CHECK(config->scheduler == scheduler_kind::threaded);
  CHECK(config->order == delivery_order::random);
  CHECK(config->seed == 18'446'744'073'709'551'615ULL);
  CHECK(config->worker_threads == 5);
  CHECK(config->record_path == "run.jsonl");
}

TEST_CASE("never is a bound of deferral") {
  const auto config = parse_configuration(
      replaced(valid_json, R"("tokens_per_block": 64,)", R"("tokens_per_block": 64, "defer_steps_max": "never",)"));
  REQUIRE(config.has_value());
  CHECK_FALSE(config->defer_steps_max.has_value());
}

TEST_CASE("an engine buffer can be given by its address and stride") {
  const auto config = parse_configuration(replaced(
      valid_json, R"({"name": "kv", "bytes_per_slot": 2048})",
      R"({"name": "kv", "bytes_per_slot": 2048, "base_address": 140737488355328, "slot_stride_bytes": 4096})"));
  REQUIRE(config.has_value());
  CHECK(config->groups[1].buffers[0].base_address == 0x8000'0000'0000);
  CHECK(config->groups[1].buffers[0].slot_stride_bytes == 4096);
}

TEST_CASE("a required field that is missing is named with its path and what it takes") {
  check_refused({
      {R"("tokens_per_block": 64,)", "", "tokens_per_block is missing, but must be an integer from 0 to 4294967295"},
      {R"("name": "sliding",)", "", "groups[1].name is missing, but must be a string"},
      {R"("kind": "dense",)", "", R"(groups[1].kind is missing, but must be "sparse" or "dense")"},
      {R"("buffers": [{"name": "kv", "bytes_per_slot": 2048}],)", "",
       "groups[1].buffers is missing, but must be a list of objects"},
      {R"("gpu_slots": 100,)", "", "groups[0].gpu_slots is missing, but must be an integer from 0 to 4294967295"},
      {R"("name": "v", )", "", "groups[0].buffers[1].name is missing, but must be a string"},
      {R"({"name": "kv", "bytes_per_slot": 2048})", R"({"name": "kv"})",
       "groups[1].buffers[0].bytes_per_slot is missing, but must be an integer from 0 to 18446744073709551615"},
  });
  CHECK(refusal("{}") == "engine.json: tokens_per_block is missing, but must be an integer from 0 to 4294967295");
  CHECK(refusal(R"({"tokens_per_block": 64})") == "engine.json: groups is missing, but must be a list of objects");
}

TEST_CASE("a field that is unknown is named with its path and the fields there are") {
  check_refused({
      {R"("gpu_slots": 50)", R"("gpu_slot": 50)",
       "groups[1].gpu_slot is unknown (found 50), but must be one of name, kind, window_tokens, buffers, gpu_slots, "
       "host_slots"},
      {R"("name": "kv")", R"("name": "kv", "dtype": "fp8")",
       "groups[1].buffers[0].dtype is unknown (found \"fp8\"), but must be one of name, bytes_per_slot, base_address, "
       "slot_stride_bytes"},
      {R"("tokens_per_block": 64)", R"("tokens_per_block": 64, "beam_width": 1)",
       "beam_width is unknown (found 1), but must be one of tokens_per_block, groups, defer_steps_max, on_host_full, "
       "on_host_hit, copy_retries, router_events_max, scheduler, order, seed, worker_threads, record_path"},
  });
}

TEST_CASE("a value of the wrong type is named with its path and what was found") {
  const std::string any_u32 = "an integer from 0 to 4294967295";
  check_refused({
      {R"("gpu_slots": 50)", R"("gpu_slots": "50")", R"(groups[1].gpu_slots is "50", but must be )" + any_u32},
      {R"("gpu_slots": 50)", R"("gpu_slots": 50.5)", "groups[1].gpu_slots is 50.5, but must be " + any_u32},
      {R"("gpu_slots": 50)", R"("gpu_slots": -50)", "groups[1].gpu_slots is -50, but must be " + any_u32},
      {R"("gpu_slots": 50)", R"("gpu_slots": 4294967296)", "groups[1].gpu_slots is 4294967296, but must be " + any_u32},
      {R"("gpu_slots": 50)", R"("gpu_slots": null)", "groups[1].gpu_slots is null, but must be " + any_u32},
      {R"("gpu_slots": 50)", R"("gpu_slots": [50])", "groups[1].gpu_slots is a list of 1, but must be " + any_u32},
      {R"("bytes_per_slot": 2048)", R"("bytes_per_slot": -2048)",
       "groups[1].buffers[0].bytes_per_slot is -2048, but must be an integer from 0 to 18446744073709551615"},
      {R"("bytes_per_slot": 2048)", R"("bytes_per_slot": 18446744073709551616)",
       "groups[1].buffers[0].bytes_per_slot is 1.8446744073709552e+19, but must be an integer from 0 to "
       "18446744073709551615"},
      {R"("name": "kv")", R"("name": 5)", "groups[1].buffers[0].name is 5, but must be a string"},
      {R"("kind": "dense")", R"("kind": "Dense")", R"(groups[1].kind is "Dense", but must be "sparse" or "dense")"},
      {R"("kind": "dense")", R"("kind": 1)", R"(groups[1].kind is 1, but must be "sparse" or "dense")"},
      {R"([{"name": "kv", "bytes_per_slot": 2048}])", R"({"name": "kv", "bytes_per_slot": 2048})",
       "groups[1].buffers is an object, but must be a list of objects"},
      {R"([{"name": "kv", "bytes_per_slot": 2048}])", R"(["kv"])",
       R"(groups[1].buffers[0] is "kv", but must be an object)"},
      {R"("tokens_per_block": 64,)", R"("tokens_per_block": 64, "defer_steps_max": "ever",)",
       R"(defer_steps_max is "ever", but must be )" + any_u32 + R"( or "never")"},
      {R"("tokens_per_block": 64,)", R"("tokens_per_block": 64, "record_path": false,)",
       "record_path is false, but must be a string"},
  });
  CHECK(refusal("[]") == "engine.json: the text is a list of 0, but must be an object");
  CHECK(refusal("7") == "engine.json: the text is 7, but must be an object");
}

TEST_CASE("a value that can be read but not be right is refused as in a struct") {
  check_refused({
      {R"({"name": "kv", "bytes_per_slot": 2048})", R"({"name": "kv", "bytes_per_slot": 0})",
       "groups[1].buffers[0].bytes_per_slot is 0, but must be at least 1"},
      {R"("host_slots": 400)", R"("host_slots": 0)",
       "groups[0].host_slots is 0, but must be at least 1: the group is sparse, so its history moves to a host pool"},
  });
}

TEST_CASE("a field that is given twice is refused with its path") {
  check_refused({
      {R"("gpu_slots": 50)", R"("gpu_slots": 50, "gpu_slots": 60)",
       "groups[1].gpu_slots is given twice, but must be given once"},
      {R"("name": "v")", R"("name": "v", "name": "v")",
       "groups[0].buffers[1].name is given twice, but must be given once"},
      {R"("tokens_per_block": 64)", R"("tokens_per_block": 64, "tokens_per_block": 64)",
       "tokens_per_block is given twice, but must be given once"},
  });
}

TEST_CASE("a long value is cut in the error") {
  const std::string message = refusal(replaced(valid_json, R"("dense")", "\"" + std::string(10'000, 'x') + "\""));
  CHECK_THAT(message, StartsWith("engine.json: groups[1].kind is \"xxx"));
  CHECK_THAT(message, ContainsSubstring("xxx..., but must be \"sparse\" or \"dense\""));
  CHECK(message.size() < 200);
}
