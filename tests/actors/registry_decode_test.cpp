// Decode entry and history: what moves to the host, when it counts, and what never goes.
#include "tests/actors/registry_rig.hpp"

namespace kvferry::test {

TEST_CASE("entering decode copies exactly the complete history, as one message") {
  registry_rig r(sparse_only(8, 8));
  r.prefill(R1, "ABx"); // the third block is not complete
  auto entered = r.enter_decode(R1);
  REQUIRE_FALSE(entered.refused);
  REQUIRE(entered.moving == 2);
  REQUIRE(entered.deferred == 0);
  const copy_pages copies = r.only<copy_pages>();
  REQUIRE(copies.moves.size() == 2);
  for (block_ordinal o = 0; o < 2; ++o) {
    REQUIRE(copies.moves[o].kind == move_kind::offload);
    REQUIRE(copies.moves[o].gpu == gpu_slot{r.page(R1, o).slot});
  }
  REQUIRE_FALSE(copies.urgent); // no reply waits for it
}

TEST_CASE("until its copy is done a page is shown on the GPU, then on the host, and its GPU slot is free") {
  registry_rig r(sparse_only(8, 8));
  r.prefill(R1, "ABx");
  r.enter_decode(R1);
  const auto moves = r.under_way;
  r.submit();
  REQUIRE(r.tiers(R1) == "ggg");
  REQUIRE(r.taken(tier::gpu) == 3);
  r.copies_end();
  REQUIRE(r.tiers(R1) == "hhg");
  REQUIRE(r.requests.at(R1).rebounds == 1); // one message for both
  for (block_ordinal o = 0; o < 2; ++o)
    REQUIRE(host_slot{r.page(R1, o).slot} == moves[o].host);
  REQUIRE(r.taken(tier::gpu) == 1);
  REQUIRE(r.taken(tier::host) == 2);
  REQUIRE(r.counters().pages_offloaded == 2);
  r.check_quiet();
}

TEST_CASE("entering decode again does nothing") {
  registry_rig r(sparse_only(8, 8));
  r.prefill(R1, "ABx");
  r.enter_decode(R1);
  SECTION("while pages are under way") {
    auto again = r.enter_decode(R1);
    REQUIRE(again.moving == 2);
  }
  SECTION("when they are there") {
    r.copies_end();
    const row_seq before = r.requests.at(R1).seq;
    auto again = r.enter_decode(R1);
    REQUIRE(again.rebound == 2);
    REQUIRE(again.granted.seq == before);
    REQUIRE(again.granted.changes.empty());
  }
  REQUIRE(r.sent.size() == 1); // the reply: no copy, nothing to be published
}

TEST_CASE("a request in prefill keeps all its pages on the GPU") {
  registry_rig r(sparse_only(8, 8));
  r.prefill(R1, "ABx");
  r.write(R1, 3);
  REQUIRE(r.under_way.empty());
  REQUIRE(r.tiers(R1) == "ggg");
}

TEST_CASE("a block moves when the history of a decoding request makes it complete, and not a token earlier") {
  registry_rig r(sparse_only(8, 8));
  r.prefill(R1, "ABx");
  r.enter_decode(R1);
  r.copies_end();
  r.transit(R1, transition::advance, 11);
  REQUIRE(r.under_way.empty());
  r.transit(R1, transition::advance, 12);
  REQUIRE(r.copies_of(move_kind::offload) == 1);
  r.copies_end();
  REQUIRE(r.tiers(R1) == "hhh");
  r.grow(R1, 4);
  REQUIRE(r.under_way.empty());
  REQUIRE(r.tiers(R1) == "hhhg");
}

TEST_CASE("history and growth in one call keep the new page on the GPU") {
  registry_rig r(sparse_only(8, 8));
  r.prefill(R1, "Ax");
  r.enter_decode(R1);
  r.copies_end();
  auto crossed = r.transit(R1, transition::advance, 8, 3);
  REQUIRE_FALSE(crossed.refused);
  REQUIRE(r.tiers(R1) == "hgg");
  REQUIRE(r.copies_of(move_kind::offload) == 1);
}

TEST_CASE("dense pages never go to the host") {
  registry_rig r(sparse_and_dense(8, 8));
  r.prefill(R1, "ABx");
  auto entered = r.enter_decode(R1);
  REQUIRE(entered.moving == 2);
  for (const page_move& move : r.under_way)
    REQUIRE(move.group == sparse_group);
  r.all_copies_end();
  REQUIRE(r.tiers(R1) == "hhg");
  REQUIRE(r.tiers(R1, dense_group) == "ggg");
  REQUIRE(r.taken(tier::host, dense_group) == 0);
}

TEST_CASE("an owner that enters decode during the copy is moved with it, without a second one") {
  registry_rig r(sparse_only(8, 8));
  r.prefill(R1, "Ax");
  r.enter_decode(R1);
  r.prefill(R2, "Ay"); // matches while the copy runs
  auto second = r.enter_decode(R2);
  REQUIRE(second.moving == 1);
  REQUIRE(r.under_way.size() == 1);
  r.copies_end();
  REQUIRE(r.tiers(R1) == "hg");
  REQUIRE(r.tiers(R2) == "hg");
  REQUIRE(r.page(R1, 0).slot == r.page(R2, 0).slot);
}

TEST_CASE("owners are looked at again when the copy is done") {
  // 4.3; the model's scenario entry_meets_open.
  registry_rig r(sparse_only(8, 8));
  r.prefill(R1, "Ax");
  r.enter_decode(R1);
  r.open(R2, "Ay"); // needs the page on the GPU
  r.copies_end();
  REQUIRE(r.tiers(R1) == "hg");
  REQUIRE(r.tiers(R2) == "g");
  REQUIRE(r.taken(tier::gpu) == 2); // A for R2, x
  r.close(R2);
  REQUIRE(r.taken(tier::gpu) == 1); // released without a copy
  REQUIRE(r.under_way.empty());
  REQUIRE(r.tiers(R1) == "hg");
}

TEST_CASE("a copy comes after the writers of its block on every stream") {
  registry_rig r(sparse_only(8, 8));
  r.open(R1, "Ax");
  r.grow(R1, 2);
  const stream_id one{1}, two{2};
  r.transit(R1, transition::advance, 2, 0, {}, fence{one, 5});
  r.transit(R1, transition::advance, 5, 0, {}, fence{two, 3}); // the end of block 0, and the beginning of block 1
  r.enter_decode(R1);
  REQUIRE(r.last_copies.before_to_host.sequence_on(one) == 5);
  REQUIRE(r.last_copies.before_to_host.sequence_on(two) == 3);
}

TEST_CASE("moves have numbers that never recur") {
  registry_rig r(sparse_only(8, 8));
  r.prefill(R1, "ABx");
  r.enter_decode(R1);
  std::vector<move_id> seen;
  for (int i = 0; i < 3; ++i) {
    for (const page_move& move : r.under_way) {
      REQUIRE(std::find(seen.begin(), seen.end(), move.move) == seen.end());
      seen.push_back(move.move);
    }
    r.copies_end(i == 2);
  }
  REQUIRE(seen.size() == 6);
}

} // namespace kvferry::test
