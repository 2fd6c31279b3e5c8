// What routers outside are told of the prefix index: each block and tier once, when its bytes are there.
#include "runtime/held_router_events.hpp"
#include "tests/actors/random_calls.hpp"
#include "tests/actors/router_view.hpp"

namespace kvferry::test {

namespace {

configuration listened(configuration config) {
  config.router_events_max = 1;
  return config;
}

/// A registry with a router that hears all it says.
struct router_rig : registry_rig {
  explicit router_rig(const configuration& c) : registry_rig(listened(c)) {
    watch = [this](const any_message&, const std::vector<outgoing>& all) {
      for (const outgoing& each : all)
        if (const auto* changed = each.body.get_if<index_changed>()) {
          held_router_events held(changed->events.size());
          held.add(*changed);
          router.take({false, 0, held.take()});
        }
    };
  }

  void pass(fence up_to) { send(fence_passed{up_to}); }

  router_news listing() {
    send(query_index{call_id{6}});
    held_router_events held(0);
    return {true, 0, held.take(only<index_told>())};
  }

  router_view router;
};

const stream_id one{1}, two{2};

} // namespace

TEST_CASE("a router is told of committed blocks, parents first, with all it needs to know them by") {
  router_rig r(sparse_only(8, 8));
  r.open(R1, "ABx", "adapter", "salt");
  r.grow(R1, 3);
  r.write(R1, 2);
  REQUIRE(r.router.heard() == "");
  r.commit(R1, 2);
  const auto told = r.only<index_changed>();
  REQUIRE(told.first == 1);
  REQUIRE(told.events.size() == 2);
  const block_keys keys = r.keys_of("AB", 0, 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const index_event& e = told.events[i];
    REQUIRE(e.what == index_change::stored);
    REQUIRE(e.on == tier::gpu);
    REQUIRE(e.hash == keys.hashes[i]);
    REQUIRE(e.parent == (i == 0 ? std::optional<std::uint64_t>{} : keys.hashes[0]));
    REQUIRE(e.tokens == std::vector<token>(keys.tokens.begin() + i * 4, keys.tokens.begin() + i * 4 + 4));
    REQUIRE(e.adapter == "adapter");
    REQUIRE(e.salt == "salt");
  }
  REQUIRE(r.router.heard() == "stored A:gpu, stored AB:gpu");
  r.close(R1); // idle, and still there
  REQUIRE(r.router.heard() == "");
}

TEST_CASE("nothing is told when no router listens, and nothing more is watched") {
  registry_rig r(sparse_only(8, 8));
  r.open(R1, "Ax");
  r.grow(R1, 2);
  r.write(R1, 1, fence{one, 5});
  r.commit(R1, 1);
  REQUIRE(r.count<index_changed>() == 0);
  REQUIRE(r.count<watch_fences>() == 0);
  r.send(fence_passed{fence{one, 5}});
  REQUIRE(r.sent.empty());
}

TEST_CASE("a block is told when all that writes it has passed") {
  router_rig r(sparse_only(8, 8));
  r.open(R1, "ABx");
  r.grow(R1, 3);
  r.write(R1, 1, fence{one, 5});
  r.write(R1, 2, fence{two, 7});
  r.commit(R1, 2);
  REQUIRE(r.router.heard() == "");
  const fence_set watched = r.only<watch_fences>().fences;
  REQUIRE(watched.sequence_on(one) == 5);
  REQUIRE(watched.sequence_on(two) == 7);
  r.pass({one, 4});
  REQUIRE(r.router.heard() == "");
  r.pass({one, 5});
  REQUIRE(r.router.heard() == "stored A:gpu");
  r.pass({two, 6});
  REQUIRE(r.router.heard() == "");
  r.pass({two, 7});
  REQUIRE(r.router.heard() == "stored AB:gpu");
}

TEST_CASE("what is written behind a fence that is watched is watched when that has passed") {
  router_rig r(sparse_only(8, 8));
  r.open(R1, "ABx");
  r.grow(R1, 3);
  r.write(R1, 1, fence{one, 5});
  r.commit(R1, 1);
  r.write(R1, 2, fence{one, 6});
  r.commit(R1, 2);
  REQUIRE(r.count<watch_fences>() == 0); // in its place 5 would not be told of before 6 has passed
  r.pass({one, 5});
  REQUIRE(r.router.heard() == "stored A:gpu");
  REQUIRE(r.only<watch_fences>().fences.sequence_on(one) == 6);
  r.pass({one, 6});
  REQUIRE(r.router.heard() == "stored AB:gpu");
}

TEST_CASE("private blocks are never told") {
  router_rig r(sparse_only(3, 8));
  r.open(R1, "ABx");
  r.grow(R1, 3);
  r.write(R1, 2);
  r.enter_decode(R1);
  r.copies_end();
  r.suspend(R1);
  r.close(R1);
  REQUIRE(r.router.heard() == "");
}

TEST_CASE("a block that is copied to the host moves when the copy is done, and not before") {
  router_rig r(sparse_only(8, 8));
  r.prefill(R1, "ABx");
  r.router.heard();
  r.enter_decode(R1);
  r.submit();
  REQUIRE(r.router.heard() == "");
  r.copies_end();
  REQUIRE(r.router.heard() == "moved A:host, moved AB:host");
}

TEST_CASE("a copy that fails is not told") {
  configuration config = sparse_only(8, 8);
  config.copy_retries = 0;
  router_rig r(config);
  r.prefill(R1, "Ax");
  r.enter_decode(R1);
  r.copies_end(false);
  REQUIRE(r.router.heard() == "stored A:gpu");
}

TEST_CASE("a block that a prefill still needs is on both tiers, until that lets go") {
  router_rig r(sparse_only(8, 8));
  r.prefill(R1, "Ax");
  r.enter_decode(R1);
  r.open(R2, "Ay"); // joins while the copy runs
  r.copies_end();
  REQUIRE(r.router.heard() == "stored A:gpu, stored A:host");
  r.enter_decode(R2);
  REQUIRE(r.router.heard() == "removed A:gpu");
}

TEST_CASE("a block that is loaded is there when the load is done") {
  router_rig r(sparse_only(8, 8));
  r.prefill(R1, "Ax");
  r.enter_decode(R1);
  r.copies_end();
  r.router.heard();
  r.open(R2, "Ay");
  r.submit();
  REQUIRE(r.router.heard() == "");
  SECTION("it ends well") {
    r.copies_end();
    REQUIRE(r.router.heard() == "stored A:gpu");
  }
  SECTION("it fails for good") {
    r.copies_end_if([](const page_move&) { return false; });
    while (!r.under_way.empty())
      r.copies_end(false);
    REQUIRE(r.router.heard() == "");
  }
  REQUIRE(r.router.text().find("A:host") != std::string::npos);
}

TEST_CASE("a demoted block is gone at once, and there again when its copy is done") {
  router_rig r(sparse_only(3, 8));
  r.prefill(R1, "ABx");
  r.close(R1);
  r.router.heard();
  r.open(R2, "Cy");
  r.grow(R2, 2);
  REQUIRE(r.router.heard() == "removed AB:gpu");
  SECTION("it ends well") {
    r.copies_end();
    REQUIRE(r.router.heard() == "stored AB:host");
  }
  SECTION("it fails") {
    r.copies_end(false);
    REQUIRE(r.router.heard() == "");
  }
  SECTION("somebody has committed the same meanwhile") {
    r.submit();
    r.close(R2);
    REQUIRE(r.open(R3, "ABz").matched_tokens == 4);
    REQUIRE_FALSE(r.grow(R3, 3).refused);
    r.write(R3, 2);
    r.commit(R3, 2);
    REQUIRE(r.router.heard() == "stored AB:gpu");
    r.copies_end();
    REQUIRE(r.router.heard() == "");
  }
}

TEST_CASE("a block that is dropped is gone") {
  SECTION("from the GPU, for want of room on the host") {
    router_rig r(sparse_only(3, 0));
    r.prefill(R1, "ABx");
    r.close(R1);
    r.router.heard();
    r.prefill(R2, "Cy");
    REQUIRE(r.router.heard() == "removed AB:gpu, stored C:gpu");
  }
  SECTION("from the host, for another that moves there") {
    router_rig r(sparse_only(8, 1));
    r.prefill(R1, "Ax");
    r.enter_decode(R1);
    r.copies_end();
    r.close(R1);
    r.prefill(R2, "By");
    r.router.heard();
    r.enter_decode(R2);
    REQUIRE(r.router.heard() == "removed A:host");
    r.copies_end();
    REQUIRE(r.router.heard() == "moved B:host");
  }
}

TEST_CASE("C4: a prefix that splits while its copies run is told whole") {
  // C4: the split lost the event of one half.
  router_rig r(sparse_only(12, 8));
  r.prefill(R1, "ABCx");
  r.router.heard();
  r.enter_decode(R1);
  r.open(R2, "ABDy");
  r.copies_end();
  REQUIRE(r.router.heard() == "stored A:host, stored AB:host, moved ABC:host");
  r.grow(R2, 4);
  r.write(R2, 3);
  r.commit(R2, 3);
  REQUIRE(r.router.heard() == "stored ABD:gpu");
}

TEST_CASE("C14: of two equal prompts one block is told, and gone once") {
  // C14: the first eviction hid the other block, and its removal was never told.
  router_rig r(sparse_only(8, 8));
  const bool first_ends = GENERATE(true, false);
  for (request_id id : {R1, R2}) {
    r.open(id, "Ax");
    r.grow(id, 2);
    r.write(id, 1, fence{id == R1 ? one : two, 1});
  }
  r.commit(R1, 1);
  r.commit(R2, 1); // a duplicate: R1's page is still written on the other stream
  REQUIRE(r.page(R1, 0).slot != r.page(R2, 0).slot);
  r.pass({one, 1});
  r.pass({two, 1});
  REQUIRE(r.router.heard() == "stored A:gpu");
  r.close(first_ends ? R1 : R2);
  r.close(first_ends ? R2 : R1);
  REQUIRE(r.router.heard() == "");
  r.open(R3, "Dzzzzzzz");
  REQUIRE_FALSE(r.grow(R3, 8).refused); // everything idle goes
  REQUIRE(r.router.heard() == "removed A:gpu");
}

TEST_CASE("a page that becomes that of a block on the host is told when it is written") {
  router_rig r(sparse_only(8, 8));
  r.open(R2, "Ay");
  r.grow(R2, 2);
  r.write(R2, 1, fence{two, 3});
  r.prefill(R1, "Ax");
  r.enter_decode(R1);
  r.copies_end();
  REQUIRE(r.router.heard() == "stored A:gpu, moved A:host");
  r.commit(R2, 1);
  REQUIRE(r.router.heard() == "");
  r.pass({two, 3});
  REQUIRE(r.router.heard() == "stored A:gpu");
}

TEST_CASE("a listing has all that was told, parents first, and the number of the last event") {
  router_rig r(sparse_and_dense(8, 8));
  r.prefill(R1, "ABx");
  r.enter_decode(R1);
  r.copies_end();
  r.open(R2, "ACy"); // loads A
  r.copies_end();
  r.grow(R2, 3);
  r.write(R2, 2);
  r.commit(R2, 2);
  const router_news listed = r.listing();
  router_view fresh;
  fresh.take(listed);
  REQUIRE(fresh.text() == "A/1:gpu A:gpu A:host AB/1:gpu AB:host AC/1:gpu AC:gpu");
  REQUIRE(fresh.text() == r.router.text());
  for (const router_event& e : listed.events)
    REQUIRE(e.number == listed.events.front().number);
  r.prefill(R3, "Dz");
  REQUIRE(r.only<index_changed>().first == listed.events.front().number + 1);
}

TEST_CASE("the events of random calls give what is in the index, whatever happened on the way") {
  const std::vector<configuration> all = small_pools();
  for (std::uint32_t seed = 1; seed <= 1000; ++seed) {
    INFO("seed " << seed);
    router_rig r(all[seed % all.size()]);
    random_calls calls(r, seed);
    std::map<block_id, const block*> seen; // records stay readable: they are reused, not freed
    auto look = [&] {
      for (const auto& [id, replica] : r.requests)
        if (const claim* c = r.registry.find_claim(id))
          for (const auto& table : c->tables)
            for (const claim_entry& entry : table)
              if (entry.held != nullptr)
                seen.emplace(entry.held->id, entry.held);
    };
    auto require_same = [&] {
      std::set<std::pair<block_id, tier>> there;
      for (const auto& [id, b] : seen)
        if (b->id == id && b->node != nullptr) {
          if (b->has_gpu())
            there.emplace(id, tier::gpu);
          if (b->has_host())
            there.emplace(id, tier::host);
        }
      REQUIRE(r.router.there() == there);
      router_view fresh;
      fresh.take(r.listing());
      REQUIRE(fresh.there() == there);
    };
    for (int i = 1; i <= 120; ++i) {
      calls.step();
      look();
      if (i % 40 == 0) {
        calls.settle();
        require_same();
      }
    }
    calls.end();
    calls.settle();
    require_same();
  }
}

} // namespace kvferry::test
