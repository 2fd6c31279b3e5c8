// Finds accesses to slots that no fence orders. For every slot of every group and tier it remembers the last write and,
// per stream, the last read since then, as positions in streams. A read must come after the last write; a write after
// the last write and after all of those reads. "After" is what the accessing operation's clock says, so a missing wait
// is found in whatever order the operations happened to run.
//
// A value without a device; used by the host device for every access of a kernel or a copy. Hundreds of millions of
// reads go through here: flat arrays, nothing allocated per access, and the arrays that reads touch hold 4 and 8 bytes
// per slot.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/host/stream_order.hpp"
#include "kvferry/host_device.hpp"

namespace kvferry {

class order_checker {
public:
  /// Slots of one group's pools.
  struct pool_slots {
    std::uint32_t gpu = 0;
    std::uint32_t host = 0;
  };

  /// Reports that are kept in words; the rest is only counted.
  static constexpr std::size_t reports_max = 20;

  explicit order_checker(order_check mode);

  bool enabled() const { return mode_ != order_check::off; }

  /// Under `sampled`: one slot in 16, by its number alone, so that both accesses of a pair are seen or neither.
  bool checks(std::uint32_t slot) const { return enabled() && (((slot * hash_factor) >> 28) & sample_mask_) == 0; }

  /// Streams are numbered in the order in which they are added, as in `stream_order`.
  void add_stream(std::string_view name);

  /// Forgets all slots and begins with these, by group.
  void set_pools(const std::vector<pool_slots>& groups);

  /// Notes what stands at the next position of `stream`, for reports. Two bytes per operation are kept.
  void enqueued(std::uint32_t stream, std::string_view what);

  /// REQUIRES (both): the page's group, tier and slot exist; they were checked where the address was computed.
  void read(const stamp& by, page_ref page) {
    if (checks(page.slot))
      check_read(by, page);
  }

  /// `begins_page`: the page is overwritten from its first byte on, so it begins a new generation.
  void write(const stamp& by, page_ref page, bool begins_page) {
    if (checks(page.slot))
      check_write(by, page, begins_page);
  }

  /// Counts an unordered access of another kind (staging memory that was rewritten too early).
  void report(std::string description);

  std::uint64_t found() const { return found_; }

  const std::vector<unordered_access>& first_found() const { return first_found_; }

  /// "attention at compute:41".
  std::string describe(std::uint32_t stream, std::uint32_t sequence) const;

private:
  struct last_write {
    std::uint32_t sequence = 0; // 0: never written
    std::uint32_t stream : 4 = 0;
    std::uint32_t generation : 28 = 0;
  };

  struct shadow {
    std::vector<last_write> writes;                                             // by slot
    std::array<std::vector<std::uint32_t>, host_device::streams_max> last_read; // by stream and slot; 0: none
  };

  struct stream {
    std::string name;
    std::vector<std::uint16_t> operations; // by sequence - 1, index into names_
  };

  shadow& shadow_of(page_ref page) {
    return shadows_[std::size_t{page.group.value()} * 2 + static_cast<std::size_t>(page.tier)];
  }

  void check_read(const stamp& by, page_ref page) {
    shadow& of = shadow_of(page);
    std::uint32_t& mine = of.last_read[by.stream][page.slot];
    if (mine == by.sequence) // this operation has read the page before: one report is enough
      return;
    mine = by.sequence;
    const last_write& last = of.writes[page.slot];
    if (!by.before.covers(last.stream, last.sequence)) [[unlikely]]
      report_pair(page, "read", by, "write", last.stream, last.sequence);
  }

  void check_write(const stamp& by, page_ref page, bool begins_page);
  void report_pair(page_ref page, std::string_view access, const stamp& by, std::string_view earlier,
                   std::uint32_t earlier_stream, std::uint32_t earlier_sequence);
  void grow_shadows();

  static constexpr std::uint32_t hash_factor = 0x9E3779B1u; // 2^32 / golden ratio: neighbours spread over all values

  order_check mode_;
  std::uint32_t sample_mask_; // 0: every slot
  std::vector<stream> streams_;
  std::vector<pool_slots> pools_;
  std::vector<shadow> shadows_; // by 2 * group + tier

  std::vector<std::string> names_;
  std::map<std::string, std::uint16_t, std::less<>> name_index_;

  std::uint64_t found_ = 0;
  std::vector<unordered_access> first_found_;
};

} // namespace kvferry
