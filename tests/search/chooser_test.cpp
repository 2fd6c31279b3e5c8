#include "examples/search/chooser.hpp"

#include <set>

#include "tests/catch.hpp"

namespace search::test {
namespace {

using kind = option::kind;

constexpr kvferry::actor_key engine = kvferry::actor_key::engine;
constexpr kvferry::actor_key registry{1}, storage{2};

const std::vector<option> three{
    {kind::deliver, engine, registry, 0}, {kind::deliver, registry, storage, 0}, {kind::go_on}};

} // namespace

TEST_CASE("a given schedule deviates where it says, and nowhere else") {
  given_schedule chooser({{1, 2}, {3, 1}});
  std::vector<std::uint32_t> chosen;
  for (std::uint32_t point = 0; point < 6; ++point)
    chosen.push_back(chooser.choose({point, three, 0}));
  REQUIRE(chosen == std::vector<std::uint32_t>{0, 2, 0, 1, 0, 0});
}

TEST_CASE("deviations that fit no point or have no option are passed over") {
  given_schedule chooser({{1, 7}, {2, 1}, {4, 1}});
  REQUIRE(chooser.choose({1, three, 0}) == 0); // there is no option 7
  REQUIRE(chooser.choose({3, three, 0}) == 0); // point 2 never came
  REQUIRE(chooser.choose({4, three, 0}) == 1);
}

TEST_CASE("chance takes every way, a fault rarely, and the same ways again from the same seed") {
  const std::vector<option> ways{{kind::go_on}, {kind::run_stream}, {kind::fail_copy}};
  auto counts_from = [&](std::uint64_t seed) {
    random_choice chooser(seed);
    std::vector<std::uint32_t> counts(ways.size());
    for (std::uint32_t point = 0; point < 3000; ++point)
      ++counts[chooser.choose({point, ways, 0})];
    return counts;
  };
  const auto counts = counts_from(5);
  REQUIRE(counts[1] > 800);
  REQUIRE(counts[2] > 10);
  REQUIRE(counts[2] < 150);
  REQUIRE(counts == counts_from(5));
  REQUIRE(counts != counts_from(6));
}

TEST_CASE("the highest priority goes until it falls at a change point") {
  std::set<std::uint32_t> firsts;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    INFO("seed " << seed);
    priority_choice steady(seed, 1, 10);
    const std::uint32_t first = steady.choose({0, three, 0});
    firsts.insert(first);
    for (std::uint32_t point = 1; point < 10; ++point)
      REQUIRE(steady.choose({point, three, 0}) == first);

    priority_choice changing(seed, 2, 10);
    std::vector<std::uint32_t> chosen;
    for (std::uint32_t point = 0; point < 10; ++point)
      chosen.push_back(changing.choose({point, three, 0}));
    std::size_t changes = 0;
    for (std::size_t i = 1; i < chosen.size(); ++i)
      changes += chosen[i] != chosen[i - 1] ? 1 : 0;
    REQUIRE(changes <= 1); // none: it fell before it first went
    REQUIRE(std::set<std::uint32_t>(chosen.begin(), chosen.end()).size() == changes + 1);
  }
  REQUIRE(firsts.size() == three.size());
}

} // namespace search::test
