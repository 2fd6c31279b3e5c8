// Blocks, their owners, and each request's claim on them: the page registry's records. Plain data; the registry's
// handlers keep it consistent (page_registry.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kvferry/fence.hpp"
#include "kvferry/ids.hpp"
#include "messages/parts.hpp"

namespace kvferry {

struct claim;
struct prefix_node;

/// (request, group, ordinal) of a block; the group is the block's.
struct owner {
  claim* request = nullptr;
  block_ordinal ordinal = 0;

  friend bool operator==(const owner&, const owner&) = default;
};

/// The copy of a block that is under way.
struct block_copy {
  move_kind kind = move_kind::offload;
  move_id move;
  std::uint32_t target = 0;       ///< slot that it writes, on the tier it goes to
  struct block* source = nullptr; ///< of a branch: whose page it reads, pinned
  fence submitted = {};           ///< sequence 0: it is not on a stream yet
  bool within_gpu = false;        ///< a branch whose source is on the GPU
  bool cancelling = false;        ///< storage was asked to forget it
};

class idle_list;

/// Place in one of the lists of idle pages (idle_order.hpp).
struct idle_link {
  struct block* previous = nullptr;
  struct block* next = nullptr;
  idle_list* in = nullptr; ///< null: in none
};

/// Some of the two tiers.
struct tier_set {
  bool gpu = false;
  bool host = false;

  bool has(tier on) const { return on == tier::gpu ? gpu : host; }
  friend bool operator==(const tier_set&, const tier_set&) = default;
};

/// T tokens' KV of one group: at most one page per tier, with equal bytes.
struct block {
  block_id id;
  group_id group;
  gpu_slot gpu;   ///< none: no GPU page
  host_slot host; ///< none: no host page
  std::vector<owner> owners;
  std::uint32_t gpu_bound = 0;       ///< owners whose rows show the GPU page
  std::uint32_t blockers = 0;        ///< owners that need the GPU page
  prefix_node* node = nullptr;       ///< place in the prefix index, while it is there
  prefix_node* returns_to = nullptr; ///< place that a demoted block takes again when its copy is done
  std::unique_ptr<block_copy> copy;  ///< null: none is under way, as with most
  std::uint32_t pins = 0;            ///< branches that read one of its pages
  fence_set written;                 ///< behind the writers of its bytes

  std::uint32_t failures = 0;    ///< failed copies since an owner left or the engine asked
  std::uint64_t deferred_at = 0; ///< publications counted when it was first deferred; 0: is not
  std::uint64_t idle_since = 0;  ///< order in which blocks became idle; 0: has owners
  bool loading = false;          ///< the GPU page's bytes are still on their way
  bool discard_copy = false;     ///< the spill under way is void: its owner has resumed and writes
  bool bound_reached = false;    ///< deferred long enough: copied in spite of its blockers
  std::uint64_t wait_ticket = 0; ///< place in the wait set for a host slot; 0: does not wait
  tier_set told;                 ///< where routers outside know it to be
  bool unwritten = false;        ///< listed: its GPU page is told when what writes it has passed
  idle_link on_gpu_list;
  idle_link on_host_list;

  bool has_gpu() const { return !gpu.is_none(); }
  bool has_host() const { return !host.is_none(); }
  bool is_idle() const { return idle_since != 0 && !copy && pins == 0; }
};

/// One entry of a request's block table.
struct claim_entry {
  block* held = nullptr; ///< null: a window has passed it
  tier bound = tier::none;
};

enum class phase : std::uint8_t { prefill, decode };

/// What a request holds and wants.
struct claim {
  request_id id;
  batch_id batch; ///< whose publisher acknowledges its numbers; none: the request does
  phase stage = phase::prefill;
  bool active = false;
  bool ghost = false;     ///< its actor has died: blocks nobody, keeps its pages until its row is gone
  bool load_lost = false; ///< a load into its pages failed for good
  bool shown = false;     ///< a version of its batch names its pages, and none without its row is known
  row_seq told_early = 0; ///< acknowledged by itself, before the readers of those versions were known
  std::uint32_t history_tokens = 0;
  std::uint32_t complete = 0;                       ///< blocks of complete history: floor(history / T)
  std::uint32_t blocks = 0;                         ///< length of its table in every group
  std::uint32_t committed = 0;                      ///< blocks in the index, or known to be there under another block
  std::uint32_t loads = 0;                          ///< entries bound to pages that are still loading
  row_seq seq = 0;                                  ///< last number given
  prefix_node* last_node = nullptr;                 ///< of block committed - 1, or its namespace's root; kept alive
  std::vector<std::vector<claim_entry>> tables;     ///< [group][ordinal]
  std::vector<std::uint32_t> first_held;            ///< [group] ordinals below were given up behind a window
  std::vector<std::pair<owner, group_id>> unshared; ///< duplicates that end at decode entry

  // Results of the handling in progress.
  std::vector<page_change> changes;
  bool numbered = false;
};

} // namespace kvferry
