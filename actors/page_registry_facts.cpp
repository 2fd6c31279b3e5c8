// What the registry can say about blocks and claims without changing anything.
#include <algorithm>

#include "actors/page_registry.hpp"
#include "actors/planted_fault.hpp"
#include "kvferry/contract.hpp"

namespace kvferry {

bool page_registry::needs_gpu(const claim& c, group_id group, block_ordinal ordinal) const {
  return c.active && (c.stage == phase::prefill || ordinal >= c.complete || !is_sparse(group));
}

claim_entry& page_registry::entry_of(const block& b, const owner& o) const {
  return o.request->tables[b.group.value()][o.ordinal];
}

bool page_registry::has_movers(const block& b) const {
  if (!is_sparse(b.group) || b.gpu_bound == 0)
    return false;
  return std::any_of(b.owners.begin(), b.owners.end(), [&](const owner& o) {
    return o.request->active && !needs_gpu(b, o) && entry_of(b, o).bound == tier::gpu;
  });
}

bool page_registry::may_copy(const block& b) const {
  return !b.copy && !b.has_host() && b.failures <= config_.copy_retries && (b.bound_reached || b.blockers == 0) &&
         has_movers(b);
}

bool page_registry::is_held(const block& b) const {
  return !b.owners.empty() && b.has_gpu() && !b.has_host() && !b.copy &&
         std::none_of(b.owners.begin(), b.owners.end(),
                      [](const owner& o) { return o.request->active || o.request->ghost; });
}

/// Lowest ordinal that attention at position `history_tokens` looks at: the block's last token lies at or behind
/// history + 1 - window.
std::uint32_t page_registry::first_in_window(group_id group, std::uint32_t history_tokens) const {
  std::uint32_t window = config_.groups[group.value()].window_tokens;
  if (window == 0 || history_tokens + 1 <= window)
    return 0;
  return (history_tokens + 1 - window) / config_.tokens_per_block;
}

claim* page_registry::live_claim(request_id request) {
  auto found = claims_.find(request);
  return found == claims_.end() || found->second->ghost ? nullptr : found->second.get(); // rule 10
}

const claim* page_registry::find_claim(request_id request) const {
  auto found = claims_.find(request);
  return found == claims_.end() ? nullptr : found->second.get();
}

/// Whose publisher acknowledges the request's numbers, also after it was released.
batch_id page_registry::batch_of(request_id request) const {
  if (const claim* c = find_claim(request))
    return c->batch;
  auto departed = departed_.find(request);
  return departed == departed_.end() ? batch_id::none() : departed->second;
}

std::uint32_t page_registry::host_room(group_id group) const {
  return ledger_.free_count(group, tier::host) + idle_[group.value()].host.size();
}

std::uint32_t page_registry::host_available(group_id group) const {
  return waiting_[group.value()].empty() ? host_room(group) : 0;
}

} // namespace kvferry
