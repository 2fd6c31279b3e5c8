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
};

#if KVFERRY_TEST_HOOKS
/// The planted fault; process-wide, set by plant_fault (kvferry/test_hooks.hpp).
inline fault planted_fault = fault::none;

inline bool planted(fault which) { return planted_fault == which; }
#else
constexpr bool planted(fault) { return false; }
#endif

} // namespace kvferry
