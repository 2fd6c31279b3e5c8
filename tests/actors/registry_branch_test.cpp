// A prompt that leaves a shared block half way, or ends in it: the page is copied to a private one (4.5).
#include "tests/actors/registry_rig.hpp"

namespace kvferry::test {

namespace {

/// R1 has committed A and B and is in prefill.
struct shared_prefix : registry_rig {
  explicit shared_prefix(configuration config = sparse_only(8, 8)) : registry_rig(std::move(config)) {
    prefill(R1, "ABx");
  }

  page_move branch() const {
    for (const page_move& move : under_way)
      if (move.kind == move_kind::branch)
        return move;
    FAIL("no branch is under way");
    return {};
  }
};

} // namespace

TEST_CASE("a prompt that leaves a block half way gets a private copy of its page and of its first tokens") {
  shared_prefix r;
  const gpu_slot shared{r.page(R1, 1).slot};
  auto opened = r.open(R2, "Ab");
  REQUIRE(opened.matched_tokens == 6);
  REQUIRE(opened.loading);
  REQUIRE(r.branch().from == shared);
  REQUIRE(r.branch().host.is_none());
  REQUIRE(r.page(R2, 0).slot == r.page(R1, 0).slot);
  REQUIRE(r.page(R2, 1).slot != shared.value());
  REQUIRE_FALSE(r.page(R2, 1).ready);
  r.copies_end();
  REQUIRE(r.requests.at(R2).loads.size() == 1);
  REQUIRE(r.counters().pages_branched == 1);
  REQUIRE(r.counters().pages_loaded == 0);
  REQUIRE(r.counters().bytes_to_gpu == 0);
  r.check_quiet();
}

TEST_CASE("a prompt that ends in a block has all its tokens but the last there") {
  shared_prefix r;
  auto opened = r.open(R2, "AB");
  REQUIRE(opened.matched_tokens == 7);
  r.copies_end();
  r.write(R2, 2); // the last token, computed over the copy
  r.commit(R2, 2);
  REQUIRE(r.page(R2, 1).slot == r.page(R1, 1).slot); // bound to the block that is there
  REQUIRE(r.taken(tier::gpu) == 3);
}

TEST_CASE("a branch from a block that is on the host only is copied from there") {
  shared_prefix r;
  r.enter_decode(R1);
  r.copies_end();
  auto opened = r.open(R2, "Ab");
  REQUIRE(opened.matched_tokens == 6);
  REQUIRE(r.copies_of(move_kind::load) == 1); // A, which is shared
  REQUIRE(r.branch().host == host_slot{r.page(R1, 1).slot});
  REQUIRE(r.branch().from.is_none());
  r.copies_end();
  REQUIRE(r.tiers(R2) == "gg");
  REQUIRE(r.tiers(R1) == "hhg");
  REQUIRE(r.counters().pages_branched == 1);
}

TEST_CASE("the copy waits for the writers of the shared page, and for what used its target") {
  registry_rig r(sparse_only(4, 4));
  const fence wrote{stream_id{1}, 5}, ran{stream_id{2}, 8};
  r.open(R1, "Ax");
  r.grow(R1, 2);
  r.write(R1, 1, wrote);
  r.commit(R1, 1);
  r.prefill(R3, "yz");
  r.close(R3, ran); // the two slots left are behind what ran it
  REQUIRE(r.open(R2, "a").matched_tokens == 2);
  REQUIRE(r.last_copies.before_to_gpu.sequence_on(wrote.stream) == wrote.sequence);
  REQUIRE(r.last_copies.before_to_gpu.sequence_on(ran.stream) == ran.sequence);
}

TEST_CASE("the shared page is not taken while it is copied, although nobody owns it any more") {
  shared_prefix r(sparse_only(5, 0));
  REQUIRE(r.open(R2, "Ab").matched_tokens == 6);
  r.close(R1);
  r.open(R3, "yz");
  REQUIRE(r.grow(R3, 3).refused); // of 5 slots: A, its copy of B, and B, which is being read
  REQUIRE_FALSE(r.grow(R3, 2).refused);
  r.copies_end();
  REQUIRE_FALSE(r.grow(R3, 3).refused); // B was idle: now it is gone
  r.check_quiet();
}

TEST_CASE("the shared page goes on being moved for its owners, and stays until the copy has read it") {
  shared_prefix r;
  r.open(R2, "Ab");
  r.suspend(R2); // it blocks A no more
  const page_move branch = r.branch();
  REQUIRE(r.enter_decode(R1).moving == 2);
  r.copies_end_if([&](const page_move&) { return true; });
  REQUIRE(r.tiers(R1) == "hhg");
  REQUIRE(r.taken(tier::gpu) == 2); // x, and the copy
  REQUIRE(branch.from == gpu_slot{1});
  r.check_quiet();
}

TEST_CASE("a branch that fails for good ends the match before it") {
  configuration config = sparse_only(8, 8);
  config.copy_retries = 1;
  shared_prefix r(config);
  REQUIRE(r.open(R2, "Ab").matched_tokens == 6);
  r.copies_end(false);
  REQUIRE(r.under_way.size() == 1); // again
  REQUIRE(r.requests.at(R2).loads.empty());
  r.copies_end(false);
  REQUIRE(r.requests.at(R2).loads.size() == 1);
  REQUIRE(r.requests.at(R2).loads[0].lost);
  REQUIRE(r.requests.at(R2).loads[0].blocks == 1);
  REQUIRE(r.tiers(R2) == "g");
  REQUIRE(r.taken(tier::gpu) == 3);
  r.check_quiet();
}

TEST_CASE("without a slot for the copy the whole blocks are matched alone") {
  shared_prefix r(sparse_only(3, 0));
  auto opened = r.open(R2, "Ab");
  REQUIRE_FALSE(opened.refused);
  REQUIRE(opened.matched_tokens == 4);
  REQUIRE_FALSE(opened.loading);
}

TEST_CASE("all groups must have the block that a prompt leaves half way, and what their windows cover before it") {
  shared_prefix r(sparse_and_dense(8, 8, 3)); // A's dense block is behind the window
  REQUIRE(r.open(R2, "a").matched_tokens == 0);
  REQUIRE(r.open(R4, "Ay").matched_tokens == 0);
  REQUIRE(r.open(R3, "Ab").matched_tokens == 6); // the window at 6 tokens does not reach A
  REQUIRE(r.copies_of(move_kind::branch) == 2);
  REQUIRE(r.tiers(R3) == "gg");
  REQUIRE(r.tiers(R3, dense_group) == "-g");
  r.copies_end();
  r.check_quiet();
}

TEST_CASE("with recompute a block that is on the host only is not branched from") {
  configuration config = sparse_only(8, 8);
  config.on_host_hit = host_hit_policy::recompute;
  shared_prefix r(config);
  r.enter_decode(R1);
  r.copies_end();
  REQUIRE(r.open(R2, "a").matched_tokens == 0);
}

TEST_CASE("a request that ends while its branch is copied leaves nothing behind") {
  shared_prefix r;
  r.open(R2, "Ab");
  SECTION("before the copy is on a stream") {
    r.close(R2);
    REQUIRE(r.cancels.size() == 1);
    r.cancel();
  }
  SECTION("behind it") {
    r.submit();
    r.close(R2);
    REQUIRE(r.cancels.empty());
    r.copies_end();
  }
  REQUIRE(r.taken(tier::gpu) == 3);
  r.close(R1);
  REQUIRE(r.counters().slots_in_use == 0);
  r.check_quiet();
}

TEST_CASE("a page that a branch reads is not taken when the last row that named it has gone") {
  registry_rig r(sparse_only(5, 0));
  r.prefill(R1, "ABx");
  r.join(R1);
  r.publish();
  REQUIRE(r.open(R2, "Ab").matched_tokens == 6);
  r.close(R1); // nobody owns B any more
  r.publish(); // and no row names it
  r.open(R3, "yz");
  REQUIRE(r.grow(R3, 3).refused); // of 5 slots: A, its copy of B, and B
  REQUIRE_FALSE(r.grow(R3, 2).refused);
  r.copies_end();
  REQUIRE_FALSE(r.grow(R3, 3).refused);
}

TEST_CASE("a page that a branch reads stays until it has been read, also when its block has moved meanwhile") {
  shared_prefix r;
  REQUIRE(r.open(R2, "Ab").matched_tokens == 6);
  r.enter_decode(R1);
  r.submit();
  const page_move moved = r.under_way.back();
  REQUIRE(moved.kind == move_kind::offload);
  r.under_way.pop_back();
  r.send(copies_done{{{moved.move, moved.block, move_outcome::completed}}});
  REQUIRE(r.tiers(R1) == "ghg");
  REQUIRE(r.taken(tier::gpu) == 4); // A, B, x and the copy of B
  r.copies_end();
  REQUIRE(r.taken(tier::gpu) == 3);
}

// Was wrong once: loads_done went to active requests only, so its history stayed what it was, and its resume reported
// more of it than it had blocks for.
TEST_CASE("a suspended request whose branch is lost is told of it") {
  configuration config = sparse_only(8, 8);
  config.copy_retries = 0;
  shared_prefix r(config);
  REQUIRE(r.open(R2, "Ab").matched_tokens == 6);
  r.suspend(R2);
  r.copies_end(false);
  REQUIRE(r.requests.at(R2).history == 4);
  REQUIRE_FALSE(r.resume(R2).refused);
  REQUIRE(r.tiers(R2) == "g");
}

} // namespace kvferry::test
