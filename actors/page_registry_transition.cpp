// A request's calls after it was opened: history, capacity, commit, decode entry, suspend, resume, release.
#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "actors/page_registry.hpp"
#include "actors/planted_fault.hpp"
#include "kvferry/contract.hpp"

namespace kvferry {

void page_registry::handle(const owner_transition& message, outbox& out) {
  claim* c = live_claim(message.request);
  if (c == nullptr)
    return;
  begin(c);
  apply_history(*c, message.history); // never refused: the KV is written
  switch (message.kind) {
  case transition::advance: advance_claim(*c, message); break;
  case transition::enter_decode: enter_decode(*c, message); break;
  case transition::suspend: suspend(*c, message); break;
  case transition::resume: resume(*c, message); break;
  }
  finish(out);
}

void page_registry::apply_history(claim& c, const history_report& report) {
  if (report.tokens <= c.history_tokens)
    return;
  const std::uint32_t t = config_.tokens_per_block;
  const std::uint32_t first = c.history_tokens / t, last = (report.tokens - 1) / t;
  const std::uint32_t complete = report.tokens / t;
  KVFERRY_REQUIRE(last < c.blocks, "request {} reports {} tokens and has {} blocks of {}", c.id.value(), report.tokens,
                  c.blocks, t);
  const std::uint32_t before = c.complete;
  c.history_tokens = report.tokens;
  for (std::size_t g = 0; g < groups(); ++g) {
    for (block_ordinal o = first; o <= last; ++o)
      if (block* b = c.tables[g][o].held)
        b->written.add(report.written);
    if (!is_sparse(group_at(g)) || c.stage == phase::prefill || !c.active)
      continue;
    for (block_ordinal o = before; o < complete; ++o)
      if (block* b = c.tables[g][o].held)
        --b->blockers;
  }
  c.complete = complete;
  for (std::size_t g = 0; g < groups(); ++g)
    for (block_ordinal o = before; o < complete; ++o)
      if (block* b = c.tables[g][o].held)
        settle(*b);
  release_stale(c);
}

/// Window groups give up what no attention looks at any more.
void page_registry::release_stale(claim& c) {
  for (std::size_t g = 0; g < groups(); ++g) {
    std::uint32_t keep = std::min(first_in_window(group_at(g), c.history_tokens), c.blocks);
    for (; c.first_held[g] < keep; ++c.first_held[g])
      if (c.tables[g][c.first_held[g]].held != nullptr) {
        note_change(c, group_at(g), c.first_held[g], tier::none, 0, true);
        leave(c, group_at(g), c.first_held[g], number(c));
      }
  }
}

void page_registry::advance_claim(claim& c, const owner_transition& message) {
  advanced done{message.call, {}, 0};
  if (message.capacity_blocks > c.blocks) {
    const std::uint32_t more = message.capacity_blocks - c.blocks;
    const slot_use use = c.stage == phase::decode ? slot_use::decode : slot_use::prefill;
    if (auto why = plan_gpu(std::vector<std::uint32_t>(groups(), more), use, c.batch, {})) {
      refuse_gpu(c, message.call, std::move(*why));
      return;
    }
    grow(c, message.capacity_blocks, done.granted);
  }
  commit(c, message.commit, done.granted);
  done.committed_blocks = c.committed;
  reply_ = std::move(done);
}

void page_registry::grow(claim& c, std::uint32_t blocks, grant& granted) {
  const slot_use use = c.stage == phase::decode ? slot_use::decode : slot_use::prefill;
  const block_ordinal from = c.blocks;
  c.blocks = blocks;
  for (std::size_t g = 0; g < groups(); ++g) {
    c.tables[g].resize(blocks);
    for (block_ordinal o = from; o < blocks; ++o) {
      gpu_slot slot = take_gpu(group_at(g), use, c.batch, granted);
      block& b = new_block(group_at(g));
      b.gpu = slot;
      gpu_pages_[g][slot.value()] = &b;
      own(b, c, o, tier::gpu);
      note_change(c, group_at(g), o, tier::gpu, slot.value(), true);
      ++counters_.pages_allocated;
    }
  }
}

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
      index_.set(node, own_block);
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
  if (there->is_idle()) {
    leave_idle(*there);
    there->idle_since = 0;
  }
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

void page_registry::enter_decode(claim& c, const owner_transition& message) {
  // What would need a host slot: all or nothing when the call can be refused, counting duplicates that end here.
  if (config_.on_host_full == host_full_policy::refuse)
    for (std::size_t g = 0; g < groups(); ++g) {
      std::uint32_t due = 0;
      std::uint32_t room = host_available(group_at(g));
      for (block_ordinal o = 0; is_sparse(group_at(g)) && o < c.complete; ++o) {
        const block& own_block = *c.tables[g][o].held;
        const block* there = nullptr;
        for (const auto& [who, group] : c.unshared)
          if (group == group_at(g) && who.ordinal == o)
            there = committed_node(c, o).blocks[g];
        const block& b = there == nullptr ? own_block : *there;
        room -= &b != &own_block && b.on_host_list.linked ? 1u : 0u; // kept: the duplicate ends there
        const std::uint32_t own_need = &b == &own_block && needs_gpu(c, group_at(g), o) ? 1 : 0;
        const bool moves = b.bound_reached || b.blockers == own_need || config_.defer_steps_max == 0u;
        due += !b.copy && !b.has_host() && b.wait_ticket == 0 && moves ? 1u : 0u;
      }
      if (due > room) {
        shortage numbers{group_at(g),
                         tier::host,
                         due,
                         room,
                         0,
                         ledger_.fenced_count(group_at(g), tier::host),
                         ledger_.retiring_count(group_at(g), tier::host),
                         0};
        refuse(message.call, {error_code::host_full,
                              fmt::format("group \"{}\" is short of host slots: {} needed, {} available",
                                          config_.groups[g].name, due, room),
                              numbers});
        return;
      }
    }
  change_claim(c, [](claim& entering) { entering.stage = phase::decode; });
  offload_accepted accepted{message.call, {}, 0, 0, 0};
  for (auto [who, group] : std::exchange(c.unshared, {})) {
    block* own_block = who.ordinal < c.blocks ? c.tables[group.value()][who.ordinal].held : nullptr;
    if (own_block == nullptr || own_block->node != nullptr)
      continue;
    share(c, group, who.ordinal, committed_node(c, who.ordinal), accepted.granted);
  }
  for (std::size_t g = 0; g < groups(); ++g)
    for (block_ordinal o = 0; is_sparse(group_at(g)) && o < c.complete; ++o) {
      block& b = *c.tables[g][o].held;
      b.failures = 0; // the engine asks again
      if (!planted(fault::retry_forgotten) || b.deferred_at == 0)
        settle(b);
    }
  reply_ = std::move(accepted);
}

void page_registry::suspend(claim& c, const owner_transition& message) {
  number(c); // the row shows nothing from now on
  for (std::size_t g = 0; g < groups(); ++g)
    for (block_ordinal o = c.first_held[g]; o < c.blocks; ++o)
      if (const claim_entry& entry = c.tables[g][o]; entry.held != nullptr) {
        ledger_.add_fences({group_at(g), entry.bound, slot_of(*entry.held, entry.bound)}, message.history.running);
        if (o >= c.complete)
          entry.held->written.add(message.history.running);
      }
  if (c.active) {
    change_claim(c, [](claim& leaving) { leaving.active = false; });
    suspended_.push_back(c.id);
  }
  for (std::size_t g = 0; g < groups(); ++g)
    for (block_ordinal o = c.blocks; o-- > c.first_held[g];)
      if (block* b = c.tables[g][o].held) {
        if (b->has_host())
          rebind(*b, {&c, o}, tier::host); // it needs nothing: the GPU page is not kept for it
        settle(*b);
      }
  reply_ = advanced{message.call, {}, c.committed};
}

void page_registry::resume(claim& c, const owner_transition& message) {
  auto restore = [&] { change_claim(c, [](claim& back) { back.active = false; }); };
  change_claim(c, [](claim& coming) { coming.active = true; });
  std::vector<std::pair<block*, block_ordinal>> wanted;
  std::vector<block*> blocks;
  for (std::size_t g = 0; g < groups(); ++g) {
    std::uint32_t due = 0;
    for (block_ordinal o = c.first_held[g]; o < c.blocks; ++o) {
      const claim_entry& entry = c.tables[g][o];
      if (entry.held == nullptr)
        continue;
      if (needs_gpu(c, group_at(g), o) && entry.bound == tier::host) {
        wanted.emplace_back(entry.held, o);
        blocks.push_back(entry.held);
      }
      due += may_copy(*entry.held) && entry.held->wait_ticket == 0 ? 1u : 0u;
    }
    const std::uint32_t room = host_available(group_at(g));
    if (config_.on_host_full == host_full_policy::refuse && due > room) {
      restore();
      refuse(message.call,
             {error_code::host_full,
              fmt::format("group \"{}\" is short of host slots: {} needed, {} available", config_.groups[g].name, due,
                          room),
              shortage{group_at(g), tier::host, due, room, 0, 0, ledger_.retiring_count(group_at(g), tier::host), 0}});
      return;
    }
  }
  std::vector<std::uint32_t> needed;
  std::vector<kept_pages> kept;
  count_loads(blocks, needed, kept);
  if (auto why = plan_gpu(needed, slot_use::copy, batch_id::none(), kept)) {
    restore();
    refuse_gpu(c, message.call, std::move(*why));
    return;
  }
  std::erase(suspended_, c.id);
  number(c);
  pages_granted granted{message.call, {}, c.history_tokens, false};
  load_and_bind(c, wanted, granted.granted);
  for (std::size_t g = 0; g < groups(); ++g)
    for (block_ordinal o = c.first_held[g]; o < c.blocks; ++o)
      if (block* b = c.tables[g][o].held) {
        if (b->copy && b->copy->kind != move_kind::load && o >= c.complete) {
          // Rule 6: a spill of bytes that change from now on is void. It still reads the page: the writer comes after
          // it.
          b->discard_copy = true;
          if (b->copy->submitted.sequence != 0)
            granted.granted.after.add(b->copy->submitted);
          else
            reply_waits_for_.push_back(b->copy->move);
        }
        b->failures = 0;
        settle(*b);
      }
  granted.loading = c.loads > 0;
  reply_ = std::move(granted);
}

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

void page_registry::release(claim& c, std::optional<row_seq> seq, const history_report& report) {
  if (c.active)
    change_claim(c, [](claim& leaving) { leaving.active = false; });
  const std::uint32_t t = config_.tokens_per_block;
  const fence_set& running = planted(fault::close_ignores_steps) ? fence_set{} : report.running;
  for (block_ordinal o = c.blocks; o-- > 0;) // children become idle before their parents
    for (std::size_t g = 0; g < groups(); ++g) {
      const claim_entry entry = c.tables[g][o];
      if (entry.held == nullptr)
        continue;
      ledger_.add_fences({group_at(g), entry.bound, slot_of(*entry.held, entry.bound)}, running);
      if (o >= c.history_tokens / t)
        entry.held->written.add(running);
      leave(c, group_at(g), o, seq);
    }
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

/// The table ends before `from`: a load into it was lost.
void page_registry::cut_table(claim& c, block_ordinal from) {
  for (std::size_t g = 0; g < groups(); ++g) // what a window needs there was never owned: the match holds nowhere
    if (c.first_held[g] > first_in_window(group_at(g), from * config_.tokens_per_block))
      from = 0;
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
