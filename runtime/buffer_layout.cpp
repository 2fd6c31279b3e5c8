#include "runtime/buffer_layout.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "runtime/configuration_error.hpp"

namespace kvferry {

namespace {

/// An engine's buffer: fragments of `bytes` at `base`, `base + stride`, …, up to `end`.
struct engine_buffer {
  std::string path;
  std::uint64_t base = 0;
  std::uint64_t end = 0;
  std::uint64_t stride = 0;
  std::uint64_t bytes = 0;
};

std::uint64_t stride_of(const buffer_config& buffer) {
  return buffer.slot_stride_bytes != 0 ? buffer.slot_stride_bytes : buffer.bytes_per_slot;
}

/// total += slots * bytes; false when that does not fit.
bool add_slots(std::uint64_t& total, std::uint64_t slots, std::uint64_t bytes) {
  std::uint64_t product = 0;
  return !__builtin_mul_overflow(slots, bytes, &product) && !__builtin_add_overflow(total, product, &total);
}

/// What a wrong size blames: the stride where there is one, else the fragment's size.
tl::unexpected<error> too_large(const std::string& path, const buffer_config& buffer, std::string_view why) {
  const bool strided = buffer.slot_stride_bytes != 0;
  return wrong_value(fmt::format("{}.{}", path, strided ? "slot_stride_bytes" : "bytes_per_slot"), stride_of(buffer),
                     fmt::format("less: {}", why));
}

expected<void> check_sizes(const std::vector<group_config>& groups) {
  std::uint64_t gpu_bytes = 0;
  std::uint64_t host_bytes = 0;
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (std::size_t b = 0; b < groups[g].buffers.size(); ++b) {
      const buffer_config& buffer = groups[g].buffers[b];
      const std::string path = fmt::format("groups[{}].buffers[{}]", g, b);
      if (!add_slots(gpu_bytes, groups[g].gpu_slots, stride_of(buffer)))
        return too_large(path, buffer,
                         fmt::format("with {} GPU slots the pools' bytes do not fit 64 bits", groups[g].gpu_slots));
      if (!add_slots(host_bytes, groups[g].host_slots, buffer.bytes_per_slot))
        return wrong_value(
            path + ".bytes_per_slot", buffer.bytes_per_slot,
            fmt::format("less: with {} host slots the pools' bytes do not fit 64 bits", groups[g].host_slots));
    }
  return {};
}

expected<std::vector<engine_buffer>> engine_buffers(const std::vector<group_config>& groups) {
  std::vector<engine_buffer> found;
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (std::size_t b = 0; b < groups[g].buffers.size(); ++b) {
      const buffer_config& buffer = groups[g].buffers[b];
      if (buffer.base_address == 0)
        continue;
      engine_buffer placed{fmt::format("groups[{}].buffers[{}]", g, b), buffer.base_address, 0, stride_of(buffer),
                           buffer.bytes_per_slot};
      const std::uint64_t extent = (groups[g].gpu_slots - 1ULL) * placed.stride + placed.bytes;
      if (__builtin_add_overflow(placed.base, extent, &placed.end))
        return wrong_value(placed.path + ".base_address", placed.base,
                           fmt::format("less: {} bytes from there do not fit 64-bit addresses", extent));
      found.push_back(std::move(placed));
    }
  return found;
}

/// Engines interleave buffers in one tensor (say K and V of a layer, slot by slot), so reaching into each other's
/// extent is right as long as no fragments meet. Fragments lie at distances that are multiples of the strides' greatest
/// common divisor from each other; with equal strides, as interleaving has them, this is exact. REQUIRES: a.base <=
/// b.base.
bool fragments_meet(const engine_buffer& a, const engine_buffer& b) {
  const std::uint64_t period = std::gcd(a.stride, b.stride);
  const std::uint64_t offset = (b.base - a.base) % period;
  return offset < a.bytes || b.bytes > period - offset;
}

expected<void> check_overlaps(std::vector<engine_buffer> buffers) {
  std::stable_sort(buffers.begin(), buffers.end(),
                   [](const engine_buffer& a, const engine_buffer& b) { return a.base < b.base; });
  for (std::size_t i = 0; i < buffers.size(); ++i)
    for (std::size_t j = i + 1; j < buffers.size() && buffers[j].base < buffers[i].end; ++j)
      if (fragments_meet(buffers[i], buffers[j]))
        return wrong_value(buffers[j].path + ".base_address", buffers[j].base,
                           fmt::format("outside {}, whose slots reach from {} to {}", buffers[i].path, buffers[i].base,
                                       buffers[i].end));
  return {};
}

} // namespace

expected<void> check_layout(const std::vector<group_config>& groups) {
  if (auto sizes = check_sizes(groups); !sizes)
    return sizes;
  auto placed = engine_buffers(groups);
  if (!placed)
    return tl::unexpected{placed.error()};
  return check_overlaps(*std::move(placed));
}

} // namespace kvferry
