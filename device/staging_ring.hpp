// Staging memory for publications: pinned memory in which table entries wait until the device has read them. A slot is
// never handed out again before the fence of the publication that used it has passed, however many steps are in flight;
// with one buffer that the next step overwrites, the device would read the next step's entries.
//
// Used by a batch's publisher. Not thread safe: it belongs to one actor.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "device/device.hpp"
#include "kvferry/error.hpp"
#include "kvferry/fence.hpp"

namespace kvferry {

struct staging_ring_options {
  std::uint32_t slots_max = 64;     ///< publications in flight; more are refused
  std::uint64_t entries_min = 1024; ///< a new slot holds at least so many
  bool fault_reuse_at_once = false; ///< for tests: hands out the first slot although the device still reads it
};

class staging_ring {
public:
  /// Entries to be filled in, written to the tables and then given back with `publish`.
  struct slot {
    std::uint32_t index = 0;
    std::span<table_entry> entries;
  };

  /// `target` must outlive the ring.
  explicit staging_ring(device& target, staging_ring_options options = {});

  /// A slot of exactly `count` entries, whose contents are left over. Allocates when no free one is large enough.
  /// Errors: `out_of_memory` when all `slots_max` are in flight, or from the device.
  expected<slot> acquire(std::uint64_t count);

  /// The device reads the slot until `read` has passed. REQUIRES: acquired, and not published since.
  void publish(const slot& used, fence read);

  /// Frees every slot whose fence is covered by what has passed.
  void reclaim(const fence_set& passed);

  std::uint32_t slots() const { return static_cast<std::uint32_t>(slots_.size()); }
  std::uint32_t in_flight() const;

private:
  enum class state : std::uint8_t { free, acquired, in_flight };

  struct buffer {
    std::unique_ptr<device_memory> memory;
    kvferry::fence read;
    state is = state::free;

    std::uint64_t entries() const { return memory->size_bytes() / sizeof(table_entry); }
  };

  /// The index of a free slot that holds `count`, else of any free one, else `slots()`.
  std::uint32_t find_free(std::uint64_t count) const;

  device& target_;
  staging_ring_options options_;
  std::vector<buffer> slots_;
};

} // namespace kvferry
