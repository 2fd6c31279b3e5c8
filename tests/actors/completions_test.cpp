// Completions: each submission and each watch is heard of once, whatever comes first.
#include "actors/completions.hpp"

#include "tests/actors/probe.hpp"

namespace kvferry::test {

namespace {

const stream_id one{1}, two{2};
using numbers = std::vector<std::uint32_t>;

fence_set both(std::uint64_t on_one, std::uint64_t on_two) {
  fence_set set = fence{one, on_one};
  set.add(fence{two, on_two});
  return set;
}

} // namespace

TEST_CASE("a submission is heard of when its fence has passed, and once") {
  probe<completions> c;
  c.send(watch_copies{{one, 3}});
  REQUIRE(c.sent.empty());
  REQUIRE(c.state.in_flight() == 1);
  c.send(streams_progressed{both(2, 9), {}});
  REQUIRE(c.sent.empty());
  c.send(streams_progressed{both(3, 9), {}});
  REQUIRE(c.only<copy_completed>().submitted == fence{one, 3});
  REQUIRE(c.only<copy_completed>().failed.empty());
  REQUIRE(c.state.in_flight() == 0);
  c.send(streams_progressed{both(4, 9), {}});
  REQUIRE(c.sent.empty());
}

TEST_CASE("submissions end by stream, those of one stream in their order") {
  probe<completions> c;
  c.send(watch_copies{{one, 3}});
  c.send(watch_copies{{two, 1}});
  c.send(watch_copies{{one, 5}});
  c.send(streams_progressed{fence{two, 1}, {}});
  REQUIRE(c.only<copy_completed>().submitted == fence{two, 1});
  c.send(streams_progressed{fence{one, 6}, {}});
  REQUIRE(c.count<copy_completed>() == 2);
  REQUIRE(c.sent[0].body.get_if<copy_completed>()->submitted == fence{one, 3});
  REQUIRE(c.sent[1].body.get_if<copy_completed>()->submitted == fence{one, 5});
}

TEST_CASE("C20: a submission that passed before it was watched is heard of at once") {
  probe<completions> c;
  c.send(streams_progressed{fence{one, 3}, {}});
  c.send(watch_copies{{one, 3}});
  REQUIRE(c.count<copy_completed>() == 1);
}

TEST_CASE("C20: what failed is told with its own submission, also when it was told of before the watch") {
  // C20: two completion channels, in both orders.
  probe<completions> c;
  c.send(streams_progressed{fence{one, 3}, {{{one, 3}, {2, 4}}, {{one, 2}, {7}}}});
  c.send(watch_copies{{one, 3}});
  REQUIRE(c.only<copy_completed>().failed == numbers{2, 4});
  c.send(watch_copies{{one, 2}});
  REQUIRE(c.only<copy_completed>().failed == numbers{7});
  c.send(watch_copies{{one, 1}});
  REQUIRE(c.only<copy_completed>().failed.empty());
}

TEST_CASE("failures told in parts are told together") {
  probe<completions> c;
  c.send(watch_copies{{one, 3}});
  c.send(streams_progressed{{}, {{{one, 3}, {2}}}}); // the fence has not passed
  REQUIRE(c.sent.empty());
  c.send(streams_progressed{fence{one, 3}, {{{one, 3}, {5}}}});
  REQUIRE(c.only<copy_completed>().failed == numbers{2, 5});
}

TEST_CASE("watched fences are answered once each, whatever other streams do") {
  probe<completions> c;
  c.send(watch_fences{both(3, 5)});
  REQUIRE(c.sent.empty());
  c.send(streams_progressed{fence{one, 4}, {}}); // two stands still
  REQUIRE(c.only<fence_passed>().passed.sequence_on(one) == 4);
  c.send(streams_progressed{fence{one, 5}, {}});
  REQUIRE(c.sent.empty());
  c.send(streams_progressed{fence{two, 5}, {}});
  REQUIRE(both(3, 5).covered_by(c.only<fence_passed>().passed));
  c.send(streams_progressed{both(9, 9), {}});
  REQUIRE(c.sent.empty());
}

TEST_CASE("fences that have passed before they are watched are answered at once") {
  probe<completions> c;
  c.send(streams_progressed{both(3, 5), {}});
  c.send(watch_fences{both(3, 4)});
  REQUIRE(c.only<fence_passed>().passed.sequence_on(one) == 3);
  c.send(watch_fences{fence{two, 6}});
  REQUIRE(c.sent.empty());
}

TEST_CASE("progress that is told again, or of an earlier time, changes nothing") {
  probe<completions> c;
  c.send(streams_progressed{fence{one, 5}, {}});
  c.send(streams_progressed{fence{one, 2}, {}});
  c.send(watch_copies{{one, 4}});
  REQUIRE(c.count<copy_completed>() == 1);
}

} // namespace kvferry::test
