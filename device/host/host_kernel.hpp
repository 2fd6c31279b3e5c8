// What a launched function holds: pages by group, tier and slot, each access bounded and checked for order. Used by the
// host device, which makes one for each function that it runs.
#pragma once

#include "device/host/host_pools.hpp"
#include "device/host/order_checker.hpp"
#include "kvferry/contract.hpp"
#include "kvferry/host_device.hpp"

namespace kvferry {

class host_kernel final : public kernel {
public:
  host_kernel(const host_pools& pools, order_checker& checker, const stamp& at)
      : pools_(pools), checker_(checker), at_(at) {}

  std::span<const std::byte> read(page_ref page, std::uint32_t buffer, std::uint64_t offset,
                                  std::uint64_t size) override {
    const std::byte* bytes = pools_.address(page, buffer, offset, size);
    checker_.read(at_, page);
    return {bytes, size};
  }

  std::span<std::byte> write(page_ref page, std::uint32_t buffer, std::uint64_t offset, std::uint64_t size) override {
    std::byte* bytes = pools_.address(page, buffer, offset, size);
    KVFERRY_REQUIRE(page.tier == tier::gpu, "{} writes to group {} host slot {}",
                    checker_.describe(at_.stream, at_.sequence), page.group.value(), page.slot);
    checker_.write(at_, page, buffer == 0 && offset == 0);
    return {bytes, size};
  }

private:
  const host_pools& pools_;
  order_checker& checker_;
  const stamp& at_;
};

} // namespace kvferry
