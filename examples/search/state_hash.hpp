// A number for the state of a run without looking at it: actors are functions of what they have handled, so each
// actor's state is named by the sequence of its messages, a message by its sender's state and its place among what that
// has sent, and a stream of the device by who has called it. Two orders of deliveries that nobody can tell apart
// therefore end in the same number, and what follows one of them need not be looked at again.
//
// The engine is an actor too: it has handled what was told to it, and has gone on so often.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "kvferry/delivery.hpp"

namespace search {

class state_hash {
public:
  /// A name for the next message that `from` sends.
  std::uint64_t sent(kvferry::actor_key from);

  void delivered(std::uint64_t message, kvferry::actor_key to);
  void told_engine(kvferry::actor_key from);
  void called_device(kvferry::actor_key who, kvferry::stream_id on);

  /// The engine goes on; it may look at all that streams have been asked to do, and adds to it.
  void engine_goes_on();

  /// The engine, or fate, has done something that no message shows.
  void engine_did(std::uint64_t what);

  std::uint64_t value() const;

  /// Of one actor alone.
  std::uint64_t of(kvferry::actor_key who) const;

  /// Of what the engine has done, on its own or because it was told something.
  std::uint64_t of_engine_moves() const { return engine_moves_; }

private:
  struct actor {
    kvferry::actor_key who;
    std::uint64_t state;
    std::uint64_t sent = 0;
  };

  actor& known(kvferry::actor_key who);
  std::uint64_t& known(kvferry::stream_id stream);

  std::vector<actor> actors_;          // few, in the order of their first message
  std::vector<std::uint64_t> streams_; // by number
  std::uint64_t engine_moves_ = 0;     // the engine's state when it last did something
};

} // namespace search
