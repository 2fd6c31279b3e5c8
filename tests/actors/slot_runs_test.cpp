// Free slots as runs: neighbours are handed out one after the other, whatever came back in which order.
#include "actors/slot_runs.hpp"

#include <algorithm>
#include <random>
#include <set>

#include "tests/catch.hpp"
#include "tests/device/death.hpp"

namespace kvferry::test {

namespace {

slot_runs all_free(std::uint32_t total) {
  slot_runs runs(total);
  for (std::uint32_t slot = 0; slot < total; ++slot)
    runs.add(slot);
  return runs;
}

std::vector<std::uint32_t> take(slot_runs& runs, int count) {
  std::vector<std::uint32_t> slots;
  for (int i = 0; i < count; ++i)
    slots.push_back(runs.take());
  return slots;
}

using slots = std::vector<std::uint32_t>;

} // namespace

TEST_CASE("slots are handed out as neighbours, ascending") {
  slot_runs runs = all_free(6);
  REQUIRE(take(runs, 6) == slots{0, 1, 2, 3, 4, 5});
  REQUIRE(runs.empty());
}

TEST_CASE("what comes back in any order is one run again") {
  slot_runs runs = all_free(6);
  take(runs, 6);
  for (std::uint32_t slot : {4, 1, 3, 2}) // a request lets go from its end, or not
    runs.add(slot);
  REQUIRE(take(runs, 4) == slots{1, 2, 3, 4});
}

TEST_CASE("a run is begun where it is long, and gone on with where it ended") {
  slot_runs runs = all_free(12);
  take(runs, 12);
  for (std::uint32_t slot : {0, 5, 6, 7, 8, 10})
    runs.add(slot);
  REQUIRE(take(runs, 2) == slots{5, 6});
  runs.add(1); // elsewhere
  REQUIRE(take(runs, 2) == slots{7, 8});
  REQUIRE(take(runs, 2) == slots{0, 1});
  REQUIRE(take(runs, 1) == slots{10});
}

TEST_CASE("every free slot is handed out once, however slots come and go") {
  std::mt19937 random(3);
  slot_runs runs = all_free(200);
  std::set<std::uint32_t> taken;
  for (int i = 0; i < 20'000; ++i) {
    if (taken.size() < 200 && (taken.empty() || random() % 2 == 0)) {
      const std::uint32_t slot = runs.take();
      REQUIRE(taken.insert(slot).second);
    } else {
      auto any = taken.begin();
      std::advance(any, random() % taken.size());
      runs.add(*any);
      taken.erase(any);
    }
    REQUIRE(runs.size() == 200 - taken.size());
  }
  for (std::uint32_t slot = 0; slot < 200; ++slot)
    REQUIRE(runs.is_free(slot) == !taken.contains(slot));
}

TEST_CASE("after hours of churn free slots still lie together") {
  // Requests of 4 to 40 pages come and go; half of the pool is free. Handing out what came back last would leave
  // pieces.
  std::mt19937 random(5);
  slot_runs runs = all_free(4096);
  std::vector<slots> held;
  std::uint64_t pages = 0, pieces = 0;
  for (int i = 0; i < 20'000; ++i) {
    while (runs.size() < 2048) {
      std::swap(held[random() % held.size()], held.back());
      std::shuffle(held.back().begin(), held.back().end(), random);
      for (std::uint32_t slot : held.back())
        runs.add(slot);
      held.pop_back();
    }
    held.push_back(take(runs, static_cast<int>(4 + random() % 37)));
    pages += held.back().size();
    for (std::size_t p = 0; p < held.back().size(); ++p)
      pieces += p == 0 || held.back()[p] != held.back()[p - 1] + 1 ? 1u : 0u;
  }
  REQUIRE(pages > 12 * pieces); // of 22 on average, if none were ever cut
}

TEST_CASE("broken contracts of free runs say what they saw") {
  slot_runs runs(3);
  REQUIRE_THAT(words_of_death([&] { runs.take(); }), ContainsSubstring("no slot of 3 is free"));
  runs.add(1);
  REQUIRE_THAT(words_of_death([&] { runs.add(1); }), ContainsSubstring("slot 1 of 3 becomes free twice"));
}

} // namespace kvferry::test
