// Blocks and owners: binding, letting go, and what is due for a block whenever something about it has changed.
#include <algorithm>

#include "actors/page_registry.hpp"
#include "actors/planted_fault.hpp"
#include "kvferry/contract.hpp"

namespace kvferry {

block& page_registry::new_block(group_id group) {
  if (unused_blocks_.empty()) {
    blocks_.emplace_back();
    unused_blocks_.push_back(&blocks_.back());
  }
  block& b = *unused_blocks_.back();
  unused_blocks_.pop_back();
  b.id = block_id{++last_block_};
  b.group = group;
  touched_.push_back(&b);
  return b;
}

/// The block ends: its pages' slots are free, or retire.
void page_registry::forget(block& b) {
  KVFERRY_REQUIRE(b.owners.empty() && !b.copy && b.pins == 0, "block {} ends with {} owners, {} pins, copy {}",
                  b.id.value(), b.owners.size(), b.pins, b.copy != nullptr);
  if (b.is_idle())
    leave_idle(b);
  waiting_[b.group.value()].remove(b);
  if (b.node != nullptr)
    leave_index(b);
  if (b.returns_to != nullptr)
    index_.drop_reference(*std::exchange(b.returns_to, nullptr));
  if (b.has_gpu())
    give_up_gpu(b);
  if (b.has_host())
    give_up_host(b);
  std::vector<owner> memory = std::move(b.owners); // the record keeps it for its next block
  b = block{};
  b.owners = std::move(memory);
  unused_blocks_.push_back(&b);
}

void page_registry::own(block& b, claim& c, block_ordinal ordinal, tier bound) {
  c.tables[b.group.value()][ordinal] = {&b, bound};
  b.owners.push_back({&c, ordinal});
  b.idle_since = 0;
  b.gpu_bound += bound == tier::gpu ? 1u : 0u;
  b.blockers += needs_gpu(c, b.group, ordinal) ? 1u : 0u;
  c.loads += bound == tier::gpu && b.loading ? 1u : 0u;
  touched_.push_back(&b);
}

/// The owner lets the block go. `seq` is the number that unnames the page; none: no row names it any more.
void page_registry::leave(claim& c, group_id group, block_ordinal ordinal, std::optional<row_seq> seq) {
  claim_entry& entry = c.tables[group.value()][ordinal];
  block& b = *entry.held;
  if (seq)
    unname({group, entry.bound, slot_of(b, entry.bound)}, c, *seq);
  b.gpu_bound -= entry.bound == tier::gpu ? 1u : 0u;
  b.blockers -= needs_gpu(c, group, ordinal) ? 1u : 0u;
  c.loads -= entry.bound == tier::gpu && b.loading ? 1u : 0u;
  auto place = std::find(b.owners.begin(), b.owners.end(), owner{&c, ordinal});
  KVFERRY_REQUIRE(place != b.owners.end(), "request {} leaves block {} which it does not own", c.id.value(),
                  b.id.value());
  b.owners.erase(place);
  entry = {};
  b.failures = 0; // 4.3: copy_failed lasts until an owner leaves
  touched_.push_back(&b);
  if (planted(fault::retry_forgotten) && !b.owners.empty())
    return;
  settle(b);
}

void page_registry::rebind(block& b, const owner& o, tier to) {
  claim_entry& entry = entry_of(b, o);
  if (entry.bound == to)
    return;
  claim& c = *o.request;
  slot_key left{b.group, entry.bound, slot_of(b, entry.bound)};
  if (to == tier::host) {
    --b.gpu_bound;
    c.loads -= b.loading ? 1u : 0u;
  } else {
    ++b.gpu_bound;
    c.loads += b.loading ? 1u : 0u;
  }
  entry.bound = to;
  if (c.ghost) {
    unname(left, c, slot_ledger::until_gone);
    return;
  }
  unname(left, c, number(c));
  note_change(c, b.group, o.ordinal, to, slot_of(b, to), to == tier::host || !b.loading);
}

/// One number per request and handling, however many of its pages change in it.
row_seq page_registry::number(claim& c) {
  if (!c.numbered) {
    c.numbered = true;
    ++c.seq;
    changed_.push_back(&c);
  }
  return c.seq;
}

void page_registry::note_change(claim& c, group_id group, block_ordinal ordinal, tier on, std::uint32_t slot,
                                bool ready) {
  number(c);
  c.changes.push_back({group, ordinal, on, ready, slot});
}

void page_registry::unname(slot_key slot, const claim& c, row_seq seq) {
  if (auto gone = gone_.find(c.id); gone != gone_.end())
    ledger_.add_fences(slot, gone->second); // no version names it; only its last readers may still run
  else
    ledger_.unname(slot, c.id, seq);
}

void page_registry::settle(block& b) {
  if (b.id.is_none())
    return;
  touched_.push_back(&b);
  if (b.wait_ticket != 0 && !may_copy(b))
    waiting_[b.group.value()].remove(b);
  if (b.owners.empty() && b.idle_since == 0)
    b.idle_since = ++last_idle_; // its place among idle blocks is that of its last owner's leaving
  if (b.copy) {                  // rule 6: decided when it is done
    if (b.owners.empty() || (b.copy->kind == move_kind::load && b.gpu_bound == 0))
      cancel_copy(b);
    return;
  }
  if (b.owners.empty()) {
    if (b.pins > 0)
      return; // decided when nothing reads it any more
    if (b.node == nullptr)
      forget(b);
    else if (b.on_gpu_list.in == nullptr && b.on_host_list.in == nullptr)
      make_idle(b);
    return;
  }
  if (b.has_host()) {
    if (is_sparse(b.group) && b.gpu_bound > 0)
      for (const owner& o : b.owners)
        if (o.request->active && !needs_gpu(b, o) && entry_of(b, o).bound == tier::gpu) {
          rebind(b, o, tier::host);
          ++counters_.pages_rebound_without_copy;
        }
    if (b.has_gpu() && b.gpu_bound == 0 && b.pins == 0)
      give_up_gpu(b); // 4.3: released when its last bound owner leaves, without a copy
    return;
  }
  if (may_copy(b)) {
    if (b.wait_ticket == 0) { // served before this handling ends, when a slot is available
      waiting_[b.group.value()].add(b);
      new_waiters_.push_back(&b);
    }
  } else if (!has_movers(b)) {
    b.deferred_at = 0;
    b.bound_reached = false;
  } else if (b.deferred_at == 0 && b.blockers > 0) {
    defer(b);
    if (config_.defer_steps_max == 0u) {
      b.bound_reached = true;
      settle(b);
    }
  }
}

/// It stays on the GPU for now. Its bound is counted from here, however its blockers change (4.2).
void page_registry::defer(block& b) {
  ++counters_.pages_deferred;
  b.deferred_at = publications_ + 1;
  if (config_.defer_steps_max)
    deferrals_.add(b);
}

void page_registry::settle_table(claim& c) {
  for (std::size_t g = 0; g < groups(); ++g)
    for (block_ordinal o = c.first_held[g]; o < c.blocks; ++o)
      if (block* b = c.tables[g][o].held)
        settle(*b);
}

/// Listed where its pages can be taken, or wait to be unnamed.
void page_registry::make_idle(block& b) {
  if (b.idle_since == 0)
    b.idle_since = ++last_idle_;
  idle_pages& idle = idle_[b.group.value()];
  if (b.has_gpu()) {
    idle_list& list = b.has_host() ? idle.gpu_clean : idle.gpu_only;
    (ledger_.is_named(key_of(b.group, b.gpu)) ? idle.gpu_named : list).insert(b);
  }
  if (b.has_host())
    (ledger_.is_named(key_of(b.group, b.host)) ? idle.host_named : idle.host).insert(b);
}

/// Out of the lists. Keeps `idle_since`, so that an idle block that loses one page keeps its place; a block that gets
/// an owner loses it in `settle`.
void page_registry::leave_idle(block& b) {
  idle_[b.group.value()].remove(b);
  if (!b.owners.empty())
    b.idle_since = 0;
}

/// `source` is of a branch: the block whose page it reads, on the GPU if it is there, and which is pinned.
void page_registry::start_copy(block& b, move_kind kind, std::uint32_t target, block* source) {
  KVFERRY_REQUIRE(!b.copy, "block {} has a copy under way", b.id.value());
  b.copy =
      std::make_unique<block_copy>(block_copy{kind, move_id{++last_move_}, target, source}); // rule 6: never recurs
  moves_.emplace(b.copy->move, &b);
  touched_.push_back(&b);
  page_move move{b.copy->move, kind, b.id, b.group, b.gpu, b.host, gpu_slot::none()};
  if (goes_to_gpu(kind)) {
    move.gpu = gpu_slot{target};
    if (!planted(fault::load_wait_dropped))
      before_to_gpu_.add(ledger_.fences(key_of(b.group, move.gpu)));
    if (source != nullptr) {
      before_to_gpu_.add(source->written);
      b.copy->within_gpu = source->has_gpu() && !source->loading;
      if (b.copy->within_gpu)
        move.from = source->gpu;
      else
        move.host = source->host;
    }
  } else {
    move.host = host_slot{target};
    if (!planted(fault::copy_wait_dropped)) {
      before_to_host_.add(b.written);
      before_to_host_.add(ledger_.fences(key_of(b.group, b.gpu))); // a page that was never written is its slot's last
    }
    before_to_host_.add(ledger_.fences(key_of(b.group, move.host)));
  }
  copies_.push_back(move);
}

/// Design section 6: what is not on a stream yet is not copied for nobody.
void page_registry::cancel_copy(block& b) {
  if (b.copy->submitted.sequence != 0 || b.copy->cancelling || b.copy->kind == move_kind::demote)
    return;
  b.copy->cancelling = true;
  cancels_.push_back(b.copy->move);
}

/// A branch that read one of the block's pages has ended.
void page_registry::unpin(block& b) {
  KVFERRY_REQUIRE(b.pins > 0, "block {} is unpinned twice", b.id.value());
  --b.pins;
  settle(b);
}

/// Rule 8: whatever made a slot available, who waits for one is served in the same handling.
void page_registry::serve_waiting() {
  for (std::size_t g = 0; g < groups(); ++g) {
    wait_set& waiting = waiting_[g];
    std::vector<std::uint32_t> slots; // neighbours go to blocks in a row: one transfer reaches them
    while (slots.size() < waiting.size() && host_room(group_at(g)) > 0)
      slots.push_back(take_host(group_at(g)).value());
    std::ranges::sort(slots);
    for (std::uint32_t slot : slots) {
      block& b = waiting.front();
      waiting.remove(b);
      counters_.pages_retried += b.deferred_at != 0 ? 1u : 0u;
      b.deferred_at = 0;
      start_copy(b, move_kind::offload, slot);
      if (planted(fault::tier_before_copy_done)) {
        b.host = host_slot{b.copy->target};
        for (const owner& o : b.owners)
          if (!needs_gpu(b, o))
            rebind(b, o, tier::host);
        b.host = host_slot::none();
      }
    }
  }
  for (block* b : std::exchange(new_waiters_, {}))
    if (b->wait_ticket != 0 && b->deferred_at == 0) // it wanted to move and could not
      defer(*b);
}

} // namespace kvferry
