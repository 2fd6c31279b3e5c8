// Invariants of design section 10 that the registry can check alone. Each names what it saw.
#include <algorithm>
#include <map>

#include <fmt/format.h>

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
  KVFERRY_REQUIRE(!b.owners.empty() || b.copy || b.pins > 0 || (b.node != nullptr && b.is_idle()),
                  "14: block {} has no owner and is not idle", b.id.value());
  KVFERRY_REQUIRE(b.owners.empty() || (b.on_gpu_list.in == nullptr && b.on_host_list.in == nullptr),
                  "block {} has {} owners and is listed as idle", b.id.value(), b.owners.size());
}

} // namespace

void page_registry::check_touched() const {
  for (const block* b : touched_)
    if (!b->id.is_none())
      check_block(
          *b, is_sparse(b->group), [&](const owner& o) { return needs_gpu(*b, o); },
          [&](const owner& o) -> const claim_entry& { return entry_of(*b, o); });
  for (std::size_t g = 0; g < groups(); ++g) // 6
    KVFERRY_REQUIRE(waiting_[g].empty() || host_room(group_at(g)) == 0,
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
    KVFERRY_REQUIRE(!routers_listen() || b.told == readable_on(b),
                    "block {} is there for routers on (GPU, host) ({}, {}), and they were told ({}, {})", b.id.value(),
                    readable_on(b).gpu, readable_on(b).host, b.told.gpu, b.told.host);
    if (b.has_gpu())
      use(key_of(b.group, b.gpu), b);
    if (b.has_host())
      use(key_of(b.group, b.host), b);
    if (b.copy && !goes_to_gpu(b.copy->kind))
      use(key_of(b.group, host_slot{b.copy->target}), b);
  }
  for (std::size_t g = 0; g < groups(); ++g)
    for (tier on : {tier::gpu, tier::host}) {
      auto pages = std::count_if(used.begin(), used.end(),
                                 [&](const auto& u) { return u.first.group == group_at(g) && u.first.on == on; });
      for (const auto& [slot, freed] : behind_demotion_) // a page no more, and not free before the copy is submitted
        pages += freed && on == tier::gpu && slot >> 40 == g ? 1 : 0;
      KVFERRY_REQUIRE(static_cast<std::uint32_t>(pages) == ledger_.taken_count(group_at(g), on),
                      "1: group {} tier {}: {} slots are taken, {} are pages or copy targets", g, int(on),
                      ledger_.taken_count(group_at(g), on), pages);
    }
  check_touched();
}

std::vector<std::string> page_registry::quiet_findings() const {
  std::vector<std::string> findings;
  auto find = [&](const block& b, std::string_view what) {
    const owner first = b.owners.empty() ? owner{} : b.owners.front();
    findings.push_back(fmt::format("{} (group {}, block {}, GPU slot {}, request {} ordinal {})", what, b.group.value(),
                                   b.id.value(), b.has_gpu() ? std::to_string(b.gpu.value()) : "none",
                                   first.request == nullptr ? 0 : first.request->id.value(), first.ordinal));
  };
  auto look_at = [&](const block& b) {
    if (may_copy(b) && b.wait_ticket == 0)
      find(b, "9: due for the host, and forgotten");
    if (b.has_host() && has_movers(b))
      find(b, "9: on the host, and owners that may use it are not rebound");
    if (config_.defer_steps_max && b.deferred_at != 0 && b.wait_ticket == 0 && !b.copy && has_movers(b) &&
        b.failures <= config_.copy_retries && publications_ > b.deferred_at + *config_.defer_steps_max)
      find(b, fmt::format("9: deferred {} publications ago", publications_ - b.deferred_at));
  };
  for (const auto& [request, c] : claims_) // whatever may have to move has an active decoding owner on the GPU
    for (std::size_t g = 0; c->active && c->stage == phase::decode && g < groups(); ++g)
      for (block_ordinal o = 0; is_sparse(group_at(g)) && o < c->complete; ++o)
        if (const claim_entry& entry = c->tables[g][o]; entry.bound == tier::gpu)
          look_at(*entry.held);
  if (!parked_.empty())
    findings.push_back(fmt::format("13: the reply to request {} is parked", parked_.front().to.value()));
  return findings;
}

void page_registry::handle(const query_quiet& message, outbox& out) {
  begin(nullptr);
#if KVFERRY_CHECK_INVARIANTS
  check_all();
#endif
  quiet_told told{message.call, quiet_findings(), {}};
  for (const auto& [request, c] : claims_) {
    if (c->batch.is_none() || c->ghost)
      continue;
    claim_pages pages{request, c->active && c->loads == 0, c->stage == phase::decode, c->complete, {}};
    for (std::size_t g = 0; g < groups(); ++g)
      for (block_ordinal o = c->first_held[g]; o < c->blocks; ++o)
        if (const claim_entry& entry = c->tables[g][o]; entry.held != nullptr)
          pages.pages.push_back({group_at(g), o, entry.bound, true, slot_of(*entry.held, entry.bound)});
    told.claims.push_back(std::move(pages));
  }
  std::sort(told.claims.begin(), told.claims.end(),
            [](const claim_pages& a, const claim_pages& b) { return a.request < b.request; });
  out.send(std::move(told));
}

} // namespace kvferry
