// Where the pages of a group lie in memory, on both tiers. Values; the memory belongs to the device or to the engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kvferry {

/// Where the fragments of a group's GPU slots lie: slot s of a buffer is at base + s * slot_stride_bytes (64 bit).
struct gpu_buffer {
  std::byte* base = nullptr;
  std::uint64_t slot_stride_bytes = 0;
  std::uint64_t bytes_per_slot = 0;
};

/// The memory of one group on both tiers. Host slot s is the blob at host_base + s * host_slot_bytes: the fragments
/// concatenated in buffer order.
struct group_pools {
  std::vector<gpu_buffer> buffers;
  std::uint32_t gpu_slots = 0;
  std::byte* host_base = nullptr;
  std::uint64_t host_slot_bytes = 0;
  std::uint32_t host_slots = 0;
};

} // namespace kvferry
