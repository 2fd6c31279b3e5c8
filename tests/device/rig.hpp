// A host device with pools, and kernels that fill pages with a pattern and look for it. For the device's tests.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "device/device.hpp"
#include "kvferry/configuration.hpp"
#include "kvferry/host_device.hpp"

namespace kvferry::test {

inline group_config group_of(std::vector<std::uint64_t> bytes_per_slot, std::uint32_t gpu_slots,
                             std::uint32_t host_slots) {
  group_config group;
  group.name = "attention";
  group.gpu_slots = gpu_slots;
  group.host_slots = host_slots;
  for (std::uint64_t bytes : bytes_per_slot) {
    buffer_config buffer;
    buffer.name = fmt::format("buffer {}", group.buffers.size());
    buffer.bytes_per_slot = bytes;
    group.buffers.push_back(buffer);
  }
  return group;
}

inline configuration config_of(std::vector<group_config> groups) {
  configuration config;
  config.groups = std::move(groups);
  return config;
}

inline page_ref gpu_page(std::uint32_t slot, std::uint8_t group = 0) { return {group_id{group}, tier::gpu, slot}; }

inline page_ref host_page(std::uint32_t slot, std::uint8_t group = 0) { return {group_id{group}, tier::host, slot}; }

inline page_copy copy_of(std::uint32_t gpu, std::uint32_t host, std::uint8_t group = 0) {
  return {group_id{group}, gpu_slot{gpu}, host_slot{host}};
}

/// Differs between values, buffers and neighbouring bytes.
inline std::byte pattern(std::uint32_t value, std::uint32_t buffer, std::uint64_t offset) {
  return static_cast<std::byte>(value * 29 + buffer * 101 + offset * 7 + 1);
}

struct rig {
  explicit rig(host_device_options options = {}, configuration config = config_of({group_of({24, 8}, 32, 32)}))
      : gpu(host_device::create(options)), runtime_view(gpu->interface()), groups(config.groups),
        pools(runtime_view->make_pools(config).value()) {}

  /// Enqueues a kernel that fills a GPU page with the pattern of `value`.
  void fill(stream_id stream, page_ref page, std::uint32_t value, std::string_view name = "fill") {
    gpu->launch(stream, name, [this, page, value](kernel& k) {
      const auto& buffers = groups[page.group.value()].buffers;
      for (std::uint32_t b = 0; b < buffers.size(); ++b) {
        auto bytes = k.write(page, b, 0, buffers[b].bytes_per_slot);
        for (std::uint64_t i = 0; i < bytes.size(); ++i)
          bytes[i] = pattern(value, b, i);
      }
    });
  }

  /// Enqueues a kernel that sets `*same` to whether the page holds the pattern of `value` when it runs.
  void compare(stream_id stream, page_ref page, std::uint32_t value, bool* same, std::string_view name = "attention") {
    gpu->launch(stream, name, [this, page, value, same](kernel& k) { *same = holds_pattern(k, page, value); });
  }

  bool holds_pattern(kernel& k, page_ref page, std::uint32_t value) const {
    const auto& buffers = groups[page.group.value()].buffers;
    bool same = true;
    for (std::uint32_t b = 0; b < buffers.size(); ++b) {
      auto bytes = k.read(page, b, 0, buffers[b].bytes_per_slot);
      for (std::uint64_t i = 0; i < bytes.size(); ++i)
        same = same && bytes[i] == pattern(value, b, i);
    }
    return same;
  }

  fence copy(stream_id stream, copy_direction direction, std::vector<page_copy> copies) {
    return runtime_view->copy_pages(stream, direction, copies);
  }

  std::string first_report() const {
    auto reports = gpu->first_unordered();
    return reports.empty() ? std::string{} : reports.front().description;
  }

  std::shared_ptr<host_device> gpu;
  std::shared_ptr<device> runtime_view;
  std::vector<group_config> groups;
  std::vector<group_pools> pools;
};

} // namespace kvferry::test
