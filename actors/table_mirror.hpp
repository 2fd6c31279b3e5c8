// The host mirror of a batch's tables: where each table lies in the one allocation, what it holds, and which entries
// differ from what the device was last told. Part of the batch publisher's state.
//
// Tables start as "none" everywhere (bytes 0xff), counts as zero; so the allocation is laid out as the former, then the
// latter.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "device/device.hpp"
#include "kvferry/batch.hpp"
#include "kvferry/configuration.hpp"
#include "kvferry/ids.hpp"
#include "messages/parts.hpp"

namespace kvferry {

/// Byte offsets of the tables of design section 5 in their allocation.
struct table_layout {
  struct group {
    std::uint64_t page_index = 0; ///< int32 [rows, max_blocks]
    std::uint64_t page_tier = 0;  ///< u8 [rows, max_blocks]
    std::uint64_t num_blocks = 0; ///< int32 [rows]
  };

  table_layout(std::size_t groups, const batch_config& config);

  std::vector<group> groups;
  std::uint64_t row_request = 0; ///< u64 [rows]
  std::uint64_t active_rows = 0; ///< int32 [rows]
  std::uint64_t row_version = 0; ///< u64 [rows]
  std::uint64_t num_active = 0;  ///< int32 [1]
  std::uint64_t ones_bytes = 0;  ///< the tables of which "none" is the first content
  std::uint64_t bytes = 0;
  std::uint32_t rows = 0;
  std::uint32_t max_blocks = 0;

  /// The tables' addresses in an allocation at `base`.
  table_view view(const std::byte* base) const;
};

class table_mirror {
public:
  table_mirror(std::size_t groups, const batch_config& config);

  const table_layout& layout() const { return layout_; }

  /// REQUIRES: ordinal < max_blocks.
  void set_page(row_id row, group_id group, block_ordinal ordinal, tier on, std::uint32_t slot);
  void set_history(row_id row, group_id group, std::uint32_t blocks);

  /// Did an entry lose its page, to another or to none, since the last call?
  bool took_pages_away() { return std::exchange(took_away_, false); }

  /// Empties the row: -1, 255, 0.
  void clear_pages(row_id row);
  void set_owner(row_id row, request_id request);
  void set_row_version(row_id row, version_number version);
  void set_active(std::span<const row_id> rows);

  /// What a row holds, for checks: entries with a page, groups in order.
  std::vector<page_change> pages_of(row_id row) const;
  std::uint32_t history_of(row_id row, group_id group) const;

  /// Drops entries that are back at what the device was told. True: others are left.
  bool changed();

  /// Entries to be uploaded.
  std::size_t changes() const { return changed_.size(); }

  /// Writes the changed entries to `out`, which has `changes()` places, and regards them as told.
  void take_changes(std::span<table_entry> out);

  /// What the tables will hold, for tests and checks; the layout is that of the device's allocation.
  const std::byte* data() const { return bytes_.data(); }

private:
  template <class T>
  bool set(std::uint64_t offset, T value);

  table_layout layout_;
  std::vector<std::byte> bytes_;
  std::vector<std::byte> told_;  // what the device holds, or will before anything reads it
  std::vector<bool> is_changed_; // by offset of an entry
  struct change {
    std::uint64_t offset;
    std::uint8_t width;
  };
  std::vector<change> changed_;
  std::vector<std::uint32_t> extents_; // [row][group] entries past this are none
  std::uint32_t active_ = 0;
  bool took_away_ = false;
};

} // namespace kvferry
