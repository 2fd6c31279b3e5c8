#include "examples/pages/row_check.hpp"

#include <algorithm>

#include "examples/pages/mixing.hpp"

namespace pages {
namespace {

constexpr std::uint32_t past_end_looked_at = 4; // entries right behind the capacity, where stale ones would be
constexpr std::uint32_t not_seen = 0xffffffff;

/// Slot and tier in one word.
std::uint32_t place_of(std::int32_t slot, std::uint8_t tier) {
  return static_cast<std::uint32_t>(slot) << 1 | (tier & 1);
}

bool slot_exists(std::uint8_t tier, std::int32_t slot, const group_layout& group) {
  std::uint32_t slots = tier == gpu_tier ? group.gpu_slots : tier == host_tier ? group.host_slots : 0;
  return slot >= 0 && static_cast<std::uint32_t>(slot) < slots;
}

} // namespace

row_check::row_check(kvferry::kernel& kernel, const step_plan& plan, const planned_row& row, const page_layout& layout,
                     std::uint32_t group, const row_entries& entries, mismatch_log& log)
    : kernel_(kernel), plan_(plan), row_(row), layout_(layout), group_(group), entries_(entries),
      rules_(row_rules::of(row, layout.groups[group], layout)),
      step_word_(mix(plan.step * 64 + group, row.request.value())), log_(log) {}

std::uint64_t row_check::check_pages(seen_places& seen, std::uint32_t stride) {
  if (entries_.num_blocks < 0 || static_cast<std::uint32_t>(entries_.num_blocks) > rules_.host_end)
    log_.add("{}: num_blocks is {}, should be at most {}", where(0), entries_.num_blocks, rules_.host_end);
  if (seen.size() < rules_.written_end)
    seen.resize(rules_.written_end, not_seen);
  std::uint64_t compared = 0;
  stamp_batch stamps(kernel_, layout_.groups[group_]);
  for (std::uint32_t ordinal = below(stride, step_word_); ordinal < rules_.written_end; ordinal += stride) {
    std::int32_t slot = entries_.slot[ordinal];
    std::uint8_t tier = entries_.tier[ordinal];
    if (slot == no_slot && tier == no_tier && ordinal < rules_.window_begin)
      continue;
    std::uint32_t place = place_of(slot, tier);
    bool moved = place != seen[ordinal] || tier > host_tier;
    if (moved && !check_place(ordinal))
      continue;
    if (tier != host_tier && static_cast<std::int64_t>(ordinal) < entries_.num_blocks)
      wrong_place(ordinal, "num_blocks counts it as a host page");
    ++compared;
    if (moved) {
      seen[ordinal] = place;
      if (auto wrong = compare_all(kernel_, layout_.groups[group_], page_at(ordinal)))
        wrong_bytes(page_at(ordinal), *wrong);
      continue;
    }
    stamps.read(page_at(ordinal), mix(step_word_ + ordinal));
    if (stamps.full())
      compare_stamps(stamps);
  }
  compare_stamps(stamps);
  return compared;
}

void row_check::check_end(std::uint32_t max_blocks) {
  for (std::uint32_t ordinal = rules_.written_end; ordinal < rules_.capacity_end; ++ordinal)
    if (entries_.tier[ordinal] != gpu_tier || !slot_exists(gpu_tier, entries_.slot[ordinal], layout_.groups[group_]))
      wrong_place(ordinal, "should be a gpu page, there is capacity");
  std::uint32_t end = rules_.capacity_end;
  if (end >= max_blocks)
    return;
  auto check_empty = [&](std::uint32_t ordinal) {
    if (entries_.slot[ordinal] != no_slot || entries_.tier[ordinal] != no_tier)
      wrong_place(ordinal, "should be empty, it is past the capacity");
  };
  for (std::uint32_t ordinal = end; ordinal < std::min(end + past_end_looked_at, max_blocks); ++ordinal)
    check_empty(ordinal);
  check_empty(end + below(max_blocks - end, mix(step_word_))); // and one anywhere behind
}

/// Whether an entry names a page that may be there.
bool row_check::check_place(std::uint32_t ordinal) {
  std::int32_t slot = entries_.slot[ordinal];
  std::uint8_t tier = entries_.tier[ordinal];
  bool right = false;
  if (slot == no_slot && tier == no_tier)
    wrong_place(ordinal, "should be a page, attention reads it");
  else if (!slot_exists(tier, slot, layout_.groups[group_]))
    wrong_place(ordinal, "no such slot");
  else if (tier == host_tier && ordinal >= rules_.host_end)
    wrong_place(ordinal, "should be a gpu page");
  else
    right = true;
  return right;
}

expected_page row_check::page_at(std::uint32_t ordinal) const {
  std::uint32_t begin = ordinal * layout_.tokens_per_block;
  std::uint32_t end = std::min(begin + layout_.tokens_per_block, row_.written_tokens);
  kvferry::page_ref page{kvferry::group_id{static_cast<std::uint8_t>(group_)},
                         static_cast<kvferry::tier>(entries_.tier[ordinal]),
                         static_cast<std::uint32_t>(entries_.slot[ordinal])};
  return {page, ordinal, row_.chain->words(begin, end)};
}

void row_check::compare_stamps(stamp_batch& stamps) {
  stamps.compare([this](const expected_page& page, const wrong_byte& wrong) { wrong_bytes(page, wrong); });
}

void row_check::wrong_place(std::uint32_t ordinal, std::string_view why) { log_.add("{}: {}", where(ordinal), why); }

void row_check::wrong_bytes(const expected_page& page, const wrong_byte& wrong) {
  log_.add("{}, buffer {}, byte {}: expected {:#04x}, found {:#04x}", where(page.ordinal), wrong.buffer, wrong.offset,
           wrong.expected, wrong.found);
}

std::string row_check::where(std::uint32_t ordinal) const {
  std::uint8_t tier = entries_.tier[ordinal];
  std::string kind = tier == gpu_tier    ? "gpu"
                     : tier == host_tier ? "host"
                     : tier == no_tier   ? "no"
                                         : fmt::format("tier {}", tier);
  return fmt::format("step {}, version {}, request {}, group {}, ordinal {}, {} slot {}", plan_.step, plan_.version,
                     row_.request.value(), group_, ordinal, kind, entries_.slot[ordinal]);
}

} // namespace pages
