// Knows what deliveries will do without making them. A handling is a function of its actor's state, its message and
// what the engine has done so far; what one did in a run it does in every other. So a schedule whose next deliveries
// are all known, and lead to where another has been, need not be run to be cut there.
//
// The engine is no actor whose doings are known: where it goes on, a schedule has to be run.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "examples/search/moment.hpp"

namespace search {

class foresight {
public:
  // -- what a handling does, as it happens
  // ---------------------------------------------------------------------------------------------------------------

  /// A new run: what the last one did last has not come to its end.
  void begin_run() { key_ = 0; }

  /// Message `chosen` is about to be delivered.
  void begins(const moment& at, std::size_t chosen);
  void told_engine(kvferry::actor_key from);
  void called_device(kvferry::actor_key who, kvferry::stream_id on);
  void ended(kvferry::actor_key who);

  /// All of it has been done; `sent` waits from now on. None: nothing waits, and the engine has gone on.
  void done(std::span<const kvferry::waiting_message> sent, std::optional<bool> caller_may_go_on);

  // -- what deliveries would do
  // ---------------------------------------------------------------------------------------------------------------

  /// Goes on to where message `chosen` has been delivered; false: it is not known what that does, and `at` stays.
  bool deliver(moment& at, std::size_t chosen) const;

private:
  struct effect {
    enum class kind : std::uint8_t { sends, tells_engine, calls_device, ends } what;
    kvferry::actor_key who;
    std::uint64_t whom = 0; // the receiver, or the stream

    friend bool operator==(const effect&, const effect&) = default;
  };

  enum class answer : std::uint8_t { no, yes, unknown };

  struct handling {
    std::vector<effect> effects;
    answer answers = answer::no; // the call in which the engine waits

    friend bool operator==(const handling&, const handling&) = default;
  };

  static std::uint64_t key_of(const moment& at, std::size_t chosen);
  std::uint32_t number_of(const handling& seen);

  std::vector<handling> kinds_; // few are different
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> kinds_of_hash_;
  std::unordered_map<std::uint64_t, std::uint32_t> known_; // by key, the number of its kind
  std::uint64_t key_ = 0;                                  // of current_; 0: nothing is being handled
  bool could_go_on_ = false;
  handling current_;
};

} // namespace search
