// Counters of a runtime, since its start.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace kvferry {

struct statistics {
  std::uint64_t pages_allocated = 0;            ///< GPU slots handed to engine writers
  std::uint64_t pages_offloaded = 0;            ///< copies to the host that completed, of owned blocks
  std::uint64_t pages_spilled = 0;              ///< of these, held pages of suspended requests
  std::uint64_t pages_demoted = 0;              ///< idle blocks moved to the host
  std::uint64_t pages_rebound_without_copy = 0; ///< owners that went to a host page that was there already
  std::uint64_t pages_deferred = 0;             ///< blocks that could not move when they first wanted to
  std::uint64_t pages_retried = 0;              ///< deferred blocks whose copy began later
  std::uint64_t pages_loaded = 0;               ///< copies to the GPU that completed
  std::uint64_t pages_branched = 0;             ///< private copies of shared pages that a prompt left half way
  std::uint64_t pages_evicted = 0;              ///< pages of idle blocks that were given up or demoted
  std::uint64_t copies_failed = 0;              ///< page copies that failed, each try
  std::uint64_t prefix_blocks_hit = 0;          ///< blocks matched at open, of one full group
  std::uint64_t bytes_to_host = 0;
  std::uint64_t bytes_to_gpu = 0;
  std::uint64_t publications = 0;      ///< versions published
  std::uint64_t entries_published = 0; ///< table entries uploaded
  std::uint64_t messages = 0;          ///< messages handled by all actors

  /// [i]: pages sent to the host in runs of 2^i … 2^(i+1) - 1 neighbouring host slots, decided together; the last has
  /// all longer ones. One transfer of a copy engine reaches a run.
  std::array<std::uint64_t, 12> pages_by_host_run{};
};

/// What a shutdown found: all zero when every request was closed first (design section 10, invariant 14).
struct leftovers {
  std::uint64_t slots = 0; ///< not free and not an idle block's
  std::uint64_t owners = 0;
  std::uint64_t copies = 0;
  std::uint64_t requests = 0; ///< request actors
  std::string description;    ///< names the first ones
};

} // namespace kvferry
