// A request's copy of its block table, and the history it publishes.
#include "actors/block_replica.hpp"

#include "tests/catch.hpp"
#include "tests/device/death.hpp"
#include "tests/device/rig.hpp"

namespace kvferry::test {

namespace {

constexpr group_id sparse{0}, dense{1};

page_change on(tier where, block_ordinal ordinal, std::uint32_t slot = 0, group_id group = sparse) {
  return {group, ordinal, where, true, slot};
}

struct replica_rig {
  explicit replica_rig(std::uint32_t blocks) : table({group_of({8}, 8, 8), dense_group()}) {
    table.resize(blocks);
    for (block_ordinal o = 0; o < blocks; ++o)
      table.apply({on(tier::gpu, o, o), on(tier::gpu, o, o, dense)});
  }

  static group_config dense_group() {
    group_config group = group_of({8}, 8, 8);
    group.kind = group_kind::dense;
    return group;
  }

  /// Counts of the sparse group as told, -1: not told, as nothing changed.
  int told(bool decoding, std::uint32_t complete) {
    int blocks = -1;
    for (const group_history& h : table.update_history(decoding, complete)) {
      REQUIRE(h.group == sparse);
      blocks = static_cast<int>(h.blocks);
    }
    return blocks;
  }

  block_replica table;
};

} // namespace

TEST_CASE("history is what stands on the host without a gap from the first block") {
  replica_rig r(4);
  REQUIRE(r.told(true, 4) == -1); // nothing is: it stays 0
  r.table.apply({on(tier::host, 1), on(tier::host, 2)});
  REQUIRE(r.told(true, 4) == -1);
  r.table.apply({on(tier::host, 0)});
  REQUIRE(r.told(true, 4) == 3);
  REQUIRE(r.told(true, 4) == -1); // told once
  REQUIRE(r.table.history().size() == 1);
  REQUIRE(r.table.history()[0].blocks == 3);
}

TEST_CASE("history is no longer than what is complete, and grows with it") {
  replica_rig r(3);
  r.table.apply({on(tier::host, 0), on(tier::host, 1)});
  REQUIRE(r.told(true, 1) == 1);
  REQUIRE(r.told(true, 2) == 2);
  REQUIRE(r.told(true, 3) == -1);
}

TEST_CASE("history falls back to the block that goes to the GPU, and comes back over it") {
  replica_rig r(3);
  r.table.apply({on(tier::host, 0), on(tier::host, 1), on(tier::host, 2)});
  REQUIRE(r.told(true, 3) == 3);
  r.table.apply({on(tier::gpu, 1, 5)});
  REQUIRE(r.told(true, 3) == 1);
  r.table.apply({on(tier::host, 1)});
  REQUIRE(r.told(true, 3) == 3);
}

TEST_CASE("a request that does not decode publishes no history") {
  replica_rig r(2);
  r.table.apply({on(tier::host, 0), on(tier::host, 1)});
  REQUIRE(r.told(false, 2) == -1);
  REQUIRE(r.told(true, 2) == 2);
  REQUIRE(r.told(false, 2) == 0); // suspended
  REQUIRE(r.table.history().empty());
  REQUIRE(r.told(true, 2) == 2);
}

TEST_CASE("dense groups publish no history wherever their pages are") {
  replica_rig r(1);
  r.table.apply({on(tier::host, 0, 0, dense)});
  REQUIRE(r.told(true, 1) == -1);
}

TEST_CASE("a table that is cut forgets what was behind, on the host as well") {
  replica_rig r(4);
  r.table.apply({on(tier::host, 0), on(tier::host, 1), on(tier::host, 2), on(tier::host, 3)});
  REQUIRE(r.told(true, 4) == 4);
  r.table.resize(2);
  REQUIRE(r.table.blocks() == 2);
  REQUIRE(r.told(true, 4) == 2);
  REQUIRE(r.table.on_host(sparse) == std::vector<block_ordinal>{0, 1});
  REQUIRE(r.table.find(sparse, 2) == nullptr);
  r.table.resize(4);
  REQUIRE(r.told(true, 4) == -1); // the new blocks name no page
  REQUIRE(r.table.find(sparse, 3)->on == tier::none);
  REQUIRE(r.table.all().size() == 4); // two in each group
}

TEST_CASE("all pages come by group and ordinal, those that a window has passed left out") {
  replica_rig r(2);
  r.table.apply({on(tier::none, 0, 0, dense), on(tier::host, 1, 7)});
  REQUIRE(r.table.all() ==
          std::vector<page_change>{on(tier::gpu, 0, 0), on(tier::host, 1, 7), on(tier::gpu, 1, 1, dense)});
}

TEST_CASE("pages bound to the host are known by ordinal, ascending") {
  replica_rig r(4);
  REQUIRE(r.table.on_host(dense).empty());
  r.table.apply({on(tier::host, 3, 0, dense), on(tier::host, 1, 1, dense)});
  REQUIRE(r.table.on_host(dense) == std::vector<block_ordinal>{1, 3});
  REQUIRE(r.table.on_host(sparse).empty());
  r.table.apply({on(tier::gpu, 3, 0, dense), on(tier::host, 1, 2, dense)}); // 1 moves from slot to slot
  REQUIRE(r.table.on_host(dense) == std::vector<block_ordinal>{1});
}

TEST_CASE("pages on their way are not ready until loads have ended") {
  replica_rig r(1);
  r.table.apply({{sparse, 0, tier::gpu, false, 3}});
  REQUIRE_FALSE(r.table.find(sparse, 0)->ready);
  r.table.mark_ready();
  REQUIRE(r.table.find(sparse, 0)->ready);
  REQUIRE(r.table.find(sparse, 0)->slot == 3);
}

TEST_CASE("a change past the end of the table is a broken contract") {
  replica_rig r(2);
  REQUIRE_THAT(words_of_death([&] { r.table.apply({on(tier::gpu, 2)}); }), ContainsSubstring("ordinal 2 of 2"));
}

} // namespace kvferry::test
