// Measures what page copies cost on this machine, so that the planner picks ways by what is, not by what was elsewhere.
// Takes some tens of milliseconds, most of them for pinning memory. Called when a CUDA device is made.
#pragma once

#include "device/cuda/copy_lane.hpp"
#include "kvferry/cuda_device.hpp"

namespace kvferry::cuda {

/// Uses the lanes and a stream of its own; waits for the GPU. A cost that makes no sense keeps its default.
/// Errors: `out_of_memory`, `device_lost`.
expected<copy_costs> calibrate(int ordinal, copy_lane& to_host, copy_lane& to_gpu, const copy_limits& limits);

} // namespace kvferry::cuda
