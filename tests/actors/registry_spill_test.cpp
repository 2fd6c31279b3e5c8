// Suspended requests: their pages are held, go to the host when slots are needed, and come back.
#include "tests/actors/registry_rig.hpp"

namespace kvferry::test {

namespace {

/// R1 holds three pages, the last one partial; R2 wants three of four.
struct under_pressure : registry_rig {
  under_pressure() : registry_rig(sparse_only(4, 4)) {
    prefill(R1, "ABx");
    transit(R1, transition::advance, 9); // a token in the third block
    suspend(R1);
    open(R2, "Dyz");
  }
};

} // namespace

TEST_CASE("held pages stay where they are until slots are needed") {
  under_pressure r;
  REQUIRE(r.tiers(R1) == "ggg");
  REQUIRE(r.under_way.empty());
  REQUIRE_FALSE(r.grow(R2, 1).refused);
  REQUIRE(r.under_way.empty());
  auto resumed = r.resume(R1);
  REQUIRE_FALSE(resumed.loading);
  REQUIRE(r.tiers(R1) == "ggg");
}

TEST_CASE("held pages are spilled for a call that is refused until the copies are done") {
  under_pressure r;
  auto refused = r.grow(R2, 3);
  REQUIRE(refused.refused);
  REQUIRE(refused.why.code == error_code::copies_in_flight);
  REQUIRE(refused.why.numbers->needed == 3);
  REQUIRE(refused.why.numbers->free == 1);
  REQUIRE(refused.why.numbers->held == 3);
  REQUIRE(r.copies_of(move_kind::spill) == 2); // what is missing, no more
  REQUIRE(r.tiers(R2).empty());
  r.copies_end();
  REQUIRE(r.tiers(R1) == "ghh"); // from the end: the partial page, too
  REQUIRE_FALSE(r.grow(R2, 3).refused);
  REQUIRE(r.counters().pages_spilled == 2);
}

// Was wrong once: spills under way are not counted, so each call that asks again sends further held pages to the host,
// until all have gone.
TEST_CASE("A10: a call that asks again while pages are being spilled for it spills no more") {
  // A10: preempting a fenced victim frees nothing now, and the retry loop took the next one.
  under_pressure r;
  REQUIRE(r.grow(R2, 2).refused);
  REQUIRE(r.copies_of(move_kind::spill) == 1);
  for (int i = 0; i < 3; ++i)
    REQUIRE(r.grow(R2, 2).why.code == error_code::copies_in_flight);
  REQUIRE(r.copies_of(move_kind::spill) == 1);
}

// Was wrong once: held pages are spilled, and the refusal says copies_in_flight, for a call that needs more slots than
// the pool has (4.7).
TEST_CASE("for a call that can never fit nothing is spilled") {
  under_pressure r;
  auto refused = r.grow(R2, 5);
  REQUIRE(refused.why.code == error_code::prompt_exceeds_gpu_pool);
  REQUIRE(r.under_way.empty());
}

TEST_CASE("resume brings spilled pages back, and only then is the request told to run") {
  under_pressure r;
  r.grow(R2, 3);
  r.copies_end();
  r.grow(R2, 3);
  auto refused = r.resume(R1);
  REQUIRE(refused.refused);
  REQUIRE(refused.why.code == error_code::gpu_full);
  REQUIRE(r.tiers(R1) == "ghh");
  r.close(R2);
  auto resumed = r.resume(R1);
  REQUIRE(resumed.loading);
  REQUIRE(r.copies_of(move_kind::load) == 2);
  r.copies_end();
  REQUIRE(r.tiers(R1) == "ggg");
  REQUIRE(r.requests.at(R1).loads.size() == 1);
  // Rule 7: the complete block keeps its host page, the partial one does not: it is written again.
  REQUIRE(r.taken(tier::host) == 1);
  r.enter_decode(R1);
  REQUIRE(r.copies_of(move_kind::offload) == 1); // A; B is on the host still
  r.copies_end();
  REQUIRE(r.tiers(R1) == "hhg");
}

TEST_CASE("a spill is void when its owner has resumed and writes, even if the block is complete by then") {
  under_pressure r;
  r.grow(R2, 2);
  REQUIRE(r.copies_of(move_kind::spill) == 1); // the partial page
  REQUIRE_FALSE(r.resume(R1).loading);
  const bool complete = GENERATE(false, true);
  if (complete)
    r.write(R1, 3);
  r.copies_end();
  REQUIRE(r.tiers(R1) == "ggg");
  REQUIRE(r.taken(tier::host) == 0);
  r.enter_decode(R1);
  REQUIRE(r.copies_of(move_kind::offload) == (complete ? 3u : 2u));
}

TEST_CASE("a void spill stays void when its owner suspends again") {
  under_pressure r;
  r.grow(R2, 2);
  r.resume(R1);
  r.transit(R1, transition::advance, 10);
  r.suspend(R1);
  r.copies_end();
  REQUIRE(r.tiers(R1) == "ggg");
  REQUIRE(r.taken(tier::host) == 0);
}

// Was wrong once: what changed meanwhile was told at once, under a later number than the grant that came behind it.
TEST_CASE("what happens to a request while its grant waits for a submission becomes part of the grant") {
  registry_rig r(sparse_only(4, 8));
  r.prefill(R1, "ABx");
  r.enter_decode(R1);
  r.submit(); // A and B are on their way to the host
  const std::vector<page_move> offloads = r.under_way;
  REQUIRE(offloads.size() == 2);
  r.suspend(R1);
  r.open(R2, "Yw");
  REQUIRE(r.grow(R2, 2).refused);
  REQUIRE(r.copies_of(move_kind::spill) == 1); // x
  const row_seq before = r.requests.at(R1).seq;
  r.resume(R1);
  REQUIRE_FALSE(r.requests.at(R1).answered); // it writes x behind the copy, which is on no stream yet
  copies_done done;
  for (const page_move& move : offloads)
    done.results.push_back({move.move, move.block, move_outcome::completed});
  std::erase_if(r.under_way, [](const page_move& move) { return move.kind == move_kind::offload; });
  r.send(done);
  REQUIRE(r.requests.at(R1).rebounds == 0);
  REQUIRE(r.requests.at(R1).seq == before);
  r.submit(fence{stream_id{9}, 7});
  REQUIRE(r.requests.at(R1).answered);
  REQUIRE(r.requests.at(R1).rebounds == 0);
  REQUIRE(r.requests.at(R1).seq > before + 1); // the resume's, and that of the change
  REQUIRE(r.answers[R1].granted.after.sequence_on(stream_id{9}) == 7);
  REQUIRE(r.tiers(R1) == "hhg");
}

TEST_CASE("dense and partial pages are spilled as well, and no history is counted on them") {
  registry_rig r(sparse_and_dense(4, 4));
  r.prefill(R1, "ABx");
  r.enter_decode(R1);
  r.copies_end();
  r.suspend(R1);
  REQUIRE(r.tiers(R1) == "hhg");
  r.open(R2, "Dyz");
  REQUIRE(r.grow(R2, 3).why.code == error_code::copies_in_flight); // sparse: 3 free, dense: 1
  r.copies_end();
  REQUIRE(r.tiers(R1, dense_group) == "ghh");
  REQUIRE_FALSE(r.grow(R2, 3).refused);
  r.close(R2);
  REQUIRE(r.resume(R1).loading);
  r.copies_end();
  REQUIRE(r.tiers(R1, dense_group) == "ggg");
  REQUIRE(r.tiers(R1) == "hhg");
}

TEST_CASE("a shared page is held only when all its owners are suspended") {
  registry_rig r(sparse_only(4, 4));
  r.prefill(R1, "Ax");
  r.prefill(R2, "Ay");
  r.suspend(R1);
  r.open(R3, "Dzz");
  REQUIRE(r.grow(R3, 3).refused);
  REQUIRE(r.copies_of(move_kind::spill) == 1); // x; A is R2's, too
  r.copies_end();
  REQUIRE(r.tiers(R1) == "gh");
}

TEST_CASE("D2: a spill comes after the steps that still run the request") {
  // D2: preempted pages were overwritten, or copied, before pending writes had ended.
  registry_rig r(sparse_only(4, 4));
  r.prefill(R1, "ABx");
  r.suspend(R1, fence{stream_id{1}, 6});
  r.open(R2, "Dyz");
  r.grow(R2, 2);
  REQUIRE(r.last_copies.before_to_host.sequence_on(stream_id{1}) == 6);
}

TEST_CASE("a decoder that suspends while its copy runs is bound to the host when it is done") {
  registry_rig r(sparse_only(4, 4));
  r.prefill(R1, "Ax");
  r.enter_decode(R1);
  r.suspend(R1);
  r.copies_end();
  REQUIRE(r.tiers(R1) == "hg");
  r.resume(R1);
  REQUIRE(r.tiers(R1) == "hg");
  REQUIRE(r.under_way.empty());
}

TEST_CASE("a resume without room on the host for what it would move is refused as a whole") {
  registry_rig r(sparse_only(8, 1));
  r.prefill(R1, "Ax");
  r.enter_decode(R1);
  r.copies_end(false); // under way again
  r.suspend(R1);
  r.copies_end(false);
  REQUIRE(r.tiers(R1) == "gg");
  r.prefill(R2, "By");
  r.enter_decode(R2);
  r.copies_end();
  auto refused = r.resume(R1);
  REQUIRE(refused.refused);
  REQUIRE(refused.why.code == error_code::host_full);
  REQUIRE_FALSE(r.registry.find_claim(R1)->active);
  r.close(R2);
  REQUIRE_FALSE(r.resume(R1).refused);
  r.copies_end();
  REQUIRE(r.tiers(R1) == "hg");
}

TEST_CASE("D8: when every request is suspended and both pools are full one can come back") {
  // D8: swapped-out requests could never come back.
  registry_rig r(sparse_only(4, 2));
  r.prefill(R1, "Ax");
  r.suspend(R1);
  r.prefill(R2, "By");
  r.suspend(R2);
  r.open(R3, "Cz");
  REQUIRE(r.grow(R3, 2).refused);
  r.copies_end();
  REQUIRE_FALSE(r.grow(R3, 2).refused);
  r.suspend(R3);
  REQUIRE(r.taken(tier::gpu) == 4);
  REQUIRE(r.taken(tier::host) == 2);
  REQUIRE_FALSE(r.resume(R2).refused); // its pages never left
}

} // namespace kvferry::test
