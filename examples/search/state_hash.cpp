#include "examples/search/state_hash.hpp"

#include "examples/pages/mixing.hpp"

namespace search {

namespace {

constexpr std::uint64_t went_on = 0x676f; // differs from all that the engine is said to have done

} // namespace

state_hash::actor& state_hash::known(kvferry::actor_key who) {
  for (actor& each : actors_)
    if (each.who == who)
      return each;
  actors_.push_back({who, static_cast<std::uint64_t>(who)});
  return actors_.back();
}

std::uint64_t& state_hash::known(kvferry::stream_id stream) {
  while (streams_.size() <= stream.value())
    streams_.push_back(streams_.size());
  return streams_[stream.value()];
}

std::uint64_t state_hash::sent(kvferry::actor_key from) {
  actor& sender = known(from);
  return pages::mix(sender.state, ++sender.sent);
}

void state_hash::delivered(std::uint64_t message, kvferry::actor_key to) {
  actor& receiver = known(to);
  receiver.state = pages::mix(receiver.state, message);
}

void state_hash::told_engine(kvferry::actor_key from) {
  const std::uint64_t message = sent(from);
  delivered(message, kvferry::actor_key::engine);
}

void state_hash::called_device(kvferry::actor_key who, kvferry::stream_id on) {
  actor& caller = known(who);
  std::uint64_t& stream = known(on);
  caller.state = pages::mix(caller.state, stream);
  stream = pages::mix(stream, caller.state);
}

void state_hash::engine_goes_on() {
  actor& engine = known(kvferry::actor_key::engine);
  engine.state = pages::mix(engine.state, went_on);
  for (std::uint64_t stream : streams_)
    engine.state = pages::mix(engine.state, stream);
  for (std::uint64_t& stream : streams_)
    stream = pages::mix(stream, engine.state);
  engine_moves_ = engine.state;
}

void state_hash::engine_did(std::uint64_t what) {
  actor& engine = known(kvferry::actor_key::engine);
  engine.state = pages::mix(engine.state, what);
  engine_moves_ = engine.state;
}

std::uint64_t state_hash::of(kvferry::actor_key who) const {
  for (const actor& each : actors_)
    if (each.who == who)
      return each.state;
  return static_cast<std::uint64_t>(who);
}

std::uint64_t state_hash::value() const {
  std::uint64_t sum = 0; // actors come in any order
  for (const actor& each : actors_)
    sum += pages::mix(pages::mix(static_cast<std::uint64_t>(each.who), each.state), each.sent);
  for (std::uint64_t stream : streams_)
    sum = pages::mix(sum, stream);
  return sum;
}

} // namespace search
