// Random engines against the reference model. More and other seeds:
//
//   KVFERRY_PROPERTY_SECONDS=600 test_properties     goes on for that long, from a seed that it prints
//   KVFERRY_PROPERTY_SEED=7 test_properties          one seed, told command by command
//   KVFERRY_PROPERTY_CASE='setup ...' test_properties   one case as a failure prints it
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "tests/catch.hpp"
#include "tests/properties/search.hpp"

namespace kvferry::test {
namespace {

const char* environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != 0 ? value : nullptr;
}

/// Ever new seeds until the time is over.
std::optional<found_failure> search_for(std::chrono::seconds time) {
  const auto begin = std::chrono::steady_clock::now();
  std::uint64_t seed = static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) / 1000;
  if (const char* first = environment("KVFERRY_PROPERTY_FIRST_SEED"))
    seed = std::strtoull(first, nullptr, 10);
  std::printf("seeds from %llu on\n", static_cast<unsigned long long>(seed));
  std::optional<found_failure> found;
  std::uint64_t runs = 0;
  for (; !found && std::chrono::steady_clock::now() - begin < time; runs += 50)
    found = search({seed + runs, 50});
  std::printf("%llu runs\n", static_cast<unsigned long long>(runs));
  return found;
}

} // namespace

TEST_CASE("a random engine sees nothing that the reference model forbids") {
  std::optional<found_failure> found;
  if (const char* text = environment("KVFERRY_PROPERTY_CASE")) {
    const test_case which = parse_case(text);
    if (std::string words = run_case(which); !words.empty())
      found = {0, which, words_of(which.setup) + "\n" + words};
  } else if (const char* seed = environment("KVFERRY_PROPERTY_SEED")) {
    found = search({std::strtoull(seed, nullptr, 10), 1});
  } else if (const char* seconds = environment("KVFERRY_PROPERTY_SECONDS")) {
    found = search_for(std::chrono::seconds{std::strtoll(seconds, nullptr, 10)});
  } else {
    found = search({1, 200});
  }
  if (found) // not as an INFO, whose lines are wrapped
    std::fprintf(stderr, "%s", found->words.c_str());
  REQUIRE_FALSE(found);
}

TEST_CASE("a case is written as text and read back") {
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    const test_case drawn = case_of(seed);
    const test_case read = parse_case(to_text(drawn));
    REQUIRE(read.commands == drawn.commands);
    REQUIRE(to_text(read) == to_text(drawn));
  }
}

} // namespace kvferry::test
