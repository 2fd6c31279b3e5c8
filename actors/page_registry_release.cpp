// Letting go: a request ends, or its table is cut.
#include <algorithm>

#include "actors/page_registry.hpp"
#include "actors/planted_fault.hpp"
#include "kvferry/contract.hpp"

namespace kvferry {

void page_registry::handle(const release_owners& message, outbox& out) {
  claim* c = live_claim(message.request);
  if (c == nullptr)
    return;
  begin(nullptr);
  const bool had_row = !c->batch.is_none();
  release(*c, had_row ? std::optional{slot_ledger::until_gone} : std::nullopt, message.history);
  if (!had_row)
    acknowledge(message.request, slot_ledger::until_gone, {}); // nothing ever showed its numbers
  out.send(message.request, owners_released{});
  finish(out);
}

/// Its pages were kept for want of knowing what ran it; in a row, a publication without it says so (rule 10).
void page_registry::handle(const bury_request& message, outbox& out) {
  auto found = claims_.find(message.request);
  if (found == claims_.end() || !found->second->ghost || !found->second->batch.is_none())
    return;
  begin(nullptr);
  release(*found->second, std::nullopt, message.history);
  acknowledge(message.request, slot_ledger::until_gone, {}); // nothing ever showed its numbers
  finish(out);
}

void page_registry::release(claim& c, std::optional<row_seq> seq, const history_report& report) {
  if (c.active)
    change_claim(c, [](claim& leaving) { leaving.active = false; });
  if (!planted(fault::close_ignores_steps))
    fence_running(c, report.running);
  for (block_ordinal o = c.blocks; o-- > 0;) // children become idle before their parents
    for (std::size_t g = 0; g < groups(); ++g)
      if (c.tables[g][o].held != nullptr)
        leave(c, group_at(g), o, seq);
  if (c.last_node != nullptr)
    index_.drop_reference(*c.last_node);
  std::erase_if(parked_, [&](const parked_reply& p) { return p.to == c.id; });
  std::erase(suspended_, c.id);
  std::erase(changed_, &c);
  if (seq && !gone_.contains(c.id))
    departed_[c.id] = c.batch;
  gone_.erase(c.id);
  claims_.erase(c.id);
}

/// `fences` come before the next use of each page that the request's row shows.
void page_registry::fence_bound_pages(const claim& c, const fence_set& fences, block_ordinal from) {
  for (std::size_t g = 0; g < groups(); ++g)
    for (block_ordinal o = std::max(from, c.first_held[g]); o < c.blocks; ++o)
      if (const claim_entry& entry = c.tables[g][o]; entry.held != nullptr)
        ledger_.add_fences({group_at(g), entry.bound, slot_of(*entry.held, entry.bound)}, fences);
}

/// What still runs the request comes before the next use of its pages, and has written those that are not complete.
void page_registry::fence_running(claim& c, const fence_set& running, block_ordinal from) {
  fence_bound_pages(c, running, from);
  for (std::size_t g = 0; g < groups(); ++g)
    for (block_ordinal o = std::max({from, c.first_held[g], c.complete}); o < c.blocks; ++o)
      if (block* b = c.tables[g][o].held)
        b->written.add(running);
}

/// The table ends before `from`: a load into it was lost, or what lies behind is given back. `running` as in a report.
void page_registry::cut_table(claim& c, block_ordinal from, const fence_set& running) {
  for (std::size_t g = 0; g < groups(); ++g) // what a window needs there was never owned: the match holds nowhere
    if (c.first_held[g] > first_in_window(group_at(g), from * config_.tokens_per_block))
      from = 0;
  fence_running(c, running, from);
  for (std::size_t g = 0; g < groups(); ++g) {
    for (block_ordinal o = c.blocks; o-- > from;)
      if (c.tables[g][o].held != nullptr) {
        note_change(c, group_at(g), o, tier::none, 0, true);
        leave(c, group_at(g), o, number(c));
      }
    c.tables[g].resize(from);
    c.first_held[g] = std::min(c.first_held[g], from);
  }
  c.blocks = from;
  std::erase_if(c.unshared, [&](const auto& duplicate) { return duplicate.first.ordinal >= from; });
  for (; c.committed > from; --c.committed) {
    prefix_node* parent = c.last_node->parent;
    index_.add_reference(*parent);
    index_.drop_reference(*std::exchange(c.last_node, parent));
  }
  c.complete = std::min(c.complete, from);
  c.history_tokens = std::min(c.history_tokens, from * config_.tokens_per_block);
}

} // namespace kvferry
