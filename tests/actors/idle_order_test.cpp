// In which order idle pages are taken.
#include "actors/idle_order.hpp"

#include <deque>
#include <random>
#include <set>

#include "tests/catch.hpp"
#include "tests/device/death.hpp"

namespace kvferry::test {

namespace {

/// Idle blocks whose ids are the order in which they became idle.
struct idle_rig {
  block& add(std::uint64_t since) {
    block& b = blocks.emplace_back();
    b.id = block_id{since};
    b.idle_since = since;
    return b;
  }

  static std::vector<std::uint64_t> order(const idle_list& list) {
    std::vector<std::uint64_t> ids;
    for (const block* b = list.front(); b != nullptr; b = list.after(*b))
      ids.push_back(b->id.value());
    REQUIRE(ids.size() == list.size());
    return ids;
  }

  std::deque<block> blocks;
  idle_pages idle;
};

using ids = std::vector<std::uint64_t>;

} // namespace

TEST_CASE("the page that became idle first is taken first, in whatever order pages are listed") {
  idle_rig r;
  for (std::uint64_t since : {3, 1, 4, 2}) // acknowledgements list pages later than they became idle
    r.idle.gpu_only.insert(r.add(since));
  REQUIRE(r.order(r.idle.gpu_only) == ids{1, 2, 3, 4});
}

TEST_CASE("the order holds however pages come and go") {
  idle_rig r;
  std::mt19937 random(7);
  std::set<std::uint64_t> listed;
  std::vector<block*> blocks(200);
  for (std::uint64_t since = 0; since < blocks.size(); ++since)
    blocks[since] = &r.add(since + 1);
  for (int i = 0; i < 2000; ++i) {
    block& b = *blocks[random() % blocks.size()];
    if (listed.erase(b.idle_since) != 0) {
      r.idle.host.remove(b);
    } else {
      r.idle.host.insert(b);
      listed.insert(b.idle_since);
    }
    REQUIRE(r.order(r.idle.host) == ids(listed.begin(), listed.end()));
  }
}

TEST_CASE("a page leaves the list wherever it stands") {
  idle_rig r;
  std::vector<block*> blocks;
  for (std::uint64_t since : {1, 2, 3, 4}) {
    blocks.push_back(&r.add(since));
    r.idle.host.insert(*blocks.back());
  }
  r.idle.host.remove(*blocks[1]);
  REQUIRE(r.order(r.idle.host) == ids{1, 3, 4});
  r.idle.host.remove(*blocks[0]);
  r.idle.host.remove(*blocks[3]);
  REQUIRE(r.order(r.idle.host) == ids{3});
  r.idle.host.insert(*blocks[0]);
  REQUIRE(r.order(r.idle.host) == ids{1, 3});
  r.idle.host.remove(*blocks[0]);
  r.idle.host.remove(*blocks[2]);
  REQUIRE(r.idle.host.empty());
  REQUIRE(r.idle.host.front() == nullptr);
}

TEST_CASE("a page that a published row may still name is idle and cannot be taken") {
  idle_rig r;
  block& named = r.add(1);
  block& clean = r.add(2);
  block& only = r.add(3);
  r.idle.gpu_named.insert(named);
  r.idle.host_named.insert(named);
  r.idle.gpu_clean.insert(clean);
  r.idle.host.insert(clean);
  r.idle.gpu_only.insert(only);
  REQUIRE(r.idle.gpu_available() == 2);
  REQUIRE_FALSE(r.idle.gives_gpu(named));
  REQUIRE_FALSE(r.idle.gives_host(named));
  for (const block* b : {&clean, &only})
    REQUIRE(r.idle.gives_gpu(*b));
  REQUIRE(r.idle.gives_host(clean));
  REQUIRE_FALSE(r.idle.gives_host(only));
}

TEST_CASE("a block's pages are listed on each tier, and both go with it") {
  idle_rig r;
  block& b = r.add(1);
  b.host = host_slot{5};
  r.idle.gpu_clean.insert(b);
  r.idle.host.insert(b);
  r.idle.remove(b);
  REQUIRE(r.idle.gpu_clean.empty());
  REQUIRE(r.idle.host.empty());
  r.idle.remove(b); // nothing is listed: nothing happens
  r.idle.host.insert(b);
  r.idle.remove(b);
  REQUIRE(r.idle.host.empty());
}

TEST_CASE("C16: a page is never listed twice and never taken out twice") {
  idle_rig r;
  block& b = r.add(1);
  r.idle.host.insert(b);
  REQUIRE_THAT(words_of_death([&] { r.idle.host.insert(b); }), ContainsSubstring("block 1 is in an idle list already"));
  r.idle.host.remove(b);
  REQUIRE_THAT(words_of_death([&] { r.idle.host.remove(b); }), ContainsSubstring("block 1 is not in the idle list"));
}

} // namespace kvferry::test
