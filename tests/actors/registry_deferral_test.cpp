// Blocks that cannot move yet: who blocks them, and what lets them go.
#include "tests/actors/registry_rig.hpp"

namespace kvferry::test {

namespace {

/// R1 decodes over A and B, which R2 keeps on the GPU.
struct blocked : registry_rig {
  explicit blocked(std::optional<std::uint32_t> defer_steps_max) : registry_rig(bounded(defer_steps_max)) {
    prefill(R1, "ABx");
    prefill(R2, "ABy");
    auto entered = enter_decode(R1);
    REQUIRE_FALSE(entered.refused); // 4.2: decode admission succeeds
    if (defer_steps_max == 0u)
      return;
    REQUIRE(entered.deferred == 2);
    REQUIRE(entered.moving == 0);
    REQUIRE(under_way.empty());
  }

  static configuration bounded(std::optional<std::uint32_t> defer_steps_max) {
    configuration config = sparse_only(12, 8);
    config.defer_steps_max = defer_steps_max;
    return config;
  }
};

using list = std::vector<std::string>;

} // namespace

TEST_CASE("a block that a prefill needs stays on the GPU, and why names its owners") {
  blocked r(std::nullopt);
  REQUIRE(r.why_on_gpu(R1, 0) == list{"R2.0"});
  REQUIRE(r.why_on_gpu(R1, 1) == list{"R2.1"});
  REQUIRE(r.why_on_gpu(R1, 2).empty()); // not complete: it does not want to move
  REQUIRE(r.why_on_gpu(R2, 0).empty());
  r.open(R3, "ABz");
  REQUIRE(r.why_on_gpu(R1, 0) == list{"R2.0", "R3.0"});
  r.close(R2);
  REQUIRE(r.why_on_gpu(R1, 0) == list{"R3.0"});
  REQUIRE(r.counters().pages_deferred == 2);
}

TEST_CASE("when the last blocker leaves each block is copied once, for all") {
  const std::string how = GENERATE(as<std::string>{}, "enters decode", "suspends", "closes", "dies");
  INFO(how);
  blocked r(std::nullopt);
  r.open(R3, "ABz"); // in prefill, too
  r.close(R3);
  REQUIRE(r.under_way.empty());
  if (how == "enters decode")
    r.enter_decode(R2);
  else if (how == "suspends")
    r.suspend(R2);
  else if (how == "closes")
    r.close(R2);
  else
    r.die(R2);
  REQUIRE(r.copies_of(move_kind::offload) == 2);
  REQUIRE(r.count<copy_pages>() == 1); // in that handling, in one message
  r.copies_end();
  REQUIRE(r.tiers(R1) == "hhg");
  REQUIRE(r.counters().pages_offloaded == 2);
  REQUIRE(r.counters().pages_retried == 2);
  r.check_quiet();
}

TEST_CASE("two decoders over a block that was deferred get it with one copy") {
  blocked r(std::nullopt);
  r.enter_decode(R2);
  REQUIRE(r.under_way.size() == 2);
  r.copies_end();
  REQUIRE(r.tiers(R1) == "hhg");
  REQUIRE(r.tiers(R2) == "hhg");
  REQUIRE(r.page(R1, 1).slot == r.page(R2, 1).slot);
  REQUIRE(r.taken(tier::host) == 2);
}

TEST_CASE("suspended owners block nothing") {
  registry_rig r(sparse_only(12, 8));
  r.prefill(R1, "ABx");
  r.prefill(R2, "ABy");
  r.suspend(R2);
  REQUIRE(r.enter_decode(R1).moving == 2);
  r.copies_end();
  REQUIRE(r.tiers(R1) == "hhg");
  REQUIRE(r.tiers(R2) == "hhg"); // it needs nothing
}

TEST_CASE("the bound copies a deferred block while its blockers keep the GPU page") {
  blocked r(3);
  r.publish();
  r.publish();
  REQUIRE(r.under_way.empty());
  r.publish();
  REQUIRE(r.copies_of(move_kind::offload) == 2);
  REQUIRE(r.why_on_gpu(R1, 0) == list{"R2.0", "copying"});
  r.copies_end();
  REQUIRE(r.tiers(R1) == "hhg");
  REQUIRE(r.tiers(R2) == "ggg");
  REQUIRE(r.requests.at(R2).rebounds == 0);
  r.enter_decode(R2); // without a copy
  REQUIRE(r.under_way.empty());
  REQUIRE(r.tiers(R2) == "hhg");
  REQUIRE(r.taken(tier::gpu) == 2);
}

TEST_CASE("new blockers do not restart the bound") {
  blocked r(3);
  r.publish();
  r.publish();
  r.open(R3, "ABz");
  r.close(R2);
  r.publish();
  REQUIRE(r.copies_of(move_kind::offload) == 2);
}

TEST_CASE("publications of nothing new count for the bound") {
  blocked r(1);
  r.send(rows_published{the_batch, 7, {}, {}, {}, {}});
  REQUIRE(r.copies_of(move_kind::offload) == 2);
}

TEST_CASE("a publication for which no publisher was asked counts for the bound, and what it lets go is submitted") {
  blocked r(1);
  r.send(published_unchanged{the_batch});
  REQUIRE(r.count<submit_copies>() == 1);
  REQUIRE(r.copies_of(move_kind::offload) == 2);
}

TEST_CASE("a bound of 0 copies at once") {
  blocked r(0);
  REQUIRE(r.copies_of(move_kind::offload) == 2);
  r.copies_end();
  REQUIRE(r.tiers(R1) == "hhg");
  REQUIRE(r.tiers(R2) == "ggg");
}

TEST_CASE("without a bound a block waits for its blockers however long") {
  blocked r(std::nullopt);
  for (int i = 0; i < 100; ++i)
    r.publish();
  REQUIRE(r.under_way.empty());
  REQUIRE(r.tiers(R1) == "ggg");
}

TEST_CASE("a deferred block whose decoders have left is copied for nobody") {
  blocked r(1);
  r.close(R1);
  r.publish();
  REQUIRE(r.under_way.empty());
  r.enter_decode(R2); // its own move, which nothing blocks
  REQUIRE(r.copies_of(move_kind::offload) == 2);
}

// Was wrong once: blocks that are blocked and whose bound is 0 are copied at once, yet not counted when the call is
// planned. 4.1: reservation is all or nothing where the call can be refused; here the entry is accepted and its blocks
// wait with host_full.
TEST_CASE("with a bound of 0 blocked blocks count when decode entry is refused for a full host") {
  configuration config = sparse_only(12, 1);
  config.defer_steps_max = 0;
  registry_rig r(config);
  r.prefill(R1, "ABx");
  r.prefill(R2, "ABy");
  auto entered = r.enter_decode(R1);
  REQUIRE(entered.refused);
  REQUIRE(entered.why.code == error_code::host_full);
}

} // namespace kvferry::test
