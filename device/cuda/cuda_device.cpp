// Making a CUDA device: what is checked, loaded and measured before it is there.
#include "kvferry/cuda_device.hpp"

#include <chrono>

#include <fmt/format.h>

#include "cuda_kernels/page_copy.hpp"
#include "cuda_kernels/table_write.hpp"
#include "device/cuda/calibration.hpp"
#include "device/cuda/cuda_gpu.hpp"

namespace kvferry {

namespace {

using namespace cuda;

/// Loads kernels now: loaded by their first launch they would hold that launch up, and whoever captures a stream.
expected<void> load_kernels() {
  for (cudaError_t status : {cuda_kernels::load_page_copies(), cuda_kernels::load_table_writes()})
    if (auto loaded = checked(status, "cudaFuncGetAttributes"); !loaded)
      return loaded;
  return {};
}

std::string describe(const copy_costs::direction& costs) {
  return fmt::format("link {:.1f} GB/s, kernel {:.1f} GB/s, {:.2f} us an entry, {:.2f} of the caller; starts: engine "
                     "{:.1f}, kernel {:.1f}, "
                     "staged {:.1f} us",
                     costs.link_bytes_per_us / 1e3, costs.kernel_bytes_per_us / 1e3, costs.engine_op_us,
                     costs.engine_submit_us, costs.engine_start_us, costs.kernel_start_us, costs.staged_start_us);
}

} // namespace

expected<int> cuda_device::count() {
  int found = 0;
  if (auto asked = checked(cudaGetDeviceCount(&found), "cudaGetDeviceCount"); !asked)
    return tl::unexpected(asked.error());
  if (found == 0)
    return fail(error_code::no_device, "cudaGetDeviceCount: this machine has no GPU that CUDA can use");
  return found;
}

expected<std::shared_ptr<cuda_device>> cuda_device::create(int ordinal, cuda_device_options options) {
  auto found = count();
  if (!found)
    return tl::unexpected(found.error());
  if (ordinal < 0 || ordinal >= *found)
    return fail(error_code::no_device, fmt::format("no GPU {}, there are {}", ordinal, *found));
  current_device current(ordinal);
  cudaDeviceProp properties{};
  if (auto asked = checked(cudaGetDeviceProperties(&properties, ordinal), "cudaGetDeviceProperties"); !asked)
    return tl::unexpected(asked.error());
  if (auto loaded = load_kernels(); !loaded)
    return tl::unexpected(loaded.error());

  const copy_limits limits;
  auto to_host = copy_lane::make(ordinal, copy_direction::to_host, limits);
  auto to_gpu = copy_lane::make(ordinal, copy_direction::to_gpu, limits);
  if (!to_host || !to_gpu)
    return tl::unexpected(to_host ? to_gpu.error() : to_host.error());
  copy_costs costs = options.costs.value_or(copy_costs{});
  if (!options.costs && options.calibrate) {
    const auto begin = std::chrono::steady_clock::now();
    auto measured = calibrate(ordinal, *to_host, *to_gpu, limits);
    if (!measured)
      return tl::unexpected(measured.error());
    costs = *measured;
    const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - begin;
    if (options.log) {
      options.log(fmt::format("GPU {} ({}): calibrated in {:.0f} ms", ordinal, properties.name, taken.count()));
      options.log(fmt::format("  to host: {}", describe(costs.to_host)));
      options.log(fmt::format("  to GPU:  {}", describe(costs.to_gpu)));
    }
  }
  copy_planner planner(costs, limits, options.only);
  return std::make_shared<cuda::cuda_gpu>(ordinal, properties.name, std::move(planner), std::move(*to_host),
                                          std::move(*to_gpu), costs, std::move(options));
}

} // namespace kvferry
