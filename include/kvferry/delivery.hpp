// The order of messages under the `stepped` scheduler as somebody's choice: a search for orders that break something, a
// test that wants one order. Engines need none of this: they get what `configuration::order` says.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kvferry/fence.hpp"
#include "kvferry/ids.hpp"

namespace kvferry {

/// An actor of one runtime, or the engine; equal keys, the same actor.
enum class actor_key : std::uint64_t { engine = 0 };

/// "page_registry", "request_cache/7", "engine".
std::string to_string(actor_key who);

/// The inverse; none: no actor can have that name.
std::optional<actor_key> actor_named(std::string_view name);

/// Does it publish a batch? The engine sees how many messages such an actor was sent: none since its last publication,
/// and the next one need not ask it.
bool is_publisher(actor_key who);

/// A message on its way. Of those with the same two ends only the oldest can be delivered.
struct waiting_message {
  actor_key from;
  actor_key to;

  friend bool operator==(const waiting_message&, const waiting_message&) = default;
};

/// Can message `i` be delivered: is none of those before it from the same sender to the same receiver?
/// REQUIRES: i < waiting.size().
inline bool is_oldest_of_its_ends(std::span<const waiting_message> waiting, std::size_t i) {
  const auto older = waiting.first(i);
  return std::find(older.begin(), older.end(), waiting[i]) == older.end();
}

/// Decides what is delivered next, and is told what depends on that. All calls come from the thread that calls the
/// runtime, while it does; the runtime's creation and destruction count as calls. Of one handling `handling` comes
/// first, then, in any order, what it does: calls on the device, messages to the engine, its end, messages that wait
/// from then on.
///
/// `next` may throw: that leaves through the runtime's call, and of that runtime only destruction may follow, during
/// which it must not throw.
class delivery_strategy {
public:
  virtual ~delivery_strategy() = default;

  /// The index of the message that is delivered next. `waiting` is not empty, in the order of sending; new ones are at
  /// its end. None: the caller goes on before the rest is delivered, as it may under `threaded`.
  /// REQUIRES of the answer: the oldest of its two ends; none only when `caller_may_go_on`.
  virtual std::optional<std::size_t> next(std::span<const waiting_message> waiting, bool caller_may_go_on) = 0;

  /// `who` is about to handle a message of that name.
  virtual void handling(actor_key /*who*/, std::string_view /*message*/) noexcept {}

  /// A message has reached the engine, which waits for no delivery.
  virtual void told_engine(actor_key /*from*/) noexcept {}

  /// `who` has enqueued something on a stream; `recorded` is empty when that left no fence.
  virtual void called_device(actor_key /*who*/, stream_id /*on*/, std::optional<fence> /*recorded*/) noexcept {}

  /// `who` has ended: what is sent to it from now on gets nowhere.
  virtual void ended(actor_key /*who*/) noexcept {}

  /// The caller goes on: by choice, or since nothing waits.
  virtual void caller_goes_on() noexcept {}
};

} // namespace kvferry
