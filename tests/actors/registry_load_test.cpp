// Prefill that meets blocks on the host: one load for all, decoders untouched, and loads that fail.
#include "tests/actors/registry_rig.hpp"

namespace kvferry::test {

namespace {

/// R1 decodes over A and B, which are on the host only.
struct on_host : registry_rig {
  explicit on_host(std::uint32_t gpu_slots = 12, std::uint32_t copy_retries = 3)
      : registry_rig(trying(gpu_slots, copy_retries)) {
    prefill(R1, "ABx");
    enter_decode(R1);
    copies_end();
    REQUIRE(tiers(R1) == "hhg");
  }

  static configuration trying(std::uint32_t gpu_slots, std::uint32_t copy_retries) {
    configuration config = sparse_only(gpu_slots, 8);
    config.copy_retries = copy_retries;
    return config;
  }
};

} // namespace

TEST_CASE("blocks on the host are loaded once for all prefills that need them, and decoders keep the host page") {
  on_host r;
  const row_seq seq = r.requests.at(R1).seq;
  auto opened = r.open(R2, "ABy");
  REQUIRE(opened.matched_tokens == 8);
  REQUIRE(opened.loading);
  REQUIRE(r.copies_of(move_kind::load) == 2);
  for (block_ordinal o = 0; o < 2; ++o)
    REQUIRE_FALSE(r.page(R2, o).ready);
  auto second = r.open(R3, "ABz");
  REQUIRE(second.loading);
  REQUIRE(r.under_way.size() == 2);
  r.copies_end();
  for (request_id id : {R2, R3}) {
    REQUIRE(r.requests.at(id).loads.size() == 1);
    REQUIRE_FALSE(r.requests.at(id).loads[0].lost);
    REQUIRE(r.tiers(id) == "gg");
  }
  REQUIRE(r.page(R2, 0).slot == r.page(R3, 0).slot);
  REQUIRE(r.tiers(R1) == "hhg");
  REQUIRE(r.requests.at(R1).seq == seq);
  REQUIRE(r.counters().pages_loaded == 2);
}

TEST_CASE("a request that joins when the load has ended is not loading") {
  on_host r;
  r.open(R2, "ABy");
  r.copies_end();
  auto opened = r.open(R3, "ABz");
  REQUIRE(opened.matched_tokens == 8);
  REQUIRE_FALSE(opened.loading);
  REQUIRE(r.under_way.empty());
}

TEST_CASE("after a load decode entry goes back to the host without a copy, and the GPU page ends with its last owner") {
  on_host r;
  r.open(R2, "ABy");
  r.open(R3, "ABz");
  r.copies_end();
  auto entered = r.enter_decode(R2);
  REQUIRE(entered.rebound == 2);
  REQUIRE(r.under_way.empty());
  REQUIRE(r.tiers(R2) == "hh");
  REQUIRE(r.taken(tier::gpu) == 3);
  r.close(R3);
  REQUIRE(r.taken(tier::gpu) == 1); // x
  REQUIRE(r.counters().pages_rebound_without_copy == 2);
  REQUIRE(r.taken(tier::host) == 2);
}

TEST_CASE("C2: a host page stays while its block is loaded, whoever needs host slots") {
  // C2: the source was pinned only until the copy was submitted.
  configuration config = sparse_only(12, 2);
  registry_rig r(config);
  r.prefill(R1, "ABx");
  r.enter_decode(R1);
  r.copies_end();
  r.close(R1); // idle, evictable
  r.prefill(R3, "CDz");
  REQUIRE(r.open(R2, "ABy").loading);
  REQUIRE(r.enter_decode(R3).refused);
  r.submit();
  REQUIRE(r.enter_decode(R3).refused);
  r.copies_end();
  REQUIRE(r.enter_decode(R3).refused); // rule 7: a GPU page loaded from it has an owner
  r.close(R2);
  REQUIRE_FALSE(r.enter_decode(R3).refused);
}

TEST_CASE("recompute ends the match before a block that is on the host only") {
  configuration config = sparse_only(12, 8);
  config.on_host_hit = host_hit_policy::recompute;
  registry_rig r(config);
  r.prefill(R1, "ABx");
  r.enter_decode(R1);
  const gpu_slot first{r.page(R1, 0).slot};
  r.copies_end_if([&](const page_move& move) { return move.gpu != first; });
  REQUIRE(r.page(R1, 0).on == tier::gpu); // failed, and under way again
  REQUIRE(r.page(R1, 1).on == tier::host);
  auto opened = r.open(R2, "ABy");
  REQUIRE(opened.matched_tokens == 4);
  REQUIRE_FALSE(opened.loading);
}

TEST_CASE("an open without GPU slots for its loads is refused, and nothing is held") {
  on_host r(3);
  REQUIRE(r.taken(tier::gpu) == 1);
  r.open(R3, "Cz");
  r.grow(R3, 1);
  auto opened = r.open(R2, "ABy");
  REQUIRE(opened.refused);
  REQUIRE(opened.why.code == error_code::gpu_full);
  REQUIRE(opened.why.numbers->needed == 2);
  REQUIRE(opened.why.numbers->free == 1);
  REQUIRE(r.taken(tier::gpu) == 2);
  REQUIRE(r.under_way.empty());
  r.close(R2);
  REQUIRE(r.registry.find_claim(R2) == nullptr);
}

TEST_CASE("a load that fails is tried again as often as said, then the match ends before the lost block") {
  on_host r(12, 2);
  r.open(R2, "ABy");
  const move_id first = r.under_way[1].move;
  const auto lost_host = r.under_way[1].host;
  auto all_but_b = [&](const page_move& move) { return move.host != lost_host; };
  r.copies_end_if(all_but_b);
  REQUIRE(r.under_way.size() == 1);
  REQUIRE(r.under_way[0].move != first);
  r.copies_end_if(all_but_b);
  REQUIRE(r.requests.at(R2).loads.empty());
  r.copies_end_if(all_but_b);
  REQUIRE(r.under_way.empty());
  REQUIRE(r.requests.at(R2).loads.size() == 1);
  REQUIRE(r.requests.at(R2).loads[0].lost);
  REQUIRE(r.requests.at(R2).loads[0].blocks == 1);
  REQUIRE(r.tiers(R2) == "g");
  REQUIRE(r.tiers(R1) == "hhg");
  REQUIRE(r.taken(tier::gpu) == 2);
  REQUIRE(r.counters().copies_failed == 3);
  REQUIRE_FALSE(r.grow(R2, 3).refused); // it goes on from there
  r.write(R2, 2);
  REQUIRE(r.commit(R2, 2).committed_blocks == 2);
}

TEST_CASE("a load that fails for good cuts all who waited for it, once each") {
  on_host r(12, 0);
  r.open(R2, "ABy");
  r.open(R3, "ABz");
  r.copies_end(false);
  for (request_id id : {R2, R3}) {
    REQUIRE(r.requests.at(id).loads.size() == 1);
    REQUIRE(r.requests.at(id).loads[0].blocks == 0);
  }
  REQUIRE(r.taken(tier::gpu) == 1);
  r.close(R2);
  r.close(R3);
  r.check_quiet();
}

TEST_CASE("a request that suspends while loading is not told of the end, and the pages are given up") {
  on_host r;
  r.open(R2, "ABy");
  REQUIRE_FALSE(r.suspend(R2).refused);
  REQUIRE(r.tiers(R2) == "hh");
  r.copies_end();
  REQUIRE(r.requests.at(R2).loads.empty());
  REQUIRE(r.taken(tier::gpu) == 1);
  auto resumed = r.resume(R2);
  REQUIRE(resumed.loading);
  r.copies_end();
  REQUIRE(r.requests.at(R2).loads.size() == 1);
}

TEST_CASE("a request that suspends and resumes while loading waits for the load under way, not for a second one") {
  on_host r;
  r.open(R2, "ABy");
  r.suspend(R2);
  auto resumed = r.resume(R2);
  REQUIRE(resumed.loading);
  REQUIRE(r.under_way.size() == 2);
  r.copies_end();
  REQUIRE(r.requests.at(R2).loads.size() == 1);
  REQUIRE(r.tiers(R2) == "gg");
}

TEST_CASE("a request that closes while loading leaves the load to end by itself") {
  on_host r;
  r.open(R2, "ABy");
  r.close(R2);
  REQUIRE(r.taken(tier::gpu) == 3); // source and target of copies
  r.copies_end();
  REQUIRE(r.taken(tier::gpu) == 1);
  REQUIRE(r.tiers(R1) == "hhg");
}

TEST_CASE("A2: a load comes after the readers and writers of the slot it goes to") {
  // A2: a freed page was loaded into while an earlier request still read it.
  registry_rig r(sparse_only(3, 8));
  r.prefill(R1, "Ax");
  r.enter_decode(R1);
  r.copies_end();
  r.open(R3, "Cz");
  r.grow(R3, 2);
  r.transit(R3, transition::advance, 8, 0, {}, fence{stream_id{1}, 3});
  r.close(R3, fence{stream_id{2}, 7});
  r.send(fence_passed{fence{stream_id{1}, 3}});
  r.grow(R1, 2);
  r.open(R4, "Dw");
  r.grow(R4, 1);
  REQUIRE(r.open(R2, "Ay").loading);
  REQUIRE(r.last_copies.before_to_gpu.sequence_on(stream_id{2}) == 7);
  REQUIRE(r.last_copies.before_to_gpu.sequence_on(stream_id{1}) == 0); // has passed
}

} // namespace kvferry::test
