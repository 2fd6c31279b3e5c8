#include "actors/table_mirror.hpp"

#include <algorithm>
#include <cstring>

#include "kvferry/contract.hpp"

namespace kvferry {

table_layout::table_layout(std::size_t group_count, const batch_config& config)
    : groups(group_count), rows(config.rows), max_blocks(config.max_blocks) {
  std::uint64_t next = 0;
  auto place = [&](std::uint64_t entries, std::uint64_t width) {
    next = (next + 7) / 8 * 8; // the widest entry
    std::uint64_t at = next;
    next += entries * width;
    return at;
  };
  const std::uint64_t entries = std::uint64_t{rows} * max_blocks;
  for (group& g : groups) {
    g.page_index = place(entries, 4);
    g.page_tier = place(entries, 1);
  }
  row_request = place(rows, 8);
  active_rows = place(rows, 4);
  ones_bytes = next = (next + 7) / 8 * 8;
  for (group& g : groups)
    g.num_blocks = place(rows, 4);
  row_version = place(rows, 8);
  num_active = place(1, 4);
  bytes = next;
}

table_view table_layout::view(const std::byte* base) const {
  auto at = [&]<class T>(std::uint64_t offset, T*) { return reinterpret_cast<const T*>(base + offset); };
  table_view v;
  for (const group& g : groups)
    v.groups.push_back({at(g.page_index, static_cast<std::int32_t*>(nullptr)),
                        at(g.page_tier, static_cast<std::uint8_t*>(nullptr)),
                        at(g.num_blocks, static_cast<std::int32_t*>(nullptr))});
  v.row_request = at(row_request, static_cast<std::uint64_t*>(nullptr));
  v.row_version = at(row_version, static_cast<std::uint64_t*>(nullptr));
  v.active_rows = at(active_rows, static_cast<std::int32_t*>(nullptr));
  v.num_active = at(num_active, static_cast<std::int32_t*>(nullptr));
  v.rows = rows;
  v.max_blocks = max_blocks;
  return v;
}

table_mirror::table_mirror(std::size_t groups, const batch_config& config)
    : layout_(groups, config), bytes_(layout_.bytes), is_changed_(layout_.bytes),
      extents_(std::size_t{config.rows} * groups) {
  std::fill_n(bytes_.begin(), layout_.ones_bytes, std::byte{0xff});
  told_ = bytes_;
}

/// Was it another one before?
template <class T>
bool table_mirror::set(std::uint64_t offset, T value) {
  if (std::memcmp(bytes_.data() + offset, &value, sizeof(T)) == 0)
    return false;
  std::memcpy(bytes_.data() + offset, &value, sizeof(T));
  if (!is_changed_[offset]) {
    is_changed_[offset] = true;
    changed_.push_back({offset, sizeof(T)});
  }
  return true;
}

void table_mirror::set_page(row_id row, group_id group, block_ordinal ordinal, tier on, std::uint32_t slot) {
  KVFERRY_REQUIRE(ordinal < layout_.max_blocks, "ordinal {} of {} in row {}", ordinal, layout_.max_blocks, row.value());
  const table_layout::group& g = layout_.groups[group.value()];
  const std::uint64_t entry = std::uint64_t{row.value()} * layout_.max_blocks + ordinal;
  const bool had_page = bytes_[g.page_tier + entry] != static_cast<std::byte>(tier::none);
  const bool other_slot =
      set(g.page_index + entry * 4, on == tier::none ? std::int32_t{-1} : static_cast<std::int32_t>(slot));
  const bool other_tier = set(g.page_tier + entry, static_cast<std::uint8_t>(on));
  took_away_ = took_away_ || (had_page && (other_slot || other_tier));
  std::uint32_t& extent = extents_[row.value() * layout_.groups.size() + group.value()];
  extent = std::max(extent, ordinal + 1);
}

void table_mirror::set_history(row_id row, group_id group, std::uint32_t blocks) {
  set(layout_.groups[group.value()].num_blocks + std::uint64_t{row.value()} * 4, static_cast<std::int32_t>(blocks));
}

void table_mirror::clear_pages(row_id row) {
  for (std::size_t g = 0; g < layout_.groups.size(); ++g) {
    const auto group = group_id{static_cast<std::uint8_t>(g)};
    std::uint32_t& extent = extents_[row.value() * layout_.groups.size() + g];
    for (block_ordinal o = 0; o < extent; ++o)
      set_page(row, group, o, tier::none, 0);
    extent = 0;
    set_history(row, group, 0);
  }
}

void table_mirror::set_owner(row_id row, request_id request) {
  set(layout_.row_request + std::uint64_t{row.value()} * 8, request.value());
}

void table_mirror::set_row_version(row_id row, version_number version) {
  set(layout_.row_version + std::uint64_t{row.value()} * 8, version);
}

void table_mirror::set_active(std::span<const row_id> rows) {
  KVFERRY_REQUIRE(rows.size() <= layout_.rows, "{} active rows of {}", rows.size(), layout_.rows);
  for (std::uint32_t i = 0; i < std::max<std::size_t>(rows.size(), active_); ++i)
    set(layout_.active_rows + std::uint64_t{i} * 4,
        i < rows.size() ? static_cast<std::int32_t>(rows[i].value()) : std::int32_t{-1});
  active_ = static_cast<std::uint32_t>(rows.size());
  set(layout_.num_active, static_cast<std::int32_t>(active_));
}

std::vector<page_change> table_mirror::pages_of(row_id row) const {
  std::vector<page_change> pages;
  for (std::size_t g = 0; g < layout_.groups.size(); ++g)
    for (block_ordinal o = 0; o < layout_.max_blocks; ++o) {
      const std::uint64_t entry = std::uint64_t{row.value()} * layout_.max_blocks + o;
      std::int32_t slot = 0;
      std::memcpy(&slot, bytes_.data() + layout_.groups[g].page_index + entry * 4, sizeof slot);
      const auto on = static_cast<tier>(bytes_[layout_.groups[g].page_tier + entry]);
      if (slot != -1 || on != tier::none)
        pages.push_back({group_id{static_cast<std::uint8_t>(g)}, o, on, true, static_cast<std::uint32_t>(slot)});
    }
  return pages;
}

std::uint32_t table_mirror::history_of(row_id row, group_id group) const {
  std::int32_t blocks = 0;
  std::memcpy(&blocks, bytes_.data() + layout_.groups[group.value()].num_blocks + std::uint64_t{row.value()} * 4,
              sizeof blocks);
  return static_cast<std::uint32_t>(blocks);
}

bool table_mirror::changed() {
  std::erase_if(changed_, [&](const change& c) {
    const bool same = std::memcmp(bytes_.data() + c.offset, told_.data() + c.offset, c.width) == 0;
    if (same)
      is_changed_[c.offset] = false;
    return same;
  });
  return !changed_.empty();
}

void table_mirror::take_changes(std::span<table_entry> out) {
  for (std::size_t i = 0; i < changed_.size(); ++i) {
    const change& c = changed_[i];
    table_entry entry;
    std::memcpy(&entry.value, bytes_.data() + c.offset, c.width); // little endian, as the device
    entry.offset = c.offset & 0xff'ffff'ffff'ffffull;
    entry.width = c.width;
    out[i] = entry;
    std::memcpy(told_.data() + c.offset, bytes_.data() + c.offset, c.width);
    is_changed_[c.offset] = false;
  }
  changed_.clear();
}

} // namespace kvferry
