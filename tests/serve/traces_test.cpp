// The real traces, where they are there: the counts that their description gives.
#include <algorithm>
#include <map>

#include "examples/serve/workload.hpp"
#include "tests/catch.hpp"

namespace serve::test {
namespace {

/// The trace; none: it is not on this machine.
std::optional<workload> trace(const char* name) {
  auto file = find_workload(name);
  if (!file) {
    WARN("skipped: " << file.error().message);
    return std::nullopt;
  }
  auto loaded = read_workload(*file);
  REQUIRE(loaded);
  return *loaded;
}

} // namespace

TEST_CASE("the Mooncake conversation trace is read whole, with the lengths that its description gives") {
  auto loaded = trace("mooncake_conversation.jsonl");
  if (!loaded) {
    SUCCEED();
    return;
  }
  std::uint64_t prompt_tokens = 0, output_tokens = 0;
  std::uint32_t longest = 0;
  for (const workload_request& request : loaded->requests) {
    prompt_tokens += request.prompt_tokens;
    output_tokens += request.output_tokens;
    longest = std::max(longest, request.prompt_tokens);
    REQUIRE(request.blocks.front() == 0);
  }
  REQUIRE(loaded->requests.size() == 12'031);
  REQUIRE(prompt_tokens / loaded->requests.size() == 12'035);
  REQUIRE(output_tokens == 4'122'048);
  REQUIRE(longest == 126'195);
  REQUIRE(loaded->requests.back().arrival_us / 1'000'000 <= 3'537);
}

TEST_CASE("each block of the Mooncake trace has one position and one predecessor, so equal ids are equal prefixes") {
  auto loaded = trace("mooncake_conversation.jsonl");
  if (!loaded) {
    SUCCEED();
    return;
  }
  std::map<std::uint64_t, std::pair<std::size_t, std::uint64_t>> places;
  std::uint64_t differ = 0;
  for (const workload_request& request : loaded->requests)
    for (std::size_t i = 0; i < request.blocks.size(); ++i) {
      std::pair place{i, i == 0 ? 0 : request.blocks[i - 1]};
      differ += places.emplace(request.blocks[i], place).first->second != place;
    }
  REQUIRE(differ == 0);
}

TEST_CASE("the Azure code trace is read whole, though its last row has no newline") {
  auto loaded = trace("azure_code_2023.csv");
  if (!loaded) {
    SUCCEED();
    return;
  }
  REQUIRE(loaded->requests.size() == 8'819);
  REQUIRE(loaded->requests.front().arrival_us == 0);
  REQUIRE(loaded->requests.back().arrival_us / 1'000'000 == 3'435);
  REQUIRE(loaded->requests.back().prompt_tokens == 549);
  REQUIRE(loaded->requests.back().output_tokens == 173);
}

} // namespace serve::test
