// The device as the runtime sees it: streams, fences, pools, page copies, table writes. Two implementations: `host`
// (an emulated GPU, device/host) and `cuda` (device/cuda).
//
// Who calls what: the engine-facing API records fences and makes streams wait; `storage` submits copies; the batch
// publisher writes tables; only the API asks what has passed. Calls may come from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "kvferry/configuration.hpp"
#include "kvferry/error.hpp"
#include "kvferry/fence.hpp"
#include "kvferry/ids.hpp"
#include "kvferry/pools.hpp"

namespace kvferry {

enum class copy_direction : std::uint8_t { to_host, to_gpu, within_gpu };

/// One page copy between the tiers of a group, or from one GPU slot to another.
struct page_copy {
  group_id group;
  gpu_slot gpu;
  host_slot host;     ///< none: the copy is within the GPU
  gpu_slot from = {}; ///< its source then
};

/// Pages to be copied, on one stream.
struct copy_list {
  stream_id stream;
  copy_direction direction = copy_direction::to_host;
  std::span<const page_copy> copies;
  fence_set before = {}; ///< the stream waits for these first
};

/// A device-visible table entry to be written: `width` low bytes of `value` at byte `offset` of the tables' allocation.
struct table_entry {
  std::uint64_t value = 0;
  std::uint64_t offset : 56 = 0;
  std::uint64_t width : 8 = 0; ///< 1, 4 or 8
};

/// Up to so many entries travel with the call that writes them; more are read from staging memory later.
inline constexpr std::size_t table_entries_by_value = 250;

/// Owns an allocation of the device; `data()` is valid until destruction.
class device_memory {
public:
  virtual ~device_memory() = default;
  virtual std::byte* data() = 0;
  virtual std::uint64_t size_bytes() const = 0;
};

/// What the host has seen of a stream's progress, and which page copies failed on the way.
struct device_progress {
  fence_set passed; ///< per stream the latest fence known to have passed; all of them, not only new ones

  /// Page copies that ended without the right bytes since the last call: the fence that `copy_pages` returned, and
  /// positions in its list.
  struct failed_copies {
    fence submitted;
    std::vector<std::uint32_t> positions;
  };
  std::vector<failed_copies> failed;

  /// The device had a fault and is of no more use: every fence has passed, and every copy that was in flight is among
  /// the failed ones. Stays.
  std::optional<error> lost;
};

class device {
public:
  virtual ~device() = default;

  /// Allocates (or takes over from the engine) the pools of every group. Called once per runtime.
  /// Errors: `out_of_memory`, with tier, bytes and the configuration's field.
  virtual expected<std::vector<group_pools>> make_pools(const configuration& config) = 0;

  /// Makes a stream of the runtime's own. `name` is used in reports.
  virtual stream_id create_stream(std::string_view name) = 0;

  /// A graph is being captured from `stream`: nothing may be recorded on it, waited for on it or asked of it but this.
  virtual bool capturing(stream_id stream) const = 0;

  /// Enqueues a position on `stream` and names it. The fence may be waited for as soon as this has returned.
  virtual fence record(stream_id stream) = 0;

  /// Orders everything enqueued on `stream` from now on after `fences`. Does not block the caller.
  /// REQUIRES: each was returned by `record` or `copy_pages`.
  virtual void wait(stream_id stream, const fence_set& fences) = 0;

  /// Asks how far streams are. What has passed is ordered before everything that any thread enqueues afterwards.
  virtual device_progress poll() = 0;

  /// Enqueues `copies` on `stream` and records a fence behind them. The list is read before this returns. A page that
  /// could not be copied is reported by `poll` with that fence, whether submission failed or the copy did.
  virtual fence copy_pages(stream_id stream, copy_direction direction, std::span<const page_copy> copies) = 0;

  /// The same for lists that do not wait for each other, and returns the fence behind each [lists]. Where enqueueing a
  /// list takes time, both directions begin at once. REQUIRES: each has a stream of its own.
  virtual std::vector<fence> copy_lists(std::span<const copy_list> lists) {
    std::vector<fence> behind;
    for (const copy_list& each : lists) {
      if (!each.before.empty())
        wait(each.stream, each.before);
      behind.push_back(copy_pages(each.stream, each.direction, each.copies));
    }
    return behind;
  }

  /// GPU memory for a batch's tables: the first `ones_bytes` bytes are 0xff (every entry "none"), the rest is zero.
  /// Errors: `out_of_memory`.
  virtual expected<std::unique_ptr<device_memory>> allocate_tables(std::uint64_t bytes, std::uint64_t ones_bytes) = 0;

  /// Pinned host memory that the device can read. Errors: `out_of_memory`.
  virtual expected<std::unique_ptr<device_memory>> allocate_staging(std::uint64_t bytes) = 0;

  /// Enqueues the writing of `entries` into `tables`. Up to `table_entries_by_value` may lie anywhere and are taken
  /// with the call. More lie in memory from `allocate_staging` and are read when the stream gets there: they must stay
  /// as they are until a fence recorded behind this has passed.
  virtual void write_tables(stream_id stream, device_memory& tables, std::span<const table_entry> entries) = 0;
};

} // namespace kvferry
