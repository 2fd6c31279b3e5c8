// Events for a router outside, through the public interface.
#include "runtime/held_router_events.hpp"
#include "tests/actors/router_view.hpp"
#include "tests/runtime/runtime_rig.hpp"

namespace kvferry::test {

namespace {

struct routed_rig : runtime_rig {
  explicit routed_rig(std::uint32_t events_max, std::uint32_t gpu_slots = 16)
      : runtime_rig(gpu_slots, 16, scheduler_kind::stepped, events_max) {}

  std::string heard() {
    router.take(of->take_router_events().value());
    return router.heard();
  }

  router_view router;
};

index_event event_of(std::uint64_t block, index_change what = index_change::stored) {
  return {what, block_id{block}, group_id{0}, tier::gpu, block, {}, {7}, "", ""};
}

std::vector<std::uint64_t> numbers_of(const std::vector<router_event>& events) {
  std::vector<std::uint64_t> numbers;
  for (const router_event& e : events)
    numbers.push_back(e.number);
  return numbers;
}

} // namespace

TEST_CASE("a router hears what is in the index once the device has come so far") {
  routed_rig r(64, 3);
  const request_id id = r.prefill('a', 3);
  REQUIRE(r.heard() == ""); // the kernels that write may still run
  r.settle();
  REQUIRE(r.heard() == "stored a:gpu, stored aa:gpu");
  REQUIRE(r.of->enter_decode(id).has_value());
  r.of->poll();
  REQUIRE(r.heard() == ""); // the copies are on their way
  r.settle();
  REQUIRE(r.heard() == "moved a:host, moved aa:host");
  REQUIRE(r.of->close(id).has_value());
  REQUIRE(r.heard() == "");
  REQUIRE(r.router.text() == "a:host aa:host");
}

TEST_CASE("events carry the tokens and the namespace of their block") {
  routed_rig r(64);
  const request_id id = r.of->open({1, 2, 3, 4, 5}, {.adapter = "lora", .salt = "tenant"}).value().request;
  REQUIRE(r.of->reserve(id, 8).has_value());
  REQUIRE(r.of->advance({id, 4, {}, true}, r.engine).has_value());
  r.settle();
  const router_news news = r.of->take_router_events().value();
  REQUIRE(news.events.size() == 1);
  REQUIRE(news.events[0].tokens == std::vector<token>{1, 2, 3, 4});
  REQUIRE(news.events[0].space == prefix_namespace{"lora", "tenant"});
  REQUIRE_FALSE(news.events[0].parent.has_value());
}

TEST_CASE("events that are not taken in time are lost, and a listing makes up for them") {
  routed_rig r(3);
  r.prefill('a', 3);
  r.settle();
  r.prefill('b', 3);
  r.settle(); // a fourth event
  r.prefill('c', 2);
  r.settle();
  const router_news news = r.of->take_router_events().value();
  REQUIRE(news.anew);
  REQUIRE(news.lost == 5);
  r.router.take(news);
  REQUIRE(r.router.text() == "a:gpu aa:gpu b:gpu bb:gpu c:gpu");
  r.router.heard();
  r.prefill('d', 3);
  r.settle();
  const router_news next = r.of->take_router_events().value();
  REQUIRE_FALSE(next.anew);
  REQUIRE(next.lost == 0);
  REQUIRE(numbers_of(next.events) == std::vector<std::uint64_t>{6, 7});
}

TEST_CASE("a router that comes late is told all that is there") {
  const scheduler_kind scheduler = GENERATE(from_range(schedulers()));
  runtime_rig r(16, 16, scheduler, 64);
  r.prefill('a', 3);
  r.settle();
  r.prefill('b', 2);
  r.settle();
  router_view late;
  for (int tries = 0; late.text() != "a:gpu aa:gpu b:gpu" && tries < 100'000; ++tries) // threads: it may not know yet
    late.take(r.of->list_router_events().value());
  REQUIRE(late.text() == "a:gpu aa:gpu b:gpu");
  late.take(r.of->take_router_events().value()); // nothing twice
}

TEST_CASE("a runtime that no router listens to refuses to tell") {
  runtime_rig r;
  REQUIRE(code_of(r.of->take_router_events()) == error_code::invalid_configuration);
  REQUIRE(code_of(r.of->list_router_events()) == error_code::invalid_configuration);
}

TEST_CASE("what is told between the asking for a listing and its coming stands once in the answer") {
  held_router_events held(3);
  held.add({1, {event_of(1), event_of(2)}});
  REQUIRE(held.begin_listing() == 0);
  held.add({3, {event_of(3), event_of(4)}});
  const auto events = held.take(index_told{call_id{1}, 3, {event_of(1), event_of(2), event_of(3)}});
  REQUIRE(numbers_of(events) == std::vector<std::uint64_t>{3, 3, 3, 4});
  REQUIRE(held.take().empty());
}

TEST_CASE("what is lost while a listing comes is made up for by another") {
  held_router_events held(1);
  held.add({1, {event_of(1), event_of(2)}});
  REQUIRE(held.has_lost());
  REQUIRE(held.begin_listing() == 2);
  REQUIRE_FALSE(held.has_lost());
  held.add({3, {event_of(3), event_of(4)}});
  held.add({5, {event_of(4, index_change::removed)}});
  const auto events = held.take(index_told{call_id{1}, 2, {event_of(1), event_of(2)}});
  REQUIRE(numbers_of(events) == std::vector<std::uint64_t>{2, 2});
  REQUIRE(held.begin_listing() == 3);
}

} // namespace kvferry::test
