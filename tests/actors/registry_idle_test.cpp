// Idle blocks: where slots are found, in which order, and what demotion does.
#include "tests/actors/registry_rig.hpp"

namespace kvferry::test {

namespace {

/// A and B are idle on the GPU, one slot of three is free.
struct idle_on_gpu : registry_rig {
  explicit idle_on_gpu(std::uint32_t host_slots) : registry_rig(sparse_only(3, host_slots)) {
    prefill(R1, "ABx");
    close(R1);
    REQUIRE(free(tier::gpu) == 1);
  }
};

/// What a new request with this prompt would find.
std::uint32_t found(registry_rig& r, request_id id, const std::string& text) {
  auto opened = r.open(id, text);
  r.close(id);
  return opened.matched_tokens;
}

} // namespace

TEST_CASE("E8: idle blocks stay until slots are needed, and free slots are taken first") {
  idle_on_gpu r(4);
  r.open(R2, "Cy");
  REQUIRE_FALSE(r.grow(R2, 1).refused);
  REQUIRE(r.under_way.empty());
  REQUIRE(found(r, R3, "ABz") == 8);
}

TEST_CASE("idle blocks are demoted for a prefill, the child before its parent") {
  idle_on_gpu r(4);
  r.open(R2, "Cy");
  r.grow(R2, 2);
  REQUIRE(r.copies_of(move_kind::demote) == 1);
  r.copies_end();
  auto opened = r.open(R3, "ABz");
  REQUIRE(opened.refused); // B would need a slot
  r.close(R3);
  REQUIRE(found(r, R4, "Aw") == 4); // A is on the GPU still
  REQUIRE(r.counters().pages_demoted == 1);
}

TEST_CASE(
    "the reply that hands out the slot of a demoted page waits until the copy is submitted, and names its fence") {
  idle_on_gpu r(4);
  r.open(R2, "Cyz");
  r.grow(R2, 3);
  REQUIRE_FALSE(r.requests.at(R2).answered);
  REQUIRE(r.copies_of(move_kind::demote) == 2);
  REQUIRE(r.last_copies.urgent);
  r.submit(fence{stream_id{9}, 4});
  REQUIRE(r.requests.at(R2).answered);
  REQUIRE(r.answers[R2].granted.after.sequence_on(stream_id{9}) == 4);
  REQUIRE(r.tiers(R2) == "ggg");
}

TEST_CASE("a demoted block leaves the index at once and returns when its copy is done") {
  idle_on_gpu r(4);
  r.open(R2, "Cyz");
  r.grow(R2, 3);
  REQUIRE(found(r, R3, "ABz") == 0);
  r.copies_end();
  r.close(R2);
  auto opened = r.open(R4, "ABw");
  REQUIRE(opened.matched_tokens == 8);
  REQUIRE(opened.loading);
}

TEST_CASE("a demotion that fails loses cache and nothing else") {
  idle_on_gpu r(4);
  r.open(R2, "Cyz");
  r.grow(R2, 3);
  r.copies_end(false);
  REQUIRE(r.under_way.empty()); // it is not tried again: the page has been given away
  REQUIRE(r.taken(tier::host) == 0);
  REQUIRE(found(r, R3, "ABz") == 0);
  REQUIRE(r.tiers(R2) == "ggg");
}

TEST_CASE("a demoted block whose key was committed meanwhile does not return") {
  registry_rig r(sparse_only(6, 4));
  r.prefill(R1, "Ax");
  r.open(R2, "Ay", "", "other"); // has written the same tokens elsewhere, to take slots
  r.grow(R2, 2);
  r.close(R1); // A is idle
  r.open(R3, "Dzzz");
  r.grow(R3, 4);
  REQUIRE(r.copies_of(move_kind::demote) == 1);
  r.submit();
  r.close(R2);
  r.open(R4, "Aw"); // matches nothing now
  r.grow(R4, 2);
  r.write(R4, 1);
  r.commit(R4, 1);
  r.copies_end();
  REQUIRE(r.taken(tier::host) == 0);
  r.close(R3);
  r.close(R4);
  REQUIRE(found(r, request_id{5}, "Av") == 4);
}

TEST_CASE("without room on the host idle blocks are dropped") {
  idle_on_gpu r(0);
  r.open(R2, "Cyz");
  REQUIRE_FALSE(r.grow(R2, 3).refused);
  REQUIRE(r.requests.at(R2).answered);
  REQUIRE(found(r, R3, "ABz") == 0);
}

TEST_CASE("for a decoder idle blocks are dropped: it never waits for the link") {
  registry_rig r(sparse_only(3, 8));
  r.prefill(R1, "Ax");
  r.enter_decode(R1);
  r.copies_end();
  r.prefill(R2, "By");
  r.close(R2); // B is idle, one slot is free
  REQUIRE_FALSE(r.grow(R1, 4).refused);
  REQUIRE(r.requests.at(R1).answered);
  REQUIRE(r.under_way.empty());
  REQUIRE(found(r, R3, "Bz") == 0);
}

TEST_CASE("idle GPU pages whose host page is there are taken before older ones that would be lost") {
  registry_rig r(sparse_only(5, 8));
  r.prefill(R1, "Ax");
  r.prefill(R2, "By");
  r.close(R1); // A: on the GPU only, idle for longer
  r.enter_decode(R2);
  r.open(R3, "Bz"); // keeps B's GPU page
  r.copies_end();
  r.close(R2);
  r.close(R3);
  REQUIRE(r.taken(tier::gpu) == 2);
  r.open(R4, "Cwww");
  REQUIRE_FALSE(r.grow(R4, 4).refused);
  REQUIRE(r.under_way.empty()); // B's page, without a copy
  REQUIRE(r.taken(tier::host) == 1);
  auto opened = r.open(request_id{5}, "Av");
  REQUIRE(opened.matched_tokens == 4);
  REQUIRE_FALSE(opened.loading);
}

TEST_CASE("the block that was used longest ago goes first, and a match counts as use") {
  registry_rig r(sparse_only(4, 0));
  r.prefill(R1, "Ax");
  r.prefill(R2, "By");
  r.close(R1);
  r.close(R2);
  REQUIRE(found(r, R3, "Az") == 4); // A is used again
  r.open(R4, "Cww");
  r.grow(R4, 3);
  REQUIRE(found(r, request_id{5}, "Bv") == 0);
  REQUIRE(found(r, request_id{6}, "Au") == 4);
}

// Was wrong once: blocks that become idle when their copies are done do so in the order of the copies, the parent
// first. 4.5: children before parents; a child without its parent can never match, so the whole prefix is lost with its
// first block.
TEST_CASE("children go before their parents also when they became idle at the end of their copies") {
  registry_rig r(sparse_only(8, 2));
  r.prefill(R1, "ABx");
  r.enter_decode(R1);
  r.close(R1);
  r.copies_end(); // A and B are idle on both tiers
  r.open(R2, "CDEFGHIy");
  REQUIRE_FALSE(r.grow(R2, 8).refused); // takes both GPU pages
  r.close(R2);
  REQUIRE(r.taken(tier::gpu) == 0);
  REQUIRE(r.taken(tier::host) == 2);
  r.prefill(R3, "Zz");
  REQUIRE_FALSE(r.enter_decode(R3).refused); // takes one host page
  r.copies_end();
  REQUIRE(found(r, R4, "ABw") == 4); // A is left
}

TEST_CASE("E10: a plan never takes an idle page that the same call has matched") {
  // Rule 1; E10: the allocation for the rest evicted what the lookup had hit.
  registry_rig r(sparse_only(3, 1));
  r.prefill(R1, "ABx");
  r.enter_decode(R1);
  REQUIRE(r.answers[R1].refused); // one host slot, two blocks
  r.suspend(R1);
  r.open(R2, "Cy");
  r.grow(R2, 1);
  REQUIRE(r.answers[R2].refused);
  r.copies_end(); // one page is on the host: x, the last one
  r.close(R1);
  auto opened = r.open(R3, "ABz");
  REQUIRE(opened.matched_tokens == 8);
  REQUIRE(r.tiers(R3) == "gg");
}

TEST_CASE("E7: loads take idle pages of others, never those they were matched with") {
  registry_rig r(sparse_only(3, 4));
  r.prefill(R1, "Ax");
  r.enter_decode(R1);
  r.copies_end();
  r.prefill(R2, "By");
  r.close(R2);
  r.grow(R1, 3); // A on the host, B idle on the GPU, nothing free
  REQUIRE(r.free(tier::gpu) == 0);
  auto opened = r.open(R3, "Az");
  REQUIRE_FALSE(opened.refused);
  REQUIRE(r.copies_of(move_kind::load) == 1);
  REQUIRE(r.copies_of(move_kind::demote) == 1);
  r.all_copies_end();
  REQUIRE(r.tiers(R3) == "g");
  REQUIRE(r.requests.at(R3).loads.size() == 1);
}

TEST_CASE("a slot that is taken from an idle block is behind the writers of its page") {
  registry_rig r(sparse_only(2, 0));
  r.open(R1, "Ax");
  r.grow(R1, 2);
  r.write(R1, 1, fence{stream_id{1}, 5});
  r.commit(R1, 1);
  r.close(R1); // A is idle, the other slot is free and behind nothing
  r.open(R2, "yz");
  REQUIRE(r.grow(R2, 1).granted.after.empty());
  REQUIRE(r.grow(R2, 2).granted.after.sequence_on(stream_id{1}) == 5);
}

TEST_CASE("an open does not count the idle pages that it matched as room for its loads") {
  configuration config = sparse_only(3, 4);
  config.copy_retries = 0;
  registry_rig r(config);
  r.prefill(R1, "ABx");
  r.enter_decode(R1);
  const gpu_slot first{r.page(R1, 0).slot};
  r.copies_end_if([&](const page_move& move) { return move.gpu != first; });
  REQUIRE(r.tiers(R1) == "ghg"); // A could not be copied
  r.close(R1);
  r.open(R2, "yz");
  r.grow(R2, 2);
  REQUIRE(r.taken(tier::gpu) == 3); // the third is A's, idle
  auto refused = r.open(R3, "ABw"); // would load B
  REQUIRE(refused.refused);
  REQUIRE(refused.why.code == error_code::gpu_full);
  REQUIRE(refused.why.numbers->free == 0);
}

} // namespace kvferry::test
