#include "actors/block_replica.hpp"

#include <algorithm>

#include "kvferry/contract.hpp"

namespace kvferry {

block_replica::block_replica(const std::vector<group_config>& groups) {
  for (const group_config& g : groups)
    groups_.push_back({g.kind == group_kind::sparse, {}, 0, 0, 0});
}

void block_replica::apply(const std::vector<page_change>& changes) {
  for (const page_change& change : changes) {
    group_table& g = groups_[change.group.value()];
    KVFERRY_REQUIRE(change.ordinal < g.pages.size(), "group {} ordinal {} of {} changes", change.group.value(),
                    change.ordinal, g.pages.size());
    g.on_host -= g.pages[change.ordinal].on == tier::host ? 1u : 0u;
    g.on_host += change.on == tier::host ? 1u : 0u;
    g.pages[change.ordinal] = change;
    if (change.on != tier::host)
      g.history = std::min(g.history, change.ordinal); // counted again from here
  }
}

void block_replica::resize(std::uint32_t blocks) {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    group_table& g = groups_[i];
    const auto id = group_id{static_cast<std::uint8_t>(i)};
    for (auto o = static_cast<block_ordinal>(g.pages.size()); o < blocks; ++o)
      g.pages.push_back({id, o, tier::none, true, 0});
    for (; g.pages.size() > blocks; g.pages.pop_back())
      g.on_host -= g.pages.back().on == tier::host ? 1u : 0u;
    g.history = std::min(g.history, blocks);
  }
  blocks_ = blocks;
}

void block_replica::mark_ready() {
  for (group_table& g : groups_)
    for (page_change& page : g.pages)
      page.ready = true;
}

std::vector<page_change> block_replica::all() const {
  std::vector<page_change> pages;
  for (const group_table& g : groups_)
    std::copy_if(g.pages.begin(), g.pages.end(), std::back_inserter(pages),
                 [](const page_change& page) { return page.on != tier::none; });
  return pages;
}

std::vector<group_history> block_replica::update_history(bool decoding, std::uint32_t complete_blocks) {
  std::vector<group_history> changed;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    group_table& g = groups_[i];
    if (!g.sparse)
      continue;
    std::uint32_t count = decoding ? g.history : 0;
    while (decoding && count < std::min<std::size_t>(complete_blocks, g.pages.size()) &&
           g.pages[count].on == tier::host)
      ++count;
    if (count != g.published) {
      g.published = count;
      changed.push_back({group_id{static_cast<std::uint8_t>(i)}, count});
    }
    g.history = count;
  }
  return changed;
}

std::vector<group_history> block_replica::history() const {
  std::vector<group_history> counts;
  for (std::size_t i = 0; i < groups_.size(); ++i)
    if (groups_[i].published > 0)
      counts.push_back({group_id{static_cast<std::uint8_t>(i)}, groups_[i].published});
  return counts;
}

std::vector<block_ordinal> block_replica::on_host(group_id group) const {
  std::vector<block_ordinal> ordinals;
  const group_table& g = groups_[group.value()];
  if (g.on_host > 0)
    for (const page_change& page : g.pages)
      if (page.on == tier::host)
        ordinals.push_back(page.ordinal);
  return ordinals;
}

const page_change* block_replica::find(group_id group, block_ordinal ordinal) const {
  const auto& pages = groups_[group.value()].pages;
  return ordinal < pages.size() ? &pages[ordinal] : nullptr;
}

} // namespace kvferry
