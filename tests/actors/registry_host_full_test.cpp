// A host pool that is too small: refused as a whole, or admitted and served later.
#include "tests/actors/registry_rig.hpp"

namespace kvferry::test {

namespace {

configuration deferring(std::uint32_t gpu_slots, std::uint32_t host_slots) {
  configuration config = sparse_only(gpu_slots, host_slots);
  config.on_host_full = host_full_policy::defer;
  return config;
}

/// R2 has one host page; R1 decodes over A and B, has the other host slot, and waits for one more.
struct waiting_for_host : registry_rig {
  explicit waiting_for_host(bool committed, bool in_batch = false) : registry_rig(deferring(12, 2)) {
    open(R2, "Cy");
    if (in_batch)
      join(R2);
    grow(R2, 2);
    write(R2, 1);
    if (committed)
      commit(R2, 1);
    enter_decode(R2);
    copies_end();
    publish();
    prefill(R1, "ABx");
    auto entered = enter_decode(R1);
    REQUIRE_FALSE(entered.refused);
    REQUIRE(entered.moving == 1);
    REQUIRE(entered.deferred == 1);
    copies_end();
    REQUIRE(tiers(R1) == "hgg"); // in order
    REQUIRE(why_on_gpu(R1, 1) == std::vector<std::string>{"host_full"});
  }
};

} // namespace

TEST_CASE("decode entry without room on the host is refused with its numbers, and everything is as before") {
  registry_rig r(sparse_only(8, 1));
  r.prefill(R1, "ABx");
  const row_seq seq = r.requests.at(R1).seq;
  auto refused = r.enter_decode(R1);
  REQUIRE(refused.refused);
  REQUIRE(refused.why.code == error_code::host_full);
  REQUIRE(refused.why.numbers == shortage{sparse_group, tier::host, 2, 1, 0, 0, 0, 0});
  REQUIRE_THAT(refused.why.message, ContainsSubstring("attention"));
  REQUIRE(r.sent.size() == 1);
  REQUIRE(r.registry.find_claim(R1)->stage == phase::prefill);
  REQUIRE(r.registry.find_claim(R1)->seq == seq);
  REQUIRE(r.free(tier::host) == 1);
  REQUIRE(r.tiers(R1) == "ggg");
}

TEST_CASE("E5: an impossible decode entry asked for again and again starts nothing") {
  // E5: the same impossible store was retried each step.
  registry_rig r(sparse_only(8, 1));
  r.prefill(R1, "ABx");
  for (int i = 0; i < 1000; ++i)
    REQUIRE(r.enter_decode(R1).refused);
  REQUIRE(r.under_way.empty());
  REQUIRE(r.counters().pages_offloaded == 0);
}

TEST_CASE("idle host pages make room for a decode entry") {
  registry_rig r(sparse_only(8, 2));
  r.prefill(R2, "CDy");
  r.enter_decode(R2);
  r.copies_end();
  r.prefill(R1, "ABx");
  REQUIRE(r.enter_decode(R1).refused);
  r.close(R2); // its blocks stay in the index, on the host
  REQUIRE(r.enter_decode(R1).moving == 2);
  r.copies_end();
  REQUIRE(r.open(R3, "CDz").matched_tokens == 0); // evicted
}

TEST_CASE("blocks that are on the host already need no room there") {
  registry_rig r(sparse_only(12, 2));
  r.prefill(R1, "ABx");
  r.enter_decode(R1);
  r.copies_end();
  r.open(R2, "ABy");
  r.copies_end();
  auto entered = r.enter_decode(R2);
  REQUIRE_FALSE(entered.refused);
  REQUIRE(entered.rebound == 2);
}

TEST_CASE("a report of history is never refused, and its blocks wait for the host") {
  registry_rig r(sparse_only(8, 1));
  r.prefill(R1, "Ax");
  r.enter_decode(R1);
  r.copies_end();
  REQUIRE_FALSE(r.transit(R1, transition::advance, 8).refused);
  REQUIRE(r.why_on_gpu(R1, 1) == std::vector<std::string>{"host_full"});
  REQUIRE(r.tiers(R1) == "hg");
}

TEST_CASE("who waits for the host is served in the handling that makes a slot available") {
  SECTION("by a page that becomes free") {
    waiting_for_host r(false);
    r.close(R2);
    REQUIRE(r.count<copy_pages>() == 1);
    r.copies_end();
    REQUIRE(r.tiers(R1) == "hhg");
    REQUIRE(r.counters().pages_retried == 1);
  }
  SECTION("by a page that turns idle") {
    waiting_for_host r(true);
    r.close(R2);
    REQUIRE(r.count<copy_pages>() == 1);
    r.copies_end();
    REQUIRE(r.tiers(R1) == "hhg");
  }
  SECTION("by the acknowledgement that unnames a page") {
    waiting_for_host r(true, true);
    r.close(R2);
    REQUIRE(r.under_way.empty()); // the last version still names it: not for a copy
    r.publish(fence{stream_id{1}, 9});
    REQUIRE(r.count<copy_pages>() == 1);
    REQUIRE(r.last_copies.before_to_host.sequence_on(stream_id{1}) == 9); // behind the readers of that version
    r.copies_end();
    REQUIRE(r.tiers(R1) == "hhg");
  }
  SECTION("by a copy that fails for good") {
    configuration config = deferring(12, 1);
    config.copy_retries = 0;
    registry_rig r(config);
    r.prefill(R1, "ABx");
    r.enter_decode(R1);
    r.copies_end(false);
    REQUIRE(r.under_way.size() == 1); // the slot goes to the other block
    r.copies_end();
    REQUIRE(r.tiers(R1) == "ghg");
  }
}

TEST_CASE("who waits for the host no longer waits when its request ends") {
  waiting_for_host r(true);
  r.close(R1);
  r.close(R2);
  REQUIRE(r.under_way.empty());
  REQUIRE(r.counters().slots_in_use == 0);
}

TEST_CASE("while a block waits for the host nothing is demoted there") {
  // Rule 8: nothing on the tier is available.
  registry_rig r(deferring(5, 1));
  r.prefill(R2, "Cy");
  r.close(R2); // C is idle on the GPU
  r.prefill(R1, "ABx");
  r.enter_decode(R1);
  REQUIRE(r.under_way.size() == 1);
  r.open(R3, "Dz");
  REQUIRE_FALSE(r.grow(R3, 2).refused); // one is free, C goes
  REQUIRE(r.copies_of(move_kind::demote) == 0);
  r.close(R1);
  r.copies_end();
  REQUIRE(r.open(R4, "Cw").matched_tokens == 0); // dropped
}

TEST_CASE("decode entries that compete for the host are refused one at a time") {
  registry_rig r(sparse_only(8, 1));
  r.prefill(R1, "Ax");
  r.prefill(R2, "By");
  REQUIRE_FALSE(r.enter_decode(R1).refused);
  REQUIRE(r.enter_decode(R2).refused);
  r.copies_end();
  REQUIRE(r.enter_decode(R2).refused);
  r.close(R1);
  REQUIRE_FALSE(r.enter_decode(R2).refused);
}

// Was wrong once: room counts the idle host page of the very block that a duplicate of the caller is about to be bound
// to. Rule 1: a plan never takes a page of a block that it matched. The entry is accepted although nothing is left for
// B, which then waits under a policy that refuses.
TEST_CASE("the host page that a duplicate ends on is no room for the caller's other blocks") {
  registry_rig r(sparse_only(12, 1));
  r.open(R2, "ABy");
  r.grow(R2, 3); // before A is there
  r.write(R2, 2);
  r.prefill(R1, "Ax");
  r.enter_decode(R1);
  r.copies_end(); // A is on the host only
  r.open(R3, "Az");
  r.commit(R2, 2); // A is loading: R2 keeps its own page as a duplicate
  r.copies_end();
  r.close(R1);
  r.close(R3); // A is idle, and its host page is the only one
  auto entered = r.enter_decode(R2);
  REQUIRE(entered.refused);
  REQUIRE(entered.why.code == error_code::host_full);
}

TEST_CASE("a decode entry has no room in the host slot that a block of the same call waits for") {
  // Rule 8: the history of the call makes B complete, and the one host slot is B's.
  configuration config = sparse_only(8, 1);
  config.copy_retries = 0;
  registry_rig r(config);
  r.prefill(R1, "Ax");
  r.enter_decode(R1);
  r.copies_end(false);
  REQUIRE(r.free(tier::host) == 1);
  auto refused = r.transit(R1, transition::enter_decode, 8); // asks for A again
  REQUIRE(refused.refused);
  REQUIRE(refused.why.code == error_code::host_full);
  REQUIRE(refused.why.numbers->free == 0);
  r.copies_end();
  REQUIRE(r.tiers(R1) == "gh"); // history is never refused
}

TEST_CASE("a refusal counts the copies under way in the group that is short") {
  registry_rig r(sparse_only(3, 4));
  r.prefill(R1, "ABx");
  r.enter_decode(R1);
  r.open(R2, "yz");
  auto refused = r.grow(R2, 1);
  REQUIRE(refused.why.code == error_code::copies_in_flight);
  REQUIRE(refused.why.numbers->in_copy == 2);
}

} // namespace kvferry::test
