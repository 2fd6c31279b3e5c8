// What is on its way while messages wait to be chosen from, and in which state everybody is: all that the choice and
// what follows from it depend on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "examples/search/state_hash.hpp"

namespace search {

struct moment {
  state_hash state;
  std::vector<std::uint64_t> names;              ///< of the messages that wait, as state_hash has them
  std::vector<kvferry::waiting_message> waiting; ///< the same messages
  std::uint64_t sent_to_publishers = 0; ///< names how many each was sent: the engine asks none that was sent none
  std::uint64_t ended = 0;              ///< names who has
  bool caller_may_go_on = false;        ///< the engine's call has its answer
  bool waits_for_all = false;           ///< the engine goes on only when nothing waits
  std::uint32_t waits = 0;              ///< rounds in which the engine waited for a call to be granted

  bool can_go_on() const { return caller_may_go_on && !waits_for_all; }

  /// Equal: everything that can follow is the same. The order of what waits says what option 0 is, now and later.
  std::uint64_t value() const;

  /// Sent just now.
  void begin_to_wait(const kvferry::waiting_message& sent);

  void engine_goes_on();

  /// Places of the messages that can be delivered: those with none older of the same two ends.
  void find_heads(std::vector<std::size_t>& heads) const;

  /// What is sent to `who` gets nowhere from now on.
  void end(kvferry::actor_key who);

  /// Message `chosen` waits no more: its receiver handles it.
  void take(std::size_t chosen);
};

} // namespace search
