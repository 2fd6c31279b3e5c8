// What a request gives up before it ends: capacity, all its pages, copies that nobody wants any more; and what happens
// to the pages of one whose actor has died.
#include "tests/actors/registry_rig.hpp"

namespace kvferry::test {

namespace {

const fence step{stream_id{4}, 9};

} // namespace

TEST_CASE("capacity that holds no history is given back, behind what still runs the request") {
  registry_rig r(sparse_only(6, 4));
  r.open(R1, "Axyz");
  r.grow(R1, 6);
  r.write(R1, 2);
  auto shrunk = r.shrink(R1, 4, step);
  REQUIRE_FALSE(shrunk.refused);
  REQUIRE(r.tiers(R1) == "gggg");
  REQUIRE(r.free(tier::gpu) == 2);
  r.open(R2, "pq");
  REQUIRE(r.grow(R2, 1).granted.after.sequence_on(step.stream) == step.sequence);
}

TEST_CASE("capacity does not shrink below the history") {
  registry_rig r(sparse_and_dense(6, 4));
  r.open(R1, "Axyz");
  r.grow(R1, 4);
  r.transit(R1, transition::advance, 9); // into the third block
  r.shrink(R1, 0);
  REQUIRE(r.tiers(R1) == "ggg");
  REQUIRE(r.tiers(R1, dense_group) == "ggg");
  REQUIRE(r.requests.at(R1).history == 9);
}

TEST_CASE("a slot given back retires while a published row names it") {
  registry_rig r(sparse_only(3, 4));
  r.open(R1, "Axy");
  r.join(R1);
  r.grow(R1, 3);
  r.publish();
  r.shrink(R1, 1);
  REQUIRE(r.free(tier::gpu) == 0);
  REQUIRE(r.retiring(tier::gpu) == 2);
  r.publish();
  REQUIRE(r.free(tier::gpu) == 2);
}

TEST_CASE("capacity that was given back can be had again") {
  registry_rig r(sparse_only(4, 4));
  r.open(R1, "Axyz");
  r.grow(R1, 4);
  r.write(R1, 1);
  r.shrink(R1, 2);
  REQUIRE_FALSE(r.grow(R1, 4).refused);
  REQUIRE(r.tiers(R1) == "gggg");
}

TEST_CASE("a suspended request that is dropped gives up all its pages, and shared ones stay for others") {
  registry_rig r(sparse_and_dense(8, 8));
  r.prefill(R1, "ABx");
  r.prefill(R2, "ABy");
  r.suspend(R1);
  REQUIRE_FALSE(r.drop(R1).refused);
  REQUIRE(r.requests.at(R1).blocks == 0);
  REQUIRE(r.tiers(R2) == "ggg");
  REQUIRE(r.taken(tier::gpu) == 3);
  r.close(R2);
  r.close(R1);
  REQUIRE(r.counters().owners == 0);
  REQUIRE(r.counters().slots_in_use == 0);
}

TEST_CASE("what was spilled for a suspended request goes with it, also while it is copied") {
  registry_rig r(sparse_only(3, 4));
  r.prefill(R1, "Axy");
  r.suspend(R1);
  r.open(R2, "pqr");
  REQUIRE(r.grow(R2, 3).why.code == error_code::copies_in_flight);
  REQUIRE(r.copies_of(move_kind::spill) == 3);
  r.drop(R1);
  REQUIRE(r.cancels.size() == 3);
  r.cancel();
  REQUIRE(r.taken(tier::host) == 0);
  REQUIRE(r.taken(tier::gpu) == 2); // A and x are idle
  REQUIRE_FALSE(r.grow(R2, 1).refused);
  r.close(R2);
  r.close(R1);
  REQUIRE(r.counters().slots_in_use == 0);
}

TEST_CASE("a close cancels copies that are on no stream, and those alone") {
  registry_rig r(sparse_only(8, 8));
  r.prefill(R1, "ABx");
  r.enter_decode(R1);
  const bool submitted = GENERATE(false, true);
  if (submitted)
    r.submit();
  r.close(R1);
  REQUIRE(r.cancels.size() == (submitted ? 0u : 2u));
  if (!submitted)
    r.cancel();
  else
    r.copies_end();
  REQUIRE(r.counters().pages_offloaded == (submitted ? 2u : 0u));
  REQUIRE(r.counters().copies_failed == 0);
  REQUIRE(r.taken(tier::host) == (submitted ? 2u : 0u));
  REQUIRE(r.counters().slots_in_use == 0);
  r.check_quiet();
}

TEST_CASE("a load that was cancelled is begun again for who joined it meanwhile") {
  registry_rig r(sparse_only(8, 8));
  r.prefill(R1, "ABx");
  r.enter_decode(R1);
  r.copies_end();
  r.open(R2, "ABy");
  r.close(R2);
  REQUIRE(r.cancels.size() == 2);
  r.open(R3, "ABz");
  r.cancel();
  REQUIRE(r.copies_of(move_kind::load) == 2);
  r.copies_end();
  REQUIRE(r.tiers(R3) == "gg");
  REQUIRE(r.requests.at(R3).loads.size() == 1);
  REQUIRE_FALSE(r.requests.at(R3).loads[0].lost);
  REQUIRE(r.counters().copies_failed == 0);
}

TEST_CASE("the pages of a dead request in no row stay until it is known what still runs it") {
  registry_rig r(sparse_only(4, 4));
  r.prefill(R1, "Ax");
  r.prefill(R2, "Ay");
  r.enter_decode(R2);
  REQUIRE(r.why_on_gpu(R2, 0) == std::vector<std::string>{"R1.0"});
  r.die(R1);
  REQUIRE(r.why_on_gpu(R2, 0) == std::vector<std::string>{"copying"}); // it blocks nobody
  REQUIRE(r.taken(tier::gpu) == 3);
  r.copies_end();
  r.send(bury_request{R1, {4, {}, step}});
  REQUIRE(r.registry.find_claim(R1) == nullptr);
  REQUIRE(r.free(tier::gpu) == 3);
  r.open(R3, "pqr");
  REQUIRE(r.grow(R3, 3).granted.after.sequence_on(step.stream) == step.sequence);
  r.send(bury_request{R1, {}}); // late
  r.check_quiet();
}

// Was wrong once: the table grew to what the shrink named, with entries that no page stood behind.
TEST_CASE("a shrink to more than there is changes nothing") {
  registry_rig r(sparse_only(6, 4));
  r.open(R1, "Axy");
  r.grow(R1, 1);
  REQUIRE_FALSE(r.shrink(R1, 3).refused);
  REQUIRE(r.requests.at(R1).blocks == 1);
}

} // namespace kvferry::test
