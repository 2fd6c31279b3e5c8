// What page copies are held against: one contiguous copy of as many bytes, one copy a page, and one call for all pages.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <cuda_runtime_api.h>

#include "device/device.hpp"

namespace bench {

enum class baseline : std::uint8_t { contiguous, copy_a_page, batch_call };

/// Lists made beforehand, so that a submission costs what the driver's calls cost.
class baseline_copies {
public:
  baseline_copies(const kvferry::group_pools& pools, kvferry::copy_direction direction,
                  std::span<const kvferry::page_copy> copies);

  /// Enqueues all of it.
  void submit(baseline how, cudaStream_t stream);

private:
  std::vector<void*> to_;
  std::vector<const void*> from_;
  std::vector<std::size_t> bytes_;
  void* to_first_ = nullptr; // of the contiguous copy
  const void* from_first_ = nullptr;
  std::size_t bytes_all_ = 0;
};

} // namespace bench
