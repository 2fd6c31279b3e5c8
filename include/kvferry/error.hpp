// Expected failures are values. `error_code` says what happened and, where a caller can do something about it, what.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "kvferry/ids.hpp"

namespace kvferry {

enum class error_code : std::uint8_t {
  /// A field of the configuration is missing, unknown or wrong; the message names its path, the value and what is
  /// right.
  invalid_configuration,
  /// An argument of a call is wrong in itself (a history that shrinks, an ordinal past the end).
  invalid_argument,
  /// No request of this id was opened, or it was closed.
  unknown_request,
  /// The request's status does not allow the call (decode entry while loading, resume of an active request).
  wrong_status,
  /// The GPU pool of a group has too few slots that are free or evictable. Wait, suspend or close another request.
  gpu_full,
  /// The host pool of a group has too few slots that are free or evictable.
  host_full,
  /// Slots will be available when page copies that are under way have completed. Poll and ask again.
  copies_in_flight,
  /// Slots will be available after the next publication of the batches that still name them (`shortage::batches`), and
  /// that alone helps. Publish and ask again.
  publish_first,
  /// The request can never fit: it needs more GPU slots than the pool has.
  prompt_exceeds_gpu_pool,
  /// The batch has no free row.
  batch_full,
  /// The request is a member of another batch.
  in_other_batch,
  /// The request needs more blocks than a row of the batch's tables holds.
  exceeds_max_blocks,
  /// A publication was asked for while a read is open (`begin_read` without `end_read`).
  read_open,
  /// A stream that the call would touch is being captured into a graph; the message names it. Call before or after.
  stream_capturing,
  /// Nothing was published yet.
  not_published,
  /// Pages that the request wanted could not be copied back to the GPU; its matched tokens were cut.
  load_failed,
  /// The request's pages were dropped: close it, and open it anew with all its tokens.
  must_recompute,
  /// A dense group of the request is bound to host pages; the message names the ordinals.
  bound_to_host,
  /// The actor that should have answered has died; for a request, close it.
  actor_died,
  /// The runtime is shutting down or has failed.
  runtime_stopped,
  /// Memory could not be allocated or pinned; the message says GPU or host, the bytes and the option.
  out_of_memory,
  /// A file could not be read or written.
  io_error,
  /// There is no such GPU, or kvferry was built without CUDA.
  no_device,
  /// The GPU had a fault. Nothing more can be done with it in this process.
  device_lost,
};

/// The enumerator's name, e.g. "gpu_full".
std::string_view to_string(error_code code);

/// Why slots were refused: the numbers of the group that was short (design section 4.7). All counts are slots.
struct shortage {
  group_id group;
  tier on = tier::gpu;
  std::uint32_t needed = 0;           ///< slots that the call wanted
  std::uint32_t free = 0;             ///< free or evictable at once
  std::uint32_t in_copy = 0;          ///< source or target of a copy under way
  std::uint32_t fenced = 0;           ///< free, but behind device work that has not passed
  std::uint32_t unpublished = 0;      ///< still named by a published row
  std::uint32_t held = 0;             ///< pages whose owners are all suspended
  std::vector<batch_id> batches = {}; ///< whose next publications free the `unpublished` ones; ascending

  friend bool operator==(const shortage&, const shortage&) = default;
};

struct error {
  error_code code = error_code::invalid_argument;
  std::string message;
  std::optional<shortage> numbers;
};

/// A value or an `error`.
template <class T>
using expected = tl::expected<T, error>;

inline tl::unexpected<error> fail(error_code code, std::string message) {
  return tl::unexpected<error>{error{code, std::move(message), {}}};
}

} // namespace kvferry
