// Opening: the longest prefix that is there, bound on the GPU, loaded where it is on the host only (4.4, 4.5).
#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "actors/page_registry.hpp"
#include "actors/planted_fault.hpp"
#include "kvferry/contract.hpp"

namespace kvferry {

/// A match of n blocks holds when every sparse and full dense group has all blocks below n, and each window group those
/// that its window covers at n; the longest such n wins.
page_registry::matched_prefix page_registry::longest_match(const match_prefix& message) {
  const std::uint32_t t = config_.tokens_per_block;
  const std::uint32_t at_most =
      message.prompt_tokens == 0 ? 0 : (message.prompt_tokens - 1) / t; // the last token is always computed
  matched_prefix best;
  std::vector<prefix_node*> path;
  std::vector<std::uint32_t> run_from(groups(), 0); // [group] blocks from here to the end of the path are all there
  prefix_node* node = &index_.root(message.adapter, message.salt);
  for (std::uint32_t depth = 0; depth < at_most && depth < message.keys.hashes.size(); ++depth) {
    auto tokens = std::span{message.keys.tokens}.subspan(std::size_t{depth} * t, t);
    node = index_.find(*node, message.keys.hashes[depth], tokens);
    if (node == nullptr)
      break;
    path.push_back(node);
    bool holds = true, full_group_ends = false;
    for (std::size_t g = 0; g < groups(); ++g) {
      const block* b = node->blocks[g];
      bool there = b != nullptr && (b->has_gpu() || config_.on_host_hit == host_hit_policy::load);
      if (!there)
        run_from[g] = depth + 1;
      full_group_ends = full_group_ends || (config_.groups[g].window_tokens == 0 && !there);
      holds = holds && run_from[g] <= first_in_window(group_at(g), (depth + 1) * t);
    }
    if (full_group_ends)
      break;
    if (holds)
      best = {depth + 1, path};
  }
  return best;
}

void page_registry::handle(const match_prefix& message, outbox& out) {
  claim* c = live_claim(message.request);
  if (c == nullptr)
    return;
  begin(c);
  matched_prefix match = longest_match(message);

  std::vector<std::uint32_t> whole(groups());
  for (std::size_t g = 0; g < groups(); ++g)
    if (config_.groups[g].window_tokens == 0)
      whole[g] = (message.prompt_tokens + config_.tokens_per_block - 1) / config_.tokens_per_block;
  for (std::size_t g = 0; g < groups(); ++g)
    if (whole[g] > ledger_.total(group_at(g), tier::gpu)) {
      refuse(message.call, gpu_shortage(group_at(g), whole[g], 0));
      finish(out);
      return;
    }

  std::vector<std::pair<block*, block_ordinal>> wanted;
  std::vector<block*> blocks;
  for (std::size_t g = 0; g < groups(); ++g)
    for (block_ordinal o = first_in_window(group_at(g), match.blocks * config_.tokens_per_block); o < match.blocks;
         ++o) {
      wanted.emplace_back(match.nodes[o]->blocks[g], o);
      blocks.push_back(wanted.back().first);
    }
  std::vector<std::uint32_t> needed;
  std::vector<kept_pages> kept;
  count_loads(blocks, needed, kept);
  if (auto why = plan_gpu(needed, slot_use::copy, batch_id::none(), kept)) {
    refuse_gpu(*c, message.call, std::move(*why));
    finish(out);
    return;
  }

  c->active = true;
  c->blocks = c->complete = c->committed = match.blocks;
  c->history_tokens = match.blocks * config_.tokens_per_block;
  c->last_node = match.nodes.empty() ? &index_.root(message.adapter, message.salt) : match.nodes.back();
  index_.add_reference(*c->last_node);
  pages_granted granted{message.call, {}, match.blocks * config_.tokens_per_block, false};
  for (std::size_t g = 0; g < groups(); ++g) {
    c->tables[g].resize(match.blocks);
    c->first_held[g] = first_in_window(group_at(g), c->history_tokens);
  }
  load_and_bind(*c, wanted, granted.granted);
  number(*c);
  granted.loading = c->loads > 0;
  counters_.prefix_blocks_hit += match.blocks;
  reply_ = std::move(granted);
  finish(out);
}

/// How many GPU slots binding `wanted` on the GPU takes, and which idle pages it keeps others from being taken.
std::uint32_t page_registry::count_loads(const std::vector<block*>& wanted, std::vector<std::uint32_t>& needed,
                                         std::vector<kept_pages>& kept) const {
  needed.assign(groups(), 0);
  kept.assign(groups(), {});
  std::uint32_t loads = 0;
  for (const block* b : wanted) {
    std::size_t g = b->group.value();
    if (!b->has_gpu()) {
      ++needed[g];
      ++loads;
    }
    kept[g].gpu += b->on_gpu_list.linked ? 1u : 0u;
    kept[g].host += b->on_host_list.linked ? 1u : 0u;
  }
  return loads;
}

/// Binds each (block, ordinal) to its GPU page, loading those that are on the host only, once for all who need them.
/// REQUIRES: planned.
void page_registry::load_and_bind(claim& c, const std::vector<std::pair<block*, block_ordinal>>& wanted,
                                  grant& granted) {
  for (auto [b, ordinal] : wanted) // first out of the idle lists, so that no slot is taken from what is wanted
    if (b->is_idle()) {
      leave_idle(*b);
      b->idle_since = 0;
    }
  for (auto [b, ordinal] : wanted) {
    if (!b->has_gpu()) {
      grant from; // what stands before the load is the load's to wait for
      gpu_slot slot = take_gpu(b->group, slot_use::copy, batch_id::none(), from);
      b->failures = 0;
      start_copy(*b, move_kind::load, slot.value());
      if (planted(fault::host_page_under_load))
        ledger_.give_back(key_of(b->group, b->host));
      b->gpu = slot;
      b->loading = true;
      gpu_pages_[b->group.value()][slot.value()] = b;
    }
    claim_entry& entry = c.tables[b->group.value()][ordinal];
    if (entry.held == nullptr) {
      own(*b, c, ordinal, tier::gpu);
      note_change(c, b->group, ordinal, tier::gpu, b->gpu.value(), !b->loading);
    } else {
      rebind(*b, {&c, ordinal}, tier::gpu);
    }
    granted.after.add(b->written);
    settle(*b); // a copy to the host that waited is blocked now
  }
}

} // namespace kvferry
