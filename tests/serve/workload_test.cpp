// Both formats of a workload: what good rows become, and what is said of each kind of bad one.
#include "examples/serve/workload.hpp"

#include <fstream>
#include <string>

#include "tests/catch.hpp"
#include "tests/serve/scratch_file.hpp"

namespace serve::test {

using kvferry::error_code;
using kvferry::test::ContainsSubstring;

namespace {

const std::string header = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
const std::string good_row = R"({"timestamp": 5, "input_length": 513, "output_length": 2, "hash_ids": [0, 7]})";

kvferry::expected<workload> read(const std::string& text, const workload_options& options = {}) {
  scratch_file file("workload_test.trace", text);
  return read_workload(file.path(), options);
}

std::string message_of(const std::string& text) {
  auto loaded = read(text);
  REQUIRE_FALSE(loaded);
  REQUIRE(loaded.error().code == error_code::invalid_argument);
  return loaded.error().message;
}

} // namespace

TEST_CASE("a Mooncake row becomes a request with its blocks, and fields that are not ours do not matter") {
  auto loaded =
      read(R"({"timestamp": 27, "input_length": 1024, "output_length": 9, "hash_ids": [3, 182753], "model": "m"})");
  REQUIRE(loaded);
  REQUIRE(loaded->requests.size() == 1);
  const workload_request& request = loaded->requests[0];
  REQUIRE(request.arrival_us == 27'000);
  REQUIRE(request.prompt_tokens == 1024);
  REQUIRE(request.output_tokens == 9);
  REQUIRE(request.blocks == std::vector<std::uint64_t>{3, 182753});
}

TEST_CASE("Azure rows count from the first, with or without a newline at the end and a carriage return") {
  auto loaded = read("TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
                     "2023-11-16 23:59:59.9799600,4808,10\r\n"
                     "2023-11-17 00:00:00,3180,8\r\n"
                     "2023-11-17 00:00:01.5,1,1");
  REQUIRE(loaded);
  REQUIRE(loaded->requests.size() == 3);
  REQUIRE(loaded->requests[0].arrival_us == 0);
  REQUIRE(loaded->requests[1].arrival_us == 20'040);
  REQUIRE(loaded->requests[2].arrival_us == 1'520'040);
  REQUIRE(loaded->requests[0].prompt_tokens == 4808);
  REQUIRE(loaded->requests[0].blocks.empty());
}

TEST_CASE("requests come by arrival, those of one moment in the order of the file") {
  auto row = [](int ms, int tokens) {
    return R"({"timestamp": )" + std::to_string(ms) + R"(, "input_length": )" + std::to_string(tokens) +
           R"(, "output_length": 1, "hash_ids": [1]})" + "\n";
  };
  auto loaded = read(row(9, 10) + row(3, 20) + row(9, 30) + row(0, 40));
  REQUIRE(loaded);
  std::vector<std::uint32_t> order;
  for (const workload_request& request : loaded->requests)
    order.push_back(request.prompt_tokens);
  REQUIRE(order == std::vector<std::uint32_t>{40, 20, 10, 30});
}

TEST_CASE("an Azure clock that was set back puts nobody before the start") {
  auto loaded = read(header + "2023-11-16 10:00:05,1,1\n2023-11-16 10:00:00,2,1\n");
  REQUIRE(loaded);
  REQUIRE(loaded->requests[0].prompt_tokens == 2);
  REQUIRE(loaded->requests[0].arrival_us == 0);
  REQUIRE(loaded->requests[1].arrival_us == 5'000'000);
}

TEST_CASE("the time scale divides arrivals") {
  workload_options options;
  options.time_scale = 40.0;
  auto loaded = read(R"({"timestamp": 100, "input_length": 1, "output_length": 1, "hash_ids": [0]})", options);
  REQUIRE(loaded);
  REQUIRE(loaded->requests[0].arrival_us == 2'500);
}

TEST_CASE("reading stops after the rows that were asked for") {
  workload_options options;
  options.requests_max = 1;
  auto loaded = read(good_row + "\nnot looked at\n", options);
  REQUIRE(loaded);
  REQUIRE(loaded->requests.size() == 1);
}

TEST_CASE("a bad Mooncake row is named with its line, its field and what would be right") {
  struct bad_row {
    std::string text;
    std::vector<std::string> parts;
  };
  const std::string long_line(10u << 20, 'x');
  auto row = GENERATE_COPY(values<bad_row>({
      {R"({"timestamp": 5, "input_length": 513,)", {"wrong JSON at byte 38", "one object"}},
      {R"({"timestamp": 5} {})", {"wrong JSON at byte 18"}},
      {R"({"timestamp": 1e999})", {"wrong JSON", "out of range"}},
      {R"([1, 2])", {"[1,2] should be an object with timestamp, input_length, output_length and hash_ids"}},
      {R"()", {"wrong JSON at byte 1"}},
      {R"({"input_length": 1, "output_length": 2, "hash_ids": [0]})", {"timestamp: missing", "milliseconds"}},
      {R"({"timestamp": -1, "input_length": 1, "output_length": 2, "hash_ids": [0]})",
       {"timestamp: -1 should be", "not negative"}},
      {R"({"timestamp": "5", "input_length": 1, "output_length": 2, "hash_ids": [0]})", {"timestamp: \"5\" should be"}},
      {R"({"timestamp": 1e13, "input_length": 1, "output_length": 2, "hash_ids": [0]})", {"timestamp: "}},
      {R"({"timestamp": 5, "output_length": 2, "hash_ids": [0]})", {"input_length: missing", "whole number of tokens"}},
      {R"({"timestamp": 5, "input_length": -5, "output_length": 2, "hash_ids": [0]})",
       {"input_length: -5 should be a whole number of tokens from 1 to 16777216"}},
      {R"({"timestamp": 5, "input_length": 0, "output_length": 2, "hash_ids": []})", {"input_length: 0 should be"}},
      {R"({"timestamp": 5, "input_length": 7.5, "output_length": 2, "hash_ids": [0]})",
       {"input_length: 7.5 should be"}},
      {R"({"timestamp": 5, "input_length": 16777217, "output_length": 2, "hash_ids": [0]})",
       {"input_length: 16777217 should be"}},
      {R"({"timestamp": 5, "input_length": null, "output_length": 2, "hash_ids": [0]})",
       {"input_length: null should be"}},
      {R"({"timestamp": 5, "input_length": 1, "output_length": 0, "hash_ids": [0]})", {"output_length: 0 should be"}},
      {R"({"timestamp": 5, "input_length": 1, "hash_ids": [0]})", {"output_length: missing"}},
      {R"({"timestamp": 5, "input_length": 1, "output_length": 2})", {"hash_ids: missing", "list of block ids"}},
      {R"({"timestamp": 5, "input_length": 1, "output_length": 2, "hash_ids": 3})", {"hash_ids: 3 should be a list"}},
      {R"({"timestamp": 5, "input_length": 513, "output_length": 2, "hash_ids": [0]})",
       {"hash_ids: 1 ids should be 2, one per 512 tokens of input_length 513"}},
      {R"({"timestamp": 5, "input_length": 512, "output_length": 2, "hash_ids": [0, 1]})",
       {"hash_ids: 2 ids should be 1"}},
      {R"({"timestamp": 5, "input_length": 513, "output_length": 2, "hash_ids": [0, -1]})",
       {"hash_ids[1]: -1 should be"}},
      {R"({"timestamp": 5, "input_length": 1, "output_length": 2, "hash_ids": ["a"]})",
       {"hash_ids[0]: \"a\" should be"}},
      {long_line, {"the line should have no more than 1048576 bytes"}},
  }));
  CAPTURE(row.text.substr(0, 100));
  std::string message = message_of(good_row + "\n" + row.text + "\n" + good_row + "\n");
  REQUIRE_THAT(message, ContainsSubstring("workload_test.trace:2: "));
  for (const std::string& part : row.parts)
    REQUIRE_THAT(message, ContainsSubstring(part));
  REQUIRE(message.size() < 400);
}

TEST_CASE("a bad Azure row is named with its line, its field and what would be right") {
  struct bad_row {
    std::string text;
    std::string part;
  };
  auto row = GENERATE(values<bad_row>({
      {"2023-11-16 18:17:03.9799600,4808", "should be three fields, TIMESTAMP,ContextTokens,GeneratedTokens"},
      {"2023-11-16 18:17:03.9799600,4808,10,1", "should be three fields"},
      {"", "should be three fields"},
      {"2023-11-16 18:17:03.9799600,-4808,10",
       "ContextTokens: \"-4808\" should be a whole number of tokens from 1 to 16777216"},
      {"2023-11-16 18:17:03.9799600,0,10", "ContextTokens: \"0\""},
      {"2023-11-16 18:17:03.9799600,,10", "ContextTokens: \"\""},
      {"2023-11-16 18:17:03.9799600,99999999999,10", "ContextTokens: \"99999999999\""},
      {"2023-11-16 18:17:03.9799600,4808,ten", "GeneratedTokens: \"ten\""},
      {"2023-11-16 18:17:03.9799600,4808,1 ", "GeneratedTokens: \"1 \""},
      {"16.11.2023 18:17:03,4808,10", "TIMESTAMP: \"16.11.2023 18:17:03\" should be like 2023-11-16 18:17:03.9799600"},
      {"2023-13-16 18:17:03,4808,10", "TIMESTAMP: "},
      {"2023-02-29 18:17:03,4808,10", "TIMESTAMP: "},
      {"2023-11-16 24:17:03,4808,10", "TIMESTAMP: "},
      {"2023-11-16 18:17,4808,10", "TIMESTAMP: "},
      {"2023-11-16 18:17:03.,4808,10", "TIMESTAMP: "},
      {"2023-11-16 18:17:03.97996001234,4808,10", "TIMESTAMP: "},
      {"2023-11-16 18:17:03+01,4808,10", "TIMESTAMP: "},
      {",4808,10", "TIMESTAMP: \"\""},
  }));
  CAPTURE(row.text);
  std::string message =
      message_of(header + "2023-11-16 18:17:03,1,1\n" + row.text + "\n" + "2023-11-16 18:17:03,1,1\n");
  REQUIRE_THAT(message, ContainsSubstring("workload_test.trace:3: "));
  REQUIRE_THAT(message, ContainsSubstring(row.part));
}

TEST_CASE("a file that is neither format is refused by its first line, with both formats named") {
  std::string message = message_of("a,b,c\n1,2,3\n");
  REQUIRE_THAT(message, ContainsSubstring(":1: "));
  REQUIRE_THAT(message, ContainsSubstring("JSON object (Mooncake)"));
  REQUIRE_THAT(message, ContainsSubstring("TIMESTAMP,ContextTokens,GeneratedTokens (Azure)"));
}

TEST_CASE("a workload without rows is refused") {
  REQUIRE_THAT(message_of(""), ContainsSubstring("no rows"));
  REQUIRE_THAT(message_of(header), ContainsSubstring("no rows"));
}

TEST_CASE("bad rows are counted and skipped when asked to, wherever they stand") {
  workload_options options;
  options.skip_bad = true;
  std::string long_line(10u << 20, '{');
  auto loaded = read("rubbish\n" + good_row + "\n{}\n" + long_line + "\n" + good_row + "\n" + long_line, options);
  REQUIRE(loaded);
  REQUIRE(loaded->requests.size() == 2);
  REQUIRE(loaded->bad_rows == 4);

  auto none = read("{}\n{}\n", options);
  REQUIRE_FALSE(none);
  REQUIRE_THAT(none.error().message, ContainsSubstring("no rows (2 bad ones)"));
}

TEST_CASE("a file that is not there or is a folder is an error of the file system") {
  auto missing = read_workload("no/such/file");
  REQUIRE_FALSE(missing);
  REQUIRE(missing.error().code == error_code::io_error);
  REQUIRE_THAT(missing.error().message, ContainsSubstring("no/such/file"));
  auto folder = read_workload(std::filesystem::temp_directory_path());
  REQUIRE_FALSE(folder);
  REQUIRE(folder.error().code == error_code::io_error);
}

TEST_CASE("a workload that is nowhere is refused with the places that were looked at") {
  auto found = find_workload("no_such_trace.jsonl");
  REQUIRE_FALSE(found);
  REQUIRE(found.error().code == error_code::io_error);
  REQUIRE_THAT(found.error().message, ContainsSubstring("shared/traces/no_such_trace.jsonl"));
}

} // namespace serve::test
