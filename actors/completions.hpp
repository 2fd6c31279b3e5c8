// Completions: the one place where the device's progress enters. It knows which fences somebody waits to hear of and
// turns each, once, into a message. A plain class, bound in completions_actor.cpp.
#pragma once

#include <vector>

#include "messages/any_message.hpp"

namespace kvferry {

class completions {
public:
  void handle(const watch_copies& message, outbox& out);
  void handle(const watch_fences& message, outbox& out);
  void handle(const streams_progressed& message, outbox& out);

  /// Submissions not heard of yet.
  std::size_t in_flight() const { return copies_.size(); }

  void check_touched() const {}

private:
  void report(outbox& out);

  std::vector<fence> copies_;            // submissions, in the order in which they were made
  std::vector<failed_positions> failed_; // of submissions that are not watched yet, too
  fence_set watched_;                    // asked for by the registry; empty: nothing
  fence_set passed_;
};

} // namespace kvferry
