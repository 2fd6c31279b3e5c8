// Who waits for a host slot, and who for the end of its deferral.
#include "actors/wait_set.hpp"

#include <array>

#include "tests/catch.hpp"
#include "tests/device/death.hpp"

namespace kvferry::test {

namespace {

struct three_blocks {
  three_blocks() {
    for (std::uint64_t i = 0; i < 3; ++i)
      b[i].id = block_id{i + 1};
  }

  void defer(block& which, std::uint64_t publications) {
    which.deferred_at = publications + 1;
    deferred.add(which);
  }

  std::vector<std::uint64_t> due(std::uint64_t publications, std::uint64_t bound) {
    std::vector<std::uint64_t> ids;
    deferred.take_due(publications, bound, [&](block& which) { ids.push_back(which.id.value()); });
    return ids;
  }

  std::array<block, 3> b;
  deferral_queue deferred;
};

using ids = std::vector<std::uint64_t>;

} // namespace

TEST_CASE("who waits first for a host slot is served first") {
  three_blocks blocks;
  wait_set waiting;
  waiting.add(blocks.b[1]);
  waiting.add(blocks.b[0]);
  waiting.add(blocks.b[2]);
  REQUIRE(&waiting.front() == &blocks.b[1]);
  waiting.remove(blocks.b[1]);
  REQUIRE(blocks.b[1].wait_ticket == 0);
  REQUIRE(&waiting.front() == &blocks.b[0]);
  waiting.add(blocks.b[1]); // again: behind the others
  ids order;
  waiting.for_each([&](const block& b) { order.push_back(b.id.value()); });
  REQUIRE(order == ids{1, 3, 2});
}

TEST_CASE("a block waits once, and one that does not wait can be taken out") {
  three_blocks blocks;
  wait_set waiting;
  waiting.add(blocks.b[0]);
  REQUIRE_THAT(words_of_death([&] { waiting.add(blocks.b[0]); }), ContainsSubstring("block 1 waits already"));
  waiting.remove(blocks.b[1]);
  REQUIRE(waiting.size() == 1);
  waiting.remove(blocks.b[0]);
  waiting.remove(blocks.b[0]);
  REQUIRE(waiting.empty());
}

TEST_CASE("a deferral is due after as many publications as the bound says, and not before") {
  three_blocks blocks;
  blocks.defer(blocks.b[0], 10); // after ten publications
  REQUIRE(blocks.due(11, 2).empty());
  REQUIRE(blocks.due(12, 2) == ids{1});
  REQUIRE(blocks.due(13, 2).empty()); // once
}

TEST_CASE("deferrals are due in the order in which they began") {
  three_blocks blocks;
  blocks.defer(blocks.b[2], 0);
  blocks.defer(blocks.b[0], 0);
  blocks.defer(blocks.b[1], 1);
  REQUIRE(blocks.due(5, 5) == ids{3, 1});
  REQUIRE(blocks.due(6, 5) == ids{2});
}

TEST_CASE("a deferral that ended meanwhile is not due") {
  three_blocks blocks;
  for (block& b : blocks.b)
    blocks.defer(b, 0);
  blocks.b[0].deferred_at = 0;  // decided
  blocks.b[1] = block{};        // gone
  blocks.b[1].id = block_id{7}; // its record is another block's
  blocks.b[1].deferred_at = 1;  // which is deferred, too
  REQUIRE(blocks.due(5, 5) == ids{3});
}

TEST_CASE("a block that was decided and is deferred again waits its full time again") {
  three_blocks blocks;
  blocks.defer(blocks.b[0], 0);
  blocks.b[0].deferred_at = 0;
  blocks.defer(blocks.b[0], 3);
  REQUIRE(blocks.due(5, 5).empty());
  REQUIRE(blocks.due(8, 5) == ids{1});
}

TEST_CASE("a bound of nothing is due at the next look") {
  three_blocks blocks;
  blocks.defer(blocks.b[0], 4);
  REQUIRE(blocks.due(4, 0) == ids{1});
}

} // namespace kvferry::test
