// Committing blocks: they enter the prefix index, or their owner is bound to the block that is there (4.4).
#include <algorithm>
#include <span>

#include "actors/page_registry.hpp"
#include "kvferry/contract.hpp"

namespace kvferry {

/// Blocks enter the index, or their owner is bound to the block that is there (4.4).
void page_registry::commit(claim& c, const block_keys& keys, grant& granted) {
  const std::uint32_t t = config_.tokens_per_block;
  for (std::size_t i = 0; i < keys.hashes.size(); ++i) {
    const block_ordinal o = keys.first + static_cast<block_ordinal>(i);
    if (o < c.committed)
      continue;
    KVFERRY_REQUIRE(o == c.committed && o < c.complete, "request {} commits block {}: {} are committed, {} complete",
                    c.id.value(), o, c.committed, c.complete);
    prefix_node& node = index_.find_or_add(*c.last_node, keys.hashes[i], std::span{keys.tokens}.subspan(i * t, t));
    index_.add_reference(node);
    index_.drop_reference(*std::exchange(c.last_node, &node));
    ++c.committed;
    for (std::size_t g = 0; g < groups(); ++g)
      if (c.tables[g][o].held != nullptr)
        share(c, group_at(g), o, node, granted);
  }
}

void page_registry::share(claim& c, group_id group, block_ordinal ordinal, prefix_node& node, grant& granted) {
  const owner who{&c, ordinal};
  block& own_block = *c.tables[group.value()][ordinal].held;
  block* there = node.blocks[group.value()];
  if (there == nullptr) {
    if (own_block.node == nullptr)
      enter_index(own_block, node);
    return;
  }
  if (there == &own_block)
    return;
  const bool needs = needs_gpu(c, group, ordinal);
  auto elsewhere = [&](fence f) {
    return f.sequence > passed_.sequence_on(f.stream) && own_block.written.sequence_on(f.stream) == 0;
  };
  bool still_written = there->loading;
  there->written.for_each([&](fence f) { still_written = still_written || elsewhere(f); });
  if (own_block.copy || own_block.node != nullptr || (needs && there->has_gpu() && still_written)) {
    c.unshared.emplace_back(who, group); // a duplicate until decode entry
    return;
  }
  touched_.push_back(there);
  if (there->is_idle())
    leave_idle(*there);
  if (needs && !there->has_gpu()) {
    // The own page becomes the GPU page of the block that is there.
    KVFERRY_REQUIRE(own_block.owners.size() == 1, "private block {} has {} owners", own_block.id.value(),
                    own_block.owners.size());
    gpu_slot page = std::exchange(own_block.gpu, gpu_slot::none());
    there->gpu = page;
    there->written.add(own_block.written);
    gpu_pages_[group.value()][page.value()] = there;
    own_block.owners.clear();
    own_block.blockers = own_block.gpu_bound = 0;
    forget(own_block);
    own(*there, c, ordinal, tier::gpu);
  } else {
    const bool on_gpu = there->has_gpu() && (needs || !there->has_host());
    granted.after.add(there->written);
    leave(c, group, ordinal, number(c));
    own(*there, c, ordinal, on_gpu ? tier::gpu : tier::host);
    note_change(c, group, ordinal, on_gpu ? tier::gpu : tier::host, slot_of(*there, on_gpu ? tier::gpu : tier::host),
                true);
  }
  settle(*there);
}

/// The index node of one of the request's committed blocks.
prefix_node& page_registry::committed_node(const claim& c, block_ordinal ordinal) const {
  prefix_node* node = c.last_node;
  for (std::uint32_t depth = c.committed; depth > ordinal + 1; --depth)
    node = node->parent;
  return *node;
}

} // namespace kvferry
