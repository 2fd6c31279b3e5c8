// Either device as the common suite sees it: pools, and kernels that fill pages with a pattern and look for it. Each
// program of the suite links one implementation of `make_device`.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.hpp"
#include "tests/device/rig.hpp"

namespace kvferry::test {

class device_under_test {
public:
  virtual ~device_under_test() = default;

  /// The interface that a runtime takes.
  virtual std::shared_ptr<device> runtime_view() = 0;

  /// Makes a stream of the engine.
  virtual stream_id create_stream(std::string_view name) = 0;

  /// Enqueues a kernel that fills a GPU page with the pattern of `value`. REQUIRES: `use_pools`.
  virtual void fill(stream_id stream, page_ref page, std::uint32_t value) = 0;

  /// Enqueues a kernel that says whether the page holds the pattern of `value` when it runs. Valid after `finish`.
  virtual std::shared_ptr<const bool> compare(stream_id stream, page_ref page, std::uint32_t value) = 0;

  /// Keeps what is enqueued on the stream from now on from running, until it is released.
  virtual void hold(stream_id stream) = 0;
  virtual void release(stream_id stream) = 0;

  /// Waits until all that can run has run.
  virtual void finish() = 0;

  /// Waits until `until` has passed.
  virtual void wait_for(fence until) = 0;

  virtual bool passed(fence f) = 0;

  /// What lies in memory of the device; all work has to be over.
  virtual std::vector<std::byte> bytes_at(const std::byte* memory, std::uint64_t count) = 0;

  /// Memory as an engine would have it for its own tensors, all `filling`.
  virtual std::byte* engine_tensor(std::uint64_t bytes, std::byte filling) = 0;

  virtual void fail_copy(std::uint64_t nth) = 0;
  virtual void fail_allocation(std::uint64_t nth) = 0;

  /// Makes the pools and remembers them for `fill` and `compare`.
  void use_pools(const configuration& config) {
    groups = config.groups;
    pools = runtime_view()->make_pools(config).value();
  }

  fence copy(stream_id stream, copy_direction direction, const std::vector<page_copy>& copies) {
    return runtime_view()->copy_pages(stream, direction, copies);
  }

  std::vector<group_config> groups;
  std::vector<group_pools> pools;
};

/// Null where there is no such device; then `why_not` says why.
std::unique_ptr<device_under_test> make_device(std::string* why_not);

/// A device with these pools. Ends the test case, as skipped, where there is none.
#define KVFERRY_NEEDS_DEVICE(name, config)                                                                             \
  std::string name##_missing;                                                                                          \
  auto name##_made = ::kvferry::test::make_device(&name##_missing);                                                    \
  if (!name##_made) {                                                                                                  \
    WARN("skipped: " << name##_missing);                                                                               \
    SUCCEED();                                                                                                         \
    return;                                                                                                            \
  }                                                                                                                    \
  auto& name = *name##_made;                                                                                           \
  name.use_pools(config)

} // namespace kvferry::test
