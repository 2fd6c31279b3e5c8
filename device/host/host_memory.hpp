// Plain memory that stands for GPU and pinned memory. It is zeroed, and large pieces cost nothing until they are
// touched, so that a pool of gigabytes can be made for a run that uses little of it.
//
// Used by the host device for pools, tables and staging.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "device/device.hpp"
#include "device/planned_failures.hpp"
#include "kvferry/error.hpp"

namespace kvferry {

/// Owns zeroed memory, aligned for every type. Moved from, it is empty.
class host_memory {
public:
  host_memory() = default;

  std::byte* data() const { return bytes_.get(); }
  std::uint64_t size_bytes() const { return bytes_ ? bytes_.get_deleter().size : 0; }

  /// Whether [at, at + size) lies in it.
  bool contains(const std::byte* at, std::uint64_t size) const;

private:
  friend class host_allocator;

  struct release {
    release() : release(0) {}
    explicit release(std::uint64_t bytes) : size(bytes) {}
    std::uint64_t size;
    void operator()(std::byte* bytes) const noexcept;
  };

  host_memory(std::byte* bytes, std::uint64_t size) : bytes_(bytes, release{size}) {}

  std::unique_ptr<std::byte, release> bytes_;
};

/// Makes `host_memory`, and fails when told to.
class host_allocator {
public:
  /// `what` tells in an error whose memory it is and which option decides its size. Nothing is allocated for 0 bytes.
  /// Errors: `out_of_memory`.
  expected<host_memory> allocate(std::uint64_t bytes, std::string_view what);

  planned_failures& failures() { return failures_; }

private:
  planned_failures failures_;
};

/// Tables or staging as the runtime holds them. The device keeps what enqueued work still needs.
class host_device_memory final : public device_memory {
public:
  explicit host_device_memory(host_memory memory) : memory_(std::make_shared<host_memory>(std::move(memory))) {}

  std::byte* data() override { return memory_->data(); }
  std::uint64_t size_bytes() const override { return memory_->size_bytes(); }

  const std::shared_ptr<host_memory>& memory() const { return memory_; }

private:
  std::shared_ptr<host_memory> memory_;
};

} // namespace kvferry
