// Invariants of design section 10 that the registry can check alone. Each names what it saw.
#include <algorithm>
#include <map>

#include "actors/page_registry.hpp"
#include "kvferry/contract.hpp"

namespace kvferry {

namespace {

/// 3 and 4 for one block: owners are bound to pages that exist, and to the GPU where they need it.
template <class NeedsGpu, class EntryOf>
void check_block(const block& b, bool sparse, NeedsGpu needs_gpu, EntryOf entry_of) {
  std::uint32_t gpu_bound = 0, blockers = 0;
  for (const owner& o : b.owners) {
    const claim_entry& entry = entry_of(o);
    KVFERRY_REQUIRE(entry.held == &b, "3: request {} ordinal {} owns block {} and its table says otherwise",
                    o.request->id.value(), o.ordinal, b.id.value());
    KVFERRY_REQUIRE(entry.bound == tier::gpu ? b.has_gpu() : entry.bound == tier::host && b.has_host(),
                    "3: request {} ordinal {} is bound to tier {} where block {} has no page", o.request->id.value(),
                    o.ordinal, int(entry.bound), b.id.value());
    KVFERRY_REQUIRE(!needs_gpu(o) || entry.bound == tier::gpu,
                    "3: request {} needs ordinal {} (block {}) on the GPU and is bound to its host page",
                    o.request->id.value(), o.ordinal, b.id.value());
    KVFERRY_REQUIRE(!b.has_host() || b.loading || !o.request->active || o.ordinal < o.request->complete,
                    "4: writable block {} (request {} ordinal {}) has a host page", b.id.value(), o.request->id.value(),
                    o.ordinal);
    KVFERRY_REQUIRE(sparse || !o.request->active || entry.bound == tier::gpu,
                    "4: dense block {} of active request {} is bound to the host", b.id.value(), o.request->id.value());
    gpu_bound += entry.bound == tier::gpu ? 1u : 0u;
    blockers += needs_gpu(o) ? 1u : 0u;
  }
  KVFERRY_REQUIRE(gpu_bound == b.gpu_bound && blockers == b.blockers,
                  "3: block {} counts {} GPU owners and {} blockers, there are {} and {}", b.id.value(), b.gpu_bound,
                  b.blockers, gpu_bound, blockers);
  KVFERRY_REQUIRE(!b.owners.empty() || b.copy || (b.node != nullptr && b.is_idle()),
                  "14: block {} has no owner and is not idle", b.id.value());
  KVFERRY_REQUIRE(!b.is_idle() || b.owners.empty(), "block {} is idle and has {} owners", b.id.value(),
                  b.owners.size());
}

} // namespace

void page_registry::check_touched() const {
  for (const block* b : touched_)
    if (!b->id.is_none())
      check_block(
          *b, is_sparse(b->group), [&](const owner& o) { return needs_gpu(*b, o); },
          [&](const owner& o) -> const claim_entry& { return entry_of(*b, o); });
  for (std::size_t g = 0; g < groups(); ++g) // 6
    KVFERRY_REQUIRE(waiting_[g].empty() || ledger_.free_count(group_at(g), tier::host) + idle_[g].host.size() == 0,
                    "6: {} blocks of group {} wait for the host, where {} slots are free and {} can be taken",
                    waiting_[g].size(), g, ledger_.free_count(group_at(g), tier::host), idle_[g].host.size());
}

void page_registry::check_all() const {
  std::map<slot_key, block_id> used; // 1: each taken slot has one page, or is the target of one copy
  auto use = [&](slot_key slot, const block& b) {
    auto [at, fresh] = used.emplace(slot, b.id);
    KVFERRY_REQUIRE(fresh, "1: slot {} of group {} tier {} belongs to blocks {} and {}", slot.slot, slot.group.value(),
                    int(slot.on), at->second.value(), b.id.value());
    KVFERRY_REQUIRE(!ledger_.is_free(slot), "1: slot {} of group {} tier {} is free and a page of block {}", slot.slot,
                    slot.group.value(), int(slot.on), b.id.value());
  };
  for (const block& b : blocks_) {
    if (b.id.is_none())
      continue;
    check_block(
        b, is_sparse(b.group), [&](const owner& o) { return needs_gpu(b, o); },
        [&](const owner& o) -> const claim_entry& { return entry_of(b, o); });
    if (b.has_gpu())
      use(key_of(b.group, b.gpu), b);
    if (b.has_host())
      use(key_of(b.group, b.host), b);
    if (b.copy && b.copy->kind != move_kind::load)
      use(key_of(b.group, host_slot{b.copy->target}), b);
  }
  for (std::size_t g = 0; g < groups(); ++g)
    for (tier on : {tier::gpu, tier::host}) {
      auto pages = std::count_if(used.begin(), used.end(),
                                 [&](const auto& u) { return u.first.group == group_at(g) && u.first.on == on; });
      KVFERRY_REQUIRE(static_cast<std::uint32_t>(pages) == ledger_.taken_count(group_at(g), on),
                      "1: group {} tier {}: {} slots are taken, {} are pages or copy targets", g, int(on),
                      ledger_.taken_count(group_at(g), on), pages);
    }
  check_touched();
}

void page_registry::check_quiet() const {
  check_all();
  KVFERRY_REQUIRE(parked_.empty() && moves_.empty(), "14: {} replies are parked, {} copies are under way",
                  parked_.size(), moves_.size());
  for (const block& b : blocks_) {
    if (b.id.is_none())
      continue;
    KVFERRY_REQUIRE(!may_copy(b) || b.wait_ticket != 0, "9: block {} is due for the host, and forgotten", b.id.value());
    KVFERRY_REQUIRE(!b.has_host() || !has_movers(b), "9: owners of block {} are not rebound to its host page",
                    b.id.value());
  }
}

} // namespace kvferry
