#include "examples/search/state_hash.hpp"

#include "tests/catch.hpp"

namespace search::test {
namespace {

using kvferry::actor_key;
using kvferry::stream_id;

constexpr actor_key registry{1}, storage{2}, request{3}, publisher{4};

/// A message from the engine, and its delivery.
std::uint64_t sent_to_nobody(state_hash& state) { return state.sent(actor_key::engine); }

} // namespace

TEST_CASE("deliveries to two actors end in one state, whichever comes first") {
  auto in_order = [](bool registry_first) {
    state_hash state;
    const std::uint64_t one = sent_to_nobody(state), other = sent_to_nobody(state);
    if (registry_first)
      state.delivered(one, registry);
    state.delivered(other, storage);
    if (!registry_first)
      state.delivered(one, registry);
    return state.value();
  };
  REQUIRE(in_order(true) == in_order(false));
}

TEST_CASE("deliveries to one actor end in another state when their order is another") {
  auto in_order = [](bool swapped) {
    state_hash state;
    const std::uint64_t one = sent_to_nobody(state), other = sent_to_nobody(state);
    state.delivered(swapped ? other : one, registry);
    state.delivered(swapped ? one : other, registry);
    return state.value();
  };
  REQUIRE(in_order(true) != in_order(false));
}

TEST_CASE("a message is another one when its sender was in another state") {
  auto sent_after = [](bool knows) {
    state_hash state;
    const std::uint64_t news = sent_to_nobody(state);
    if (knows)
      state.delivered(news, registry);
    const std::uint64_t message = state.sent(registry);
    if (!knows)
      state.delivered(news, registry);
    state.delivered(message, storage);
    return state.value();
  };
  REQUIRE(sent_after(true) != sent_after(false));
}

TEST_CASE("calls on one stream are told apart by their order, calls on two are not") {
  auto called = [](bool swapped, bool one_stream) {
    state_hash state;
    state.delivered(sent_to_nobody(state), storage);
    state.delivered(sent_to_nobody(state), publisher);
    const stream_id other{one_stream ? 0u : 1u};
    if (!swapped)
      state.called_device(storage, stream_id{0});
    state.called_device(publisher, other);
    if (swapped)
      state.called_device(storage, stream_id{0});
    return state.value();
  };
  REQUIRE(called(false, true) != called(true, true));
  REQUIRE(called(false, false) == called(true, false));
}

TEST_CASE("what the engine has been told, and that it went on, is part of the state") {
  auto state_of = [](auto... did) {
    state_hash state;
    (did(state), ...);
    return state.value();
  };
  auto told_by_registry = [](state_hash& s) { s.told_engine(registry); };
  auto told_by_request = [](state_hash& s) { s.told_engine(request); };
  auto goes_on = [](state_hash& s) { s.called_device(storage, stream_id{0}), s.engine_goes_on(); };
  auto does = [](state_hash& s) { s.engine_did(7); };
  REQUIRE(state_of(told_by_registry, told_by_request) != state_of(told_by_request, told_by_registry));
  REQUIRE(state_of(told_by_registry, goes_on) != state_of(goes_on, told_by_registry));
  REQUIRE(state_of(does, told_by_registry) != state_of(told_by_registry, does));
  REQUIRE(state_of(does) != state_of());
}

} // namespace search::test
