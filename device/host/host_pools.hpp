// The pools of all groups on the host device: where each page's fragments lie, and how a page is copied between tiers.
// A GPU slot is a fragment in each buffer of its group; a host slot is those fragments concatenated in buffer order.
//
// Used by the host device alone. Every address is checked, and computed in 64 bit.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/device.hpp"
#include "device/host/host_memory.hpp"
#include "kvferry/host_device.hpp"
#include "kvferry/pools.hpp"

namespace kvferry {

class host_pools {
public:
  host_pools() = default;

  /// Allocates what is not the engine's. Errors: `out_of_memory`, `invalid_configuration` (sizes beyond 64 bit).
  static expected<host_pools> make(const configuration& config, host_allocator& allocator);

  const std::vector<group_pools>& groups() const { return groups_; }

  /// Where byte `offset` of buffer `buffer`'s fragment in `page` lies.
  /// REQUIRES: the slot exists, and [offset, offset + size) lies in the fragment.
  std::byte* address(page_ref page, std::uint32_t buffer, std::uint64_t offset, std::uint64_t size) const {
    auto tier_index = static_cast<std::size_t>(page.tier);
    if (page.group.value() >= layouts_.size() || tier_index >= tiers) [[unlikely]]
      refuse(page, buffer, offset, size);
    const layout& of = layouts_[page.group.value()];
    if (page.slot >= of.slots[tier_index] || buffer >= of.fragments.size()) [[unlikely]]
      refuse(page, buffer, offset, size);
    const fragment& in = of.fragments[buffer];
    if (offset > in.bytes || size > in.bytes - offset) [[unlikely]]
      refuse(page, buffer, offset, size);
    return in.on[tier_index].base + std::uint64_t{page.slot} * in.on[tier_index].stride_bytes + offset;
  }

  struct ends {
    page_ref source;
    page_ref target;
  };

  /// REQUIRES: both slots exist.
  ends ends_of(copy_direction direction, const page_copy& copy) const;

  /// Copies the page's fragments. `spoiled`: leaves the second half of each fragment wrong, as a copy that failed on
  /// the way would.
  void copy_page(const ends& copy, bool spoiled) const;

private:
  static constexpr std::size_t tiers = 2;

  struct place {
    std::byte* base = nullptr; // of slot 0
    std::uint64_t stride_bytes = 0;
  };

  struct fragment {
    std::uint64_t bytes = 0;
    std::array<place, tiers> on;
  };

  struct layout {
    std::array<std::uint32_t, tiers> slots{};
    std::vector<fragment> fragments; // by buffer
  };

  [[noreturn, gnu::cold]] void refuse(page_ref page, std::uint32_t buffer, std::uint64_t offset,
                                      std::uint64_t size) const;

  std::byte* start(page_ref page, const fragment& of) const {
    const place& at = of.on[static_cast<std::size_t>(page.tier)];
    return at.base + std::uint64_t{page.slot} * at.stride_bytes;
  }

  /// Allocates one group and appends it.
  expected<void> add_group(const group_config& group, std::size_t index, host_allocator& allocator);

  std::vector<group_pools> groups_;
  std::vector<layout> layouts_;
  std::vector<host_memory> memory_;
};

} // namespace kvferry
