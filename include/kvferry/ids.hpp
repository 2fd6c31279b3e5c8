// Strong ids: every number that names something has its own type, so that a host slot cannot be passed where a GPU slot
// is meant (both may be 3). Construction is explicit and there is no implicit way out.
//
// Part of the public interface; used everywhere.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>

namespace kvferry {

/// A number that names a `Tag`. A default-constructed id is `none()`, the one value that names nothing.
template <class Tag, class Rep>
class strong_id {
public:
  using rep = Rep;

  constexpr strong_id() = default;

  explicit constexpr strong_id(Rep value) : value_(value) {}

  static constexpr strong_id none() { return strong_id{}; }

  constexpr bool is_none() const { return value_ == none_value; }

  constexpr Rep value() const { return value_; }

  friend constexpr auto operator<=>(strong_id, strong_id) = default;

private:
  static constexpr Rep none_value = std::numeric_limits<Rep>::max();
  Rep value_ = none_value;
};

/// A request, unique for the runtime's life.
using request_id = strong_id<struct request_tag, std::uint64_t>;

/// A block in the page registry, unique for the runtime's life.
using block_id = strong_id<struct block_tag, std::uint64_t>;

/// A layer group, in the order of `configuration::groups`.
using group_id = strong_id<struct group_tag, std::uint8_t>;

/// A batch: one set of GPU tables.
using batch_id = strong_id<struct batch_tag, std::uint32_t>;

/// A request's fixed place in a batch's tables.
using row_id = strong_id<struct row_tag, std::uint32_t>;

/// A slot of one group's GPU pool: a fragment in each buffer of the group.
using gpu_slot = strong_id<struct gpu_slot_tag, std::uint32_t>;

/// A slot of one group's host pool: a blob, the fragments concatenated in buffer order.
using host_slot = strong_id<struct host_slot_tag, std::uint32_t>;

/// A stream of the device, numbered in the order of creation (never reused).
using stream_id = strong_id<struct stream_tag, std::uint32_t>;

/// One page copy. Never recurs.
using move_id = strong_id<struct move_tag, std::uint64_t>;

/// A call of the engine, from which its reply is known.
using call_id = strong_id<struct call_tag, std::uint64_t>;

/// Position of a block in a request's sequence, from 0.
using block_ordinal = std::uint32_t;

/// Number of a batch's publication, strictly increasing from 1; 0: nothing published yet.
using version_number = std::uint64_t;

/// Number of a change of one request's row, strictly increasing from 1; 0: none.
using row_seq = std::uint64_t;

/// A token of the model's vocabulary.
using token = std::int32_t;

/// Requests share blocks only within one namespace. The fields are tagged: an adapter "x" is not a salt "x".
struct prefix_namespace {
  std::string adapter; ///< e.g. the LoRA adapter's name
  std::string salt;    ///< e.g. the tenant

  friend bool operator==(const prefix_namespace&, const prefix_namespace&) = default;
};

/// Where a page lives. The values are those of the `page_tier` tables.
enum class tier : std::uint8_t {
  gpu = 0,
  host = 1,
  none = 255,
};

} // namespace kvferry

template <class Tag, class Rep>
struct std::hash<kvferry::strong_id<Tag, Rep>> {
  std::size_t operator()(kvferry::strong_id<Tag, Rep> id) const noexcept { return std::hash<Rep>{}(id.value()); }
};
