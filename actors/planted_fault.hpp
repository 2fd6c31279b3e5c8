// Faults that tests plant on purpose, to show that checks find them. Only in builds with KVFERRY_TEST_HOOKS; elsewhere
// every question is `false` at compile time.
#pragma once

#include <cstdint>

namespace kvferry {

enum class fault : std::uint8_t {
  none,
  copy_wait_dropped,     ///< a copy to the host does not wait for the writers of its source
  load_wait_dropped,     ///< a copy to the GPU does not wait for the readers and writers of its target
  close_ignores_steps,   ///< close does not take the fence behind the running steps
  slot_before_unnamed,   ///< a slot is handed out although a published row names it
  retry_forgotten,       ///< a block whose last blocker left is not looked at
  host_page_under_load,  ///< the host page of a load under way may be evicted
  tier_before_copy_done, ///< owners are rebound to the host when the copy is submitted

  // -- of the protocol

  grant_before_submission, ///< a reply does not wait until the copy from its slot is submitted (rule 5)
  seen_ignored,            ///< a publication does not wait for the numbers its caller was told of (section 5)
  gone_at_leaving,         ///< a row that leaves counts as gone before a publication without it (rule 4)
  ghost_blocks,            ///< a dead request goes on blocking others (rule 10)
  void_spill_used,         ///< the spill of a page whose owner has resumed is taken for its bytes (rule 6)
  failed_copy_counts,      ///< a failed copy is taken for a completed one (4.3)
  ready_before_loads,      ///< a request is ready when the first of its loads has ended (4.4)
};

#if KVFERRY_TEST_HOOKS
/// The planted fault; process-wide, set by plant_fault (kvferry/test_hooks.hpp).
inline fault planted_fault = fault::none;

inline bool planted(fault which) { return planted_fault == which; }
#else
constexpr bool planted(fault) { return false; }
#endif

} // namespace kvferry
