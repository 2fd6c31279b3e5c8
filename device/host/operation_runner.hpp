// Runs one operation of a stream on plain memory, and lets the checker see every slot that it touches. What to run next
// is decided elsewhere (stream_queues); this is the emulated GPU's execution unit, used by the host device alone.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "device/device.hpp"
#include "device/host/host_pools.hpp"
#include "device/host/order_checker.hpp"
#include "device/host/stream_queues.hpp"

namespace kvferry {

/// Of table entries as they lie in staging memory; never 0.
std::uint64_t staging_checksum(std::span<const table_entry> entries);

class operation_runner {
public:
  /// Both must outlive this.
  operation_runner(const host_pools& pools, order_checker& checker) : pools_(pools), checker_(checker) {}

  void run(const operation& next);

  /// Page copies that ended without the right bytes since the last call.
  std::vector<device_progress::failed_copies> take_failed() { return std::exchange(failed_, {}); }

private:
  void run(const stamp& at, const record_point& work);
  void run(const stamp& at, const wait_for& work);
  void run(const stamp& at, const copy_batch& work);
  void run(const stamp& at, const table_write& work);
  void run(const stamp& at, const launched& work);

  const host_pools& pools_;
  order_checker& checker_;
  std::vector<device_progress::failed_copies> failed_;
};

} // namespace kvferry
