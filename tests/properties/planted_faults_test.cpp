// Faults planted on purpose: random engines find each within a few hundred runs, and the smallest case says what is
// wrong.
#include "kvferry/test_hooks.hpp"
#include "tests/catch.hpp"
#include "tests/properties/search.hpp"

namespace kvferry::test {
namespace {

/// Takes the fault away when the test ends.
struct planted_for_test {
  explicit planted_for_test(const std::string& name) { REQUIRE(plant_fault(name)); }
  ~planted_for_test() { (void)plant_fault("none"); }
};

/// Searches with the fault planted. What the smallest case says is wrong; a case without the fault says nothing.
std::string found_with(const std::string& fault, std::uint64_t runs) {
  std::optional<found_failure> found;
  std::string words;
  {
    planted_for_test planted(fault);
    found = search({1, runs, 80});
    REQUIRE(found);
    words = run_case(found->smallest);
    REQUIRE_FALSE(words.empty());
  }
  INFO(found->words);
  REQUIRE(found->smallest.commands.size() < case_of(found->seed).commands.size());
  REQUIRE(run_case(found->smallest).empty());
  return words;
}

} // namespace

TEST_CASE("random engines find a copy that does not wait for the writers of its source") {
  REQUIRE_THAT(found_with("copy_wait_dropped", 100), ContainsSubstring("copy to_host"));
}

TEST_CASE("random engines find a load that does not wait for the users of its target") {
  REQUIRE_THAT(found_with("load_wait_dropped", 400),
               ContainsSubstring("copies to gpu")); // the stream: of loads and branches
}

TEST_CASE("random engines find a close that ignores running steps") {
  REQUIRE_THAT(found_with("close_ignores_steps", 400), ContainsSubstring("unordered"));
}

TEST_CASE("random engines find a slot that is handed out while a row names it") {
  REQUIRE_THAT(found_with("slot_before_unnamed", 400), ContainsSubstring("slot "));
}

TEST_CASE("random engines find a forgotten retry") {
  REQUIRE_THAT(found_with("retry_forgotten", 400), ContainsSubstring("block"));
}

TEST_CASE("random engines find a host page that is evicted under a load") {
  REQUIRE_THAT(found_with("host_page_under_load", 400), ContainsSubstring("slot"));
}

TEST_CASE("random engines find a tier that is flipped before the copy is done") {
  REQUIRE_THAT(found_with("tier_before_copy_done", 100), ContainsSubstring("tier 1"));
}

} // namespace kvferry::test
