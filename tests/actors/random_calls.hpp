// Random calls to a registry, each of which its requests, storage and publishers could make: of a few requests over few
// prompts, so that blocks are shared. One seed makes the same calls.
#pragma once

#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include "tests/actors/registry_rig.hpp"

namespace kvferry::test {

/// Small pools, so that everything is short sooner or later.
std::vector<configuration> small_pools();

class random_calls {
public:
  random_calls(registry_rig& r, std::uint32_t seed) : rig_(r), random_(seed) {}

  /// One call, or nothing when what was drawn cannot be called now.
  void step();

  /// All copies end, and all that was enqueued has passed.
  void settle();

  /// Everything closes, is published and buried, and all copies end.
  void end();

private:
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_() % limit); }
  bool chance(std::uint32_t percent) { return below(100) < percent; }
  fence next_fence() { return {stream_id{1 + below(2)}, ++sequence_}; }

  void open();
  void call(request_id id);
  void progress(request_id id);
  void close(request_id id);
  void die(request_id id);
  void bury(request_id id);
  void publish();
  void copies();
  void end_copy();
  bool ends_well(const page_move& move);
  void cancel();
  void pass();
  void pass(std::uint64_t up_to);

  registry_rig& rig_;
  std::mt19937 random_;
  std::uint64_t sequence_ = 0; // of the fences so far
  std::uint64_t passed_ = 0;
  std::uint64_t submissions_ = 0;
  std::uint64_t last_request_ = 0;
  std::vector<request_id> open_; // not closed, not dead
  std::set<request_id> dropped_;
  std::vector<request_id> unburied_; // dead and in no batch
};

} // namespace kvferry::test
