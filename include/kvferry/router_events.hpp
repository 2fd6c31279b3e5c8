// Events for a router outside, which sends requests to where their prefix is: which blocks of the prefix index have
// their bytes here, and on which tier.
//
// A router keeps, for each worker, the set of (block, group, tier) that the events give: `stored` adds one, `removed`
// takes it away, `moved` does both. Each is told after the fact, once: a page that a stream still writes, or into which
// a copy still runs, is not there yet. Private blocks are never told: nobody else can have them.
//
// A block may go before those behind it (a window passes it, or it leaves one tier). What a prompt can share is the run
// of blocks from its front that are there in every group; a group with a window needs only those that the window
// covers.
//
// An idle page on its way from the GPU to the host is nowhere meanwhile, and no prompt can match it: it is `removed`
// when the copy is decided, and `stored` when it is done.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kvferry/ids.hpp"

namespace kvferry {

struct router_event {
  enum class change : std::uint8_t {
    stored,  ///< the block is on tier `on`, and was not
    moved,   ///< the same, and it is no longer on the other tier
    removed, ///< it is not on tier `on` any more
  };

  std::uint64_t number = 0; ///< 1, 2, 3 … without a gap, but for what was lost; in a listing that of its last event
  change what = change::stored;
  block_id block; ///< the same in all events of one stay in the index, never used again
  group_id group;
  tier on = tier::gpu;
  std::uint64_t hash = 0; ///< XXH3 over the block's tokens, seeded with `parent`, or with its namespace's for the first

  // Of `stored` alone: what a router needs to know the block by its own hash.
  std::optional<std::uint64_t> parent; ///< hash of the block before it; none: it is the first
  std::vector<token> tokens;           ///< [tokens_per_block]
  prefix_namespace space;

  friend bool operator==(const router_event&, const router_event&) = default;
};

/// What became of the index since it was last asked for.
struct router_news {
  /// Forget what was told before: `events` begins with a listing, a `stored` for each block and tier that is there,
  /// parents before those behind them.
  bool anew = false;
  std::uint64_t lost = 0; ///< events that were not taken in time, which is why it is told anew
  std::vector<router_event> events;
};

} // namespace kvferry
