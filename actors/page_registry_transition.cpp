// A request's calls after it was opened: history, capacity, decode entry, suspend, resume.
#include <algorithm>

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
  case transition::shrink: shrink(*c, message); break;
  case transition::drop: drop(*c, message); break;
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
  const std::uint32_t more = message.capacity_blocks > c.blocks ? message.capacity_blocks - c.blocks : 0;
  if (more > 0 && !(message.only_free && has_too_few_free(more))) {
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

/// GPU slots of any group, without those for which an idle page would have to go.
bool page_registry::has_too_few_free(std::uint32_t slots) const {
  for (std::size_t g = 0; g < groups(); ++g)
    if (ledger_.free_count(group_at(g), tier::gpu) < slots)
      return true;
  return false;
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
        room -= &b != &own_block && idle_[g].gives_host(b) ? 1u : 0u; // kept: the duplicate ends there
        const std::uint32_t own_need = &b == &own_block && needs_gpu(c, group_at(g), o) ? 1 : 0;
        const bool moves = b.bound_reached || b.blockers == own_need || config_.defer_steps_max == 0u;
        due += !b.copy && !b.has_host() && b.wait_ticket == 0 && moves ? 1u : 0u;
      }
      if (due > room) {
        refuse(message.call, host_shortage(group_at(g), due, room));
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
  fence_running(c, message.history.running);
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

/// Capacity that holds no history is given back.
void page_registry::shrink(claim& c, const owner_transition& message) {
  const std::uint32_t t = config_.tokens_per_block;
  const std::uint32_t kept = std::max(message.capacity_blocks, (c.history_tokens + t - 1) / t);
  cut_table(c, std::min(kept, c.blocks), message.history.running);
  reply_ = advanced{message.call, {}, c.committed};
}

/// The last way out of a shortage (4.5): a suspended request's pages go, and its tokens have to be computed again.
void page_registry::drop(claim& c, const owner_transition& message) {
  cut_table(c, 0, {});
  std::erase(suspended_, c.id);
  reply_ = advanced{message.call, {}, c.committed};
}

void page_registry::resume(claim& c, const owner_transition& message) {
  auto restore = [&] { change_claim(c, [](claim& back) { back.active = false; }); };
  std::vector<std::uint32_t> promised(groups());
  change_claim(c, [](claim& coming) { coming.active = true; });
  wanted_blocks wanted;
  for (std::size_t g = 0; g < groups(); ++g) {
    std::uint32_t due = 0;
    for (block_ordinal o = c.first_held[g]; o < c.blocks; ++o) {
      const claim_entry& entry = c.tables[g][o];
      if (entry.held == nullptr)
        continue;
      if (needs_gpu(c, group_at(g), o) && entry.bound == tier::host)
        wanted.emplace_back(entry.held, o);
      due += may_copy(*entry.held) && entry.held->wait_ticket == 0 ? 1u : 0u;
    }
    const std::uint32_t room = host_available(group_at(g));
    promised[g] = config_.on_host_full == host_full_policy::refuse ? due : 0;
    if (promised[g] > room) {
      restore();
      refuse(message.call, host_shortage(group_at(g), due, room));
      return;
    }
  }
  std::vector<std::uint32_t> needed;
  std::vector<kept_pages> kept;
  count_loads(wanted, needed, kept);
  if (auto why = plan_gpu(needed, slot_use::copy, batch_id::none(), kept)) {
    restore();
    refuse_gpu(c, message.call, std::move(*why));
    return;
  }
  std::erase(suspended_, c.id);
  number(c);
  pages_granted granted{message.call, {}, c.history_tokens, false};
  std::swap(promised_host_, promised); // what is demoted for its loads leaves room for what it moves itself
  load_and_bind(c, wanted, granted.granted);
  std::swap(promised_host_, promised);
  for (std::size_t g = 0; g < groups(); ++g)
    for (block_ordinal o = c.first_held[g]; o < c.blocks; ++o)
      if (block* b = c.tables[g][o].held) {
        if (b->copy && b->copy->kind == move_kind::spill && o >= c.complete) {
          // Rule 6: a spill of bytes that change from now on is void. It still reads the page: the writer comes after
          // it.
          b->discard_copy = true;
          if (b->copy->submitted.sequence != 0)
            granted.granted.after.add(b->copy->submitted);
          else
            reply_waits_for_.push_back(b->copy->move);
        }
        granted.granted.after.add(b->written); // it may go on on another stream
        b->failures = 0;
        settle(*b);
      }
  granted.loading = c.loads > 0;
  reply_ = std::move(granted);
}

} // namespace kvferry
