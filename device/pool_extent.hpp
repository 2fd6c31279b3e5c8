// How many bytes a pool takes. Used by both devices.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "kvferry/configuration.hpp"
#include "kvferry/contract.hpp"
#include "kvferry/error.hpp"

namespace kvferry {

inline std::uint64_t stride_of(const buffer_config& buffer) {
  return buffer.slot_stride_bytes != 0 ? buffer.slot_stride_bytes : buffer.bytes_per_slot;
}

/// Bytes from the first slot's begin to the last slot's end, each `last_bytes` long. `path` names the pool in the
/// error. Errors: `invalid_configuration` when 64 bits do not hold them.
inline expected<std::uint64_t> extent_bytes(const std::string& path, std::uint32_t slots, std::uint64_t stride_bytes,
                                            std::uint64_t last_bytes) {
  std::uint64_t bytes = 0;
  if (slots == 0)
    return bytes;
  if (__builtin_mul_overflow(std::uint64_t{slots - 1}, stride_bytes, &bytes) ||
      __builtin_add_overflow(bytes, last_bytes, &bytes))
    return fail(error_code::invalid_configuration,
                fmt::format("{}: {} slots of {} bytes are more than 64 bit hold", path, slots, stride_bytes));
  return bytes;
}

/// What errors about a buffer's GPU memory begin with.
inline std::string gpu_memory_name(std::size_t group, std::size_t buffer, std::uint32_t slots) {
  return fmt::format("GPU memory of groups[{}].buffers[{}] ({} slots, groups[{}].gpu_slots)", group, buffer, slots,
                     group);
}

/// The same for a group's host memory.
inline std::string host_memory_name(std::size_t group, std::uint32_t slots) {
  return fmt::format("host memory of groups[{}] ({} slots, groups[{}].host_slots)", group, slots, group);
}

} // namespace kvferry
