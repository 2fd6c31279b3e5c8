// The life of a copy after it was decided: submitted, done or failed (rules 5, 6, 7, 9; section 4.3).
#include <algorithm>

#include "actors/page_registry.hpp"
#include "actors/planted_fault.hpp"
#include "kvferry/contract.hpp"

namespace kvferry {

void page_registry::handle(const copies_submitted& message, outbox& out) {
  begin(nullptr);
  for (const page_move& move : message.moves) {
    auto under_way = moves_.find(move.move);
    if (under_way == moves_.end())
      continue;
    under_way->second->copy->submitted = message.submitted;
    if (move.kind != move_kind::demote)
      continue;
    const slot_key slot = key_of(move.group, move.gpu); // granted already
    ledger_.add_fences(slot, message.submitted);
    if (auto behind = behind_demotion_.find(slot.packed()); behind != behind_demotion_.end()) {
      const bool freed = behind->second;
      behind_demotion_.erase(behind);
      if (freed)
        ledger_.give_back(slot);
    }
  }
  for (parked_reply& parked : std::exchange(parked_, {})) {
    grant* granted = grant_of(parked.what);
    bool waited = std::erase_if(parked.waits_for, [&](move_id waiting) {
      return std::any_of(message.moves.begin(), message.moves.end(),
                         [&](const page_move& m) { return m.move == waiting; });
    });
    if (waited && granted != nullptr)
      granted->after.add(message.submitted);
    if (parked.waits_for.empty())
      send_reply(out, parked.to, std::move(parked.what));
    else
      parked_.push_back(std::move(parked));
  }
  finish(out);
}

void page_registry::handle(const copies_done& message, outbox& out) {
  begin(nullptr);
  for (const move_result& result : message.results) {
    auto found = moves_.find(result.move);
    if (found == moves_.end())
      continue; // rule 6: late or double
    block& b = *found->second;
    moves_.erase(found);
    const block_copy copy = *std::exchange(b.copy, nullptr);
    touched_.push_back(&b);
    if (result.outcome == move_outcome::failed) {
      ++b.failures;
      ++counters_.copies_failed;
    }
    const bool ok = result.outcome == move_outcome::completed || planted(fault::failed_copy_counts);
    switch (copy.kind) {
    case move_kind::offload:
    case move_kind::spill: offload_done(b, copy, ok); break;
    case move_kind::demote: demote_done(b, copy, ok); break;
    case move_kind::load:
    case move_kind::branch: load_done(b, copy, ok); break;
    }
  }
  finish(out);
}

namespace {

std::uint64_t page_bytes(const group_config& group) {
  std::uint64_t bytes = 0;
  for (const buffer_config& buffer : group.buffers)
    bytes += buffer.bytes_per_slot;
  return bytes;
}

} // namespace

void page_registry::offload_done(block& b, const block_copy& copy, bool ok) {
  const bool discard = std::exchange(b.discard_copy, false) && !planted(fault::void_spill_used);
  if (!ok || discard) {
    ledger_.give_back(key_of(b.group, host_slot{copy.target}));
  } else {
    b.host = host_slot{copy.target};
    host_pages_[b.group.value()][copy.target] = &b;
    b.bound_reached = false;
    b.deferred_at = 0;
    ++counters_.pages_offloaded;
    counters_.pages_spilled += copy.kind == move_kind::spill ? 1u : 0u;
    counters_.bytes_to_host += page_bytes(config_.groups[b.group.value()]);
    for (const owner& o : b.owners) // 4.3: owners are looked at again
      if (!needs_gpu(b, o))
        rebind(b, o, tier::host);
  }
  settle(b);
}

void page_registry::demote_done(block& b, const block_copy& copy, bool ok) {
  prefix_node& place = *std::exchange(b.returns_to, nullptr);
  if (!ok || place.blocks[b.group.value()] != nullptr) { // failed, or somebody committed the same key meanwhile
    ledger_.give_back(key_of(b.group, host_slot{copy.target}));
    forget(b);
  } else {
    b.host = host_slot{copy.target};
    host_pages_[b.group.value()][copy.target] = &b;
    enter_index(b, place);
    b.failures = 0;
    b.written = {};
    ++counters_.pages_demoted;
    counters_.bytes_to_host += page_bytes(config_.groups[b.group.value()]);
    make_idle(b);
  }
  index_.drop_reference(place);
}

void page_registry::load_done(block& b, const block_copy& copy, bool ok) {
  if (!ok && b.failures <= config_.copy_retries && b.gpu_bound > 0) {
    start_copy(b, copy.kind, copy.target, copy.source);
    return;
  }
  if (copy.source != nullptr)
    unpin(*copy.source);
  std::vector<owner> waiting;
  for (const owner& o : b.owners)
    if (entry_of(b, o).bound == tier::gpu) {
      --o.request->loads;
      waiting.push_back(o);
    }
  b.loading = false;
  if (!ok) {
    b.copy = std::make_unique<block_copy>(copy); // nothing is decided about the block before all who lost it have left
    for (const owner& o : waiting) {
      o.request->load_lost = true;
      cut_table(*o.request, o.ordinal);
    }
    b.copy.reset();
    give_up_gpu(b);
  }
  for (const owner& o : waiting) // told when their last load has ended
    if ((o.request->loads == 0 || planted(fault::ready_before_loads)) &&
        std::find(loads_ended_.begin(), loads_ended_.end(), o.request->id) == loads_ended_.end())
      loads_ended_.push_back(o.request->id);
  if (!ok) {
    settle(b);
    return;
  }
  ++(copy.kind == move_kind::branch ? counters_.pages_branched : counters_.pages_loaded);
  counters_.bytes_to_gpu += copy.within_gpu ? 0 : page_bytes(config_.groups[b.group.value()]);
  b.failures = 0;
  const bool written_again = std::any_of(b.owners.begin(), b.owners.end(), [&](const owner& o) {
    return needs_gpu(b, o) && o.ordinal >= o.request->complete;
  });
  if (written_again && b.has_host())
    give_up_host(b); // rule 7: a host page would not stay equal
  settle(b);
}

} // namespace kvferry
