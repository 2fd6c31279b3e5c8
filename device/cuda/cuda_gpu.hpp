// The CUDA device: one object behind the engine's view (`cuda_device`) and the runtime's (`device`). It keeps the
// streams, makes the pools, and has copies planned and submitted; a fault of the GPU ends all of it in an orderly way.
//
// Made by cuda_device.cpp.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "device/cuda/copy_lane.hpp"
#include "device/cuda/copy_planner.hpp"
#include "device/cuda/cuda_pools.hpp"
#include "device/cuda/page_copier.hpp"
#include "device/cuda/stream_table.hpp"
#include "device/device.hpp"
#include "device/planned_failures.hpp"
#include "kvferry/cuda_device.hpp"

namespace kvferry::cuda {

class cuda_gpu final : public cuda_device, public device, public std::enable_shared_from_this<cuda_gpu> {
public:
  cuda_gpu(int ordinal, std::string name, copy_planner planner, copy_lane to_host, copy_lane to_gpu, copy_costs costs,
           cuda_device_options options);
  cuda_gpu(const cuda_gpu&) = delete;
  cuda_gpu& operator=(const cuda_gpu&) = delete;
  ~cuda_gpu() override;

  std::shared_ptr<device> interface() override { return shared_from_this(); }
  int ordinal() const override { return ordinal_; }
  std::string name() const override { return name_; }
  const copy_costs& costs() const override { return costs_; }
  copy_counts copies() const override;

  // Streams
  stream_id create_stream(std::string_view name) override;
  expected<stream_id> register_stream(void* handle, std::string_view name) override;
  void* handle(stream_id stream) const override;
  bool capturing(stream_id stream) const override;
  fence record(stream_id stream) override;
  void wait(stream_id stream, const fence_set& fences) override;
  device_progress poll() override;
  bool passed(fence f) override;
  void wait_for(fence until) override;
  void finish() override;

  // Copies
  fence copy_pages(stream_id stream, copy_direction direction, std::span<const page_copy> copies) override;
  std::vector<fence> copy_lists(std::span<const copy_list> lists) override;

  // Memory
  expected<std::vector<group_pools>> make_pools(const configuration& config) override;
  expected<std::unique_ptr<device_memory>> allocate_tables(std::uint64_t bytes, std::uint64_t ones_bytes) override;
  expected<std::unique_ptr<device_memory>> allocate_staging(std::uint64_t bytes) override;
  void write_tables(stream_id stream, device_memory& tables, std::span<const table_entry> entries) override;

  // Failing on purpose
  void fail_copy(std::uint64_t nth) override;
  void fail_allocation(std::uint64_t nth) override;
  void refuse_submission(std::uint64_t nth) override;

private:
  /// What the GPU may be using.
  struct in_use {
    page_copier copier;
    std::vector<group_memory> groups;
  };

  /// Every call begins with this.
  struct entered {
    explicit entered(const cuda_gpu& of) : lock(of.guard_), current(of.ordinal_) {}
    std::unique_lock<std::mutex> lock;
    current_device current;
  };

  [[nodiscard]] entered enter() const { return entered(*this); }

  template <class... Args>
  void say(fmt::format_string<Args...> format, Args&&... args) const {
    if (options_.log)
      options_.log(fmt::format("GPU {} ({}): {}", ordinal_, name_, fmt::format(format, std::forward<Args>(args)...)));
  }

  void require_usable(stream_id stream, std::string_view call);
  fence record_on(stream_id stream);
  void must(cudaError_t status, std::string_view call);
  void lose(const std::string& why);
  void look();
  bool wait_for_all(std::optional<std::chrono::seconds> at_most);

  template <class Memory>
  expected<Memory> allocate(std::uint64_t bytes, const char* what);

  int ordinal_;
  std::string name_;
  cuda_device_options options_;
  copy_costs costs_;

  mutable std::mutex guard_;
  planned_failures allocation_failures_;
  stream_table streams_;
  std::unique_ptr<in_use> work_;
  std::optional<error> lost_;
};

} // namespace kvferry::cuda
