// An emulated GPU over plain memory: streams are queues, kernels are functions, nothing needs CUDA. It runs when it is
// told to, in an order that can be chosen, and checks that every access to a slot is ordered by fences.
//
// For engines' tests, for examples, and for everything that has to run without a GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kvferry/error.hpp"
#include "kvferry/fence.hpp"
#include "kvferry/ids.hpp"

namespace kvferry {

class device;

/// When enqueued work runs.
enum class drive_mode : std::uint8_t {
  eager,   ///< as soon as what it waits for has run
  by_hand, ///< when `run_*` is called, oldest first across all streams
  random,  ///< when `run_*` is called, any stream's next, by seed
};

/// How many accesses the happens-before check looks at.
enum class order_check : std::uint8_t {
  all,     ///< every slot
  sampled, ///< one slot in 16, all accesses to it
  off,     ///< none
};

struct host_device_options {
  drive_mode drive = drive_mode::by_hand;
  std::uint64_t seed = 1;
  order_check check = order_check::all;
  double fail_copies = 0.0; ///< chance that a page copy ends without the right bytes, by seed
};

/// An access to a slot that no fence orders after an earlier one.
struct unordered_access {
  std::string description; ///< names group, tier, slot, generation, both accesses with their stream positions
};

/// A page as a kernel addresses it: `slot` is raw, of the tier.
struct page_ref {
  group_id group;
  kvferry::tier tier = kvferry::tier::none;
  std::uint32_t slot = 0;

  friend bool operator==(const page_ref&, const page_ref&) = default;
};

/// What a kernel may touch while it runs; every access is checked. Valid only during the call.
class kernel {
public:
  virtual ~kernel() = default;

  /// The bytes [offset, offset + size) of buffer `buffer`'s fragment in `page`, wherever the page lives.
  /// REQUIRES: the slot exists and the range lies in the fragment.
  virtual std::span<const std::byte> read(page_ref page, std::uint32_t buffer, std::uint64_t offset,
                                          std::uint64_t size) = 0;

  /// The same for writing. REQUIRES: a GPU page.
  virtual std::span<std::byte> write(page_ref page, std::uint32_t buffer, std::uint64_t offset, std::uint64_t size) = 0;
};

/// Calls may come from any thread. A launched function runs inside whichever call makes it run and may touch nothing of
/// the device but its `kernel`; an exception that it throws leaves through that call, and it counts as run.
///
/// What orders accesses: the order of a stream, waits for fences, and `device::poll`. That `passed` or `run_until` have
/// told the caller something orders nothing.
class host_device {
public:
  /// Streams over the device's life, the engine's and the runtime's together.
  static constexpr std::uint32_t streams_max = 16;

  static std::shared_ptr<host_device> create(host_device_options options = {});

  virtual ~host_device() = default;

  /// The interface that a runtime takes. Lives as long as this.
  virtual std::shared_ptr<device> interface() = 0;

  /// Makes a stream for the engine.
  virtual stream_id create_stream(std::string_view name) = 0;

  /// The stream of that name, also one that the runtime made ("copies to host", "copies to gpu"). None: there is none.
  virtual std::optional<stream_id> find_stream(std::string_view name) const = 0;

  /// Enqueues a function that stands for a kernel. `name` appears in reports of unordered accesses.
  virtual void launch(stream_id stream, std::string_view name, std::function<void(kernel&)> body) = 0;

  /// Enqueues a position on `stream` and names it.
  virtual fence record(stream_id stream) = 0;

  /// Orders later work on `stream` after `fences`. REQUIRES: all were recorded.
  virtual void wait(stream_id stream, const fence_set& fences) = 0;

  /// Runs one operation; false when none can run.
  virtual bool run_one() = 0;

  /// Runs operations of one stream up to its next fence, whatever the drive mode; false when none can run.
  virtual bool run_to_fence(stream_id stream) = 0;

  /// The stream's next operation can run.
  virtual bool can_run(stream_id stream) const = 0;

  /// Runs until nothing is left that can run.
  virtual void run_all() = 0;

  /// Runs one operation after the other, as `run_one` does, until `until` has passed.
  /// REQUIRES: it was recorded, and what it waits for is not held.
  virtual void run_until(fence until) = 0;

  /// REQUIRES: `f` was recorded.
  virtual bool passed(fence f) const = 0;

  /// Holds a stream where it is, whatever the drive mode, until `release_stream`.
  virtual void hold_stream(stream_id stream) = 0;
  virtual void release_stream(stream_id stream) = 0;

  /// Between these two the stream stands for one that a graph is captured from: calls of the runtime that would touch
  /// it are refused with `stream_capturing`, and enqueueing on it breaks the contract.
  virtual void begin_capture(stream_id stream) = 0;
  virtual void end_capture(stream_id stream) = 0;

  /// The n-th page copy from now (0: the next) fails; also repeatedly.
  virtual void fail_copy(std::uint64_t nth) = 0;

  /// The n-th allocation from now fails with `out_of_memory`.
  virtual void fail_allocation(std::uint64_t nth) = 0;

  /// No copy and no allocation fails by number any more.
  virtual void forget_failures() = 0;

  /// How many unordered accesses were found: pairs of operations and slot, and staging that was rewritten too early.
  virtual std::uint64_t unordered_accesses() const = 0;

  /// The first few, for people.
  virtual std::vector<unordered_access> first_unordered() const = 0;

  /// Wall time spent running operations, so that a host-time figure can leave it out.
  virtual std::uint64_t run_time_ns() const = 0;
};

} // namespace kvferry
