#include "device/cuda/calibration.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

#include <fmt/format.h>

namespace kvferry::cuda {

namespace {

constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint32_t pages = 4000;       // 16 MiB in one go
constexpr std::uint32_t fewer_pages = 2100; // travel in parameters of the same size
constexpr std::uint32_t engine_pages = 128;
constexpr int rounds = 15;

configuration pool_config() {
  configuration config;
  group_config group;
  group.name = "calibration";
  group.gpu_slots = 2 * pages; // only every second one is used: what is copied is scattered
  group.host_slots = 2 * pages;
  buffer_config buffer;
  buffer.name = "pages";
  buffer.bytes_per_slot = page_bytes;
  group.buffers = {buffer};
  config.groups = {group};
  return config;
}

double us_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
}

class measurement {
public:
  measurement(const group_memory& group, copy_lane& lane, copy_direction direction, stream_ref on)
      : group_(group), lane_(lane), direction_(direction), on_(on) {}

  copy_costs::direction costs(const copy_limits& limits) {
    copy_costs::direction found;
    const double contiguous_us = best_us([&] { return contiguous(pages); });
    const double contiguous_small_us = best_us([&] { return contiguous(1); });
    // What starting costs is in both, so the difference is the link's.
    take(found.link_bytes_per_us,
         static_cast<double>((pages - 1) * page_bytes) / (contiguous_us - contiguous_small_us));
    take(found.engine_start_us, contiguous_small_us - page_bytes / found.link_bytes_per_us);

    // What launching costs is in both, so the difference is the link's.
    const double kernel_us = best_us(copy_way::kernel, pages, 2);
    const double kernel_fewer_us = best_us(copy_way::kernel, fewer_pages, 2);
    const double kernel_small_us = best_us(copy_way::kernel, 1, 2);
    take(found.kernel_bytes_per_us,
         static_cast<double>((pages - fewer_pages) * page_bytes) / (kernel_us - kernel_fewer_us));
    found.kernel_bytes_per_us = std::min(found.kernel_bytes_per_us, found.link_bytes_per_us * 0.999);
    take(found.kernel_start_us, kernel_small_us);

    const double engine_us = best_us(copy_way::engine, engine_pages, 2);
    take(found.engine_op_us,
         (engine_us - found.engine_start_us - engine_pages * page_bytes / found.link_bytes_per_us) / engine_pages);
    take(found.engine_submit_us, submit_us_ / engine_pages);

    const auto staged = static_cast<std::uint32_t>(limits.staged_bytes_first / page_bytes);
    const double staged_us = best_us(copy_way::staged, std::min(staged, pages), 1);
    take(found.staged_start_us, staged_us - std::min(staged, pages) * page_bytes / found.link_bytes_per_us);
    return found;
  }

  cudaError_t status() const { return status_; }

private:
  static void take(double& cost, double measured) {
    if (measured > 0.0 && measured < 1e9)
      cost = measured;
  }

  /// The shortest of a few rounds, from submission to completion.
  template <class Submit>
  double best_us(Submit submit) {
    double best = std::numeric_limits<double>::max();
    submit_us_ = best;
    for (int i = 0; i < rounds && status_ == cudaSuccess; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      status_ = submit();
      submit_us_ = std::min(submit_us_, us_since(begin));
      if (status_ == cudaSuccess)
        status_ = cleared(cudaStreamSynchronize(on_.get()));
      best = std::min(best, us_since(begin));
    }
    return best;
  }

  cudaError_t contiguous(std::uint32_t count) {
    std::byte* gpu = group_.fragments[0].base;
    std::byte* host = group_.host_page(0);
    const bool to_host = direction_ == copy_direction::to_host;
    return cleared(
        cudaMemcpyAsync(to_host ? host : gpu, to_host ? gpu : host, count * page_bytes, cudaMemcpyDefault, on_.get()));
  }

  double best_us(copy_way way, std::uint32_t count, std::uint32_t host_stride) {
    copy_plan plan;
    for (std::uint32_t i = 0; i < count; ++i)
      plan.pages.push_back({2 * i, host_stride * i, i});
    plan.pieces = {{way, 0, count}};
    return best_us([&] {
      lane_.begin();
      const bool taken = lane_.submit(on_, group_, plan, no_refusals_).empty();
      const cudaError_t ended = lane_.end(on_);
      return taken ? ended : cudaErrorUnknown;
    });
  }

  const group_memory& group_;
  copy_lane& lane_;
  copy_direction direction_;
  stream_ref on_;
  planned_failures no_refusals_;
  double submit_us_ = 0.0; ///< of the caller, in the fastest round of the last measurement
  cudaError_t status_ = cudaSuccess;
};

} // namespace

expected<copy_costs> calibrate(int ordinal, copy_lane& to_host, copy_lane& to_gpu, const copy_limits& limits) {
  planned_failures no_failures;
  auto groups = make_group_memories(pool_config(), {ordinal, std::uint64_t{1} << 30, &no_failures, {}});
  if (!groups)
    return tl::unexpected(groups.error());
  auto on = stream::make(ordinal);
  if (!on)
    return tl::unexpected(on.error());
  current_device current(ordinal);
  copy_costs found;
  measurement down(groups->front(), to_host, copy_direction::to_host, on->ref());
  found.to_host = down.costs(limits);
  measurement up(groups->front(), to_gpu, copy_direction::to_gpu, on->ref());
  found.to_gpu = up.costs(limits);
  for (cudaError_t status : {down.status(), up.status()})
    if (auto right = checked(status, "calibration", error_code::device_lost); !right)
      return tl::unexpected(right.error());
  return found;
}

} // namespace kvferry::cuda
