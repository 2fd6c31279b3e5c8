// docs/page_lifecycle.md against the registry: random calls go through the transitions that its tables list, and
// through no others.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/actors/page_states.hpp"
#include "tests/actors/random_calls.hpp"

namespace kvferry::test {

namespace {

std::string document() {
  std::ifstream in(KVFERRY_PAGE_LIFECYCLE);
  REQUIRE(in);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

struct gone_through {
  edge_table blocks;
  edge_table slots;
};

/// All that random calls of these seeds do.
gone_through watch(std::uint32_t seeds, int steps) {
  gone_through seen;
  const std::vector<configuration> all = small_pools();
  for (std::uint32_t seed = 1; seed <= seeds; ++seed) {
    INFO("seed " << seed);
    registry_rig r(all[seed % all.size()]);
    lifecycle_watch watching(r, seen.blocks, seen.slots);
    random_calls calls(r, seed);
    for (int i = 0; i < steps; ++i)
      calls.step();
    calls.end();
    REQUIRE(r.counters().slots_in_use == 0);
    r.check_quiet();
  }
  return seen;
}

/// Rows of `left` that `right` has not, or has otherwise.
std::string rows_missing(const edge_table& left, const edge_table& right) {
  edge_table missing;
  for (const auto& [went, facts] : left)
    if (auto at = right.find(went); at == right.end() || at->second != facts)
      missing.emplace(went, facts);
  return write_table(missing);
}

} // namespace

TEST_CASE("blocks and slots go through the transitions of the page life cycle, and through no others") {
  const std::string text = document();
  const edge_table blocks = read_table(text, "Blocks"), slots = read_table(text, "Slots");
  const gone_through seen = watch(1500, 120);
  CHECK(rows_missing(seen.blocks, blocks) == "");
  CHECK(rows_missing(blocks, seen.blocks) == "");
  CHECK(rows_missing(seen.slots, slots) == "");
  CHECK(rows_missing(slots, seen.slots) == "");
}

TEST_CASE("the diagram of the page life cycle shows transitions of its table, and every state") {
  const std::string text = document();
  const edge_table blocks = read_table(text, "Blocks");
  const std::set<edge> drawn = read_diagram(text);
  std::set<std::string> states, shown;
  for (const auto& [went, facts] : blocks)
    states.insert({went.from, went.to});
  for (const edge& each : drawn) {
    INFO(each.from << " --> " << each.to);
    CHECK(blocks.contains(each));
    shown.insert({each.from, each.to});
  }
  CHECK(shown == states);
}

} // namespace kvferry::test
