// Copies that fail, come late, come twice.
#include "tests/actors/registry_rig.hpp"

namespace kvferry::test {

namespace {

using list = std::vector<std::string>;

/// R1's complete blocks are under way.
struct entering : registry_rig {
  explicit entering(std::uint32_t copy_retries, const std::string& text = "Ax") : registry_rig(trying(copy_retries)) {
    prefill(R1, text);
    enter_decode(R1);
  }

  static configuration trying(std::uint32_t copy_retries) {
    configuration config = sparse_only(12, 4);
    config.copy_retries = copy_retries;
    return config;
  }
};

/// All tries of R1's copy have failed.
struct given_up : entering {
  given_up() : entering(3) {
    for (int tries = 0; tries < 4; ++tries) {
      REQUIRE(under_way.size() == 1);
      copies_end(false);
    }
    REQUIRE(under_way.empty());
  }
};

} // namespace

TEST_CASE("a failed copy is submitted again in that handling, three times, and then the block stays") {
  given_up r;
  REQUIRE(r.tiers(R1) == "gg");
  REQUIRE(r.why_on_gpu(R1, 0) == list{"copy_failed"});
  REQUIRE(r.taken(tier::host) == 0);
  REQUIRE(r.counters().copies_failed == 4);
  REQUIRE(r.requests.at(R1).rebounds == 0);
  r.publish();
  r.write(R1, 2); // nothing polls it
  for (const page_move& move : r.under_way)
    REQUIRE(move.gpu.value() != r.page(R1, 0).slot);
}

TEST_CASE("a copy that was given up is tried again when an owner leaves") {
  given_up r;
  r.prefill(R2, "Ay");
  r.suspend(R2);
  REQUIRE(r.under_way.empty());
  r.close(R2);
  REQUIRE(r.copies_of(move_kind::offload) == 1);
  r.copies_end();
  REQUIRE(r.tiers(R1) == "hg");
}

TEST_CASE("a copy that was given up is tried again when the engine asks again") {
  given_up r;
  auto again = r.enter_decode(R1);
  REQUIRE(again.moving == 1);
  r.copies_end();
  REQUIRE(r.tiers(R1) == "hg");
}

TEST_CASE("without retries the first failure is the last") {
  entering r(0);
  r.copies_end(false);
  REQUIRE(r.under_way.empty());
  REQUIRE(r.why_on_gpu(R1, 0) == list{"copy_failed"});
}

TEST_CASE("a page that failed does no harm to the others of its batch") {
  entering r(0, "ABCx");
  const auto victim = r.under_way[1].gpu;
  r.copies_end_if([&](const page_move& move) { return move.gpu != victim; });
  REQUIRE(r.tiers(R1) == "hghg");
  REQUIRE(r.taken(tier::host) == 2);
}

TEST_CASE("a completion that comes late or twice is ignored") {
  entering r(3);
  const page_move move = r.under_way[0];
  r.copies_end();
  const row_seq seq = r.requests.at(R1).seq;
  const bool gone = GENERATE(false, true); // the block has gone meanwhile
  const move_result again =
      GENERATE_COPY(move_result{move.move, move.block, move_outcome::completed},
                    move_result{move.move, move.block, move_outcome::failed},
                    move_result{move_id{999}, move.block, move_outcome::completed}); // a number that was never given
  if (gone)
    r.close(R1);
  r.send(copies_done{{again}});
  REQUIRE(r.sent.empty());
  REQUIRE(r.counters().pages_offloaded == 1);
  REQUIRE(r.counters().copies_failed == 0);
  if (r.registry.find_claim(R1) != nullptr)
    REQUIRE(r.registry.find_claim(R1)->seq == seq);
}

TEST_CASE("the completion of an earlier try does not end a later one") {
  entering r(3);
  const page_move first = r.under_way[0];
  r.copies_end(false);
  r.send(copies_done{{{first.move, first.block, move_outcome::completed}}});
  REQUIRE(r.tiers(R1) == "gg");
  REQUIRE(r.counters().copies == 1);
  r.copies_end();
  REQUIRE(r.tiers(R1) == "hg");
}

TEST_CASE("C7: a request that ends during its copies gives its pages back when they are done") {
  // C7: exactly one release, before, during and after the copy.
  registry_rig r(sparse_only(4, 4));
  const bool ok = GENERATE(true, false);
  r.open(R1, "ABx");
  r.grow(R1, 3);
  r.write(R1, 2); // private: not in the index
  r.enter_decode(R1);
  r.close(R1);
  REQUIRE(r.taken(tier::gpu) == 2); // sources
  REQUIRE(r.taken(tier::host) == 2);
  r.copies_end(ok);
  REQUIRE(r.under_way.empty());
  REQUIRE(r.taken(tier::gpu) == 0);
  REQUIRE(r.taken(tier::host) == 0);
  REQUIRE(r.counters().slots_in_use == 0);
}

TEST_CASE("a block of the index whose request ends during its copy stays there, on both tiers") {
  entering r(3);
  r.close(R1);
  r.copies_end();
  REQUIRE(r.counters().slots_in_use == 0); // idle, both pages
  REQUIRE(r.taken(tier::gpu) == 1);
  REQUIRE(r.taken(tier::host) == 1);
  auto opened = r.open(R2, "Ay");
  REQUIRE(opened.matched_tokens == 4);
  REQUIRE_FALSE(opened.loading);
}

TEST_CASE("the end of a step passes what was decided on to storage") {
  entering r(3);
  r.send(flush_copies{});
  REQUIRE(r.count<submit_copies>() == 1);
  r.send(flush_copies{}); // nothing since then
  REQUIRE(r.count<submit_copies>() == 0);
}

} // namespace kvferry::test
