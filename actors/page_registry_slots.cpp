// Where slots come from (design sections 4.5, 4.7): planning without writing, then taking what was planned.
#include <algorithm>

#include <fmt/format.h>

#include "actors/page_registry.hpp"
#include "actors/planted_fault.hpp"
#include "kvferry/contract.hpp"

namespace kvferry {

namespace {

std::string_view reason_text(error_code code) {
  switch (code) {
  case error_code::publish_first: return "slots come free with the next publication";
  case error_code::copies_in_flight: return "slots come free when page copies under way have completed";
  case error_code::prompt_exceeds_gpu_pool: return "the pool is smaller than what is needed";
  default: return "no slots are free or can be taken from idle blocks";
  }
}

} // namespace

/// Nothing when every group has `needed` slots for this use; else why not, for the first group that is short.
std::optional<refusal> page_registry::plan_gpu(const std::vector<std::uint32_t>& needed, slot_use use, batch_id batch,
                                               const std::vector<kept_pages>& kept) const {
  for (std::size_t g = 0; g < groups(); ++g) {
    if (needed[g] == 0)
      continue;
    group_id group = group_at(g);
    std::uint32_t available =
        ledger_.free_count(group, tier::gpu) + idle_[g].gpu_available() - (kept.empty() ? 0 : kept[g].gpu);
    const std::uint32_t at_once = available; // without what other rows still name
    if (available < needed[g] && use != slot_use::copy)
      available += static_cast<std::uint32_t>(
          ledger_
              .retiring_for(group, batch, needed[g] - available, [&](request_id request) { return batch_of(request); })
              .size());
    if (available < needed[g])
      return gpu_shortage(group, needed[g], at_once, kept.empty() ? 0 : kept[g].gpu_named);
  }
  return std::nullopt;
}

/// The numbers of design section 4.7.
shortage page_registry::count_shortage(group_id group, tier on, std::uint32_t needed, std::uint32_t available) const {
  const idle_pages& idle = idle_[group.value()];
  shortage numbers{group, on, needed, available, 0, ledger_.fenced_count(group, on), 0, 0, {}};
  numbers.unpublished = ledger_.retiring_count(group, on) + (on == tier::gpu ? idle.gpu_named : idle.host_named).size();
  for (const auto& [move, b] : moves_)
    numbers.in_copy += b->group == group ? 1u : 0u;
  if (on == tier::gpu && !suspended_.empty())
    for (const block* b : gpu_pages_[group.value()])
      numbers.held += b != nullptr && is_held(*b) ? 1u : 0u;
  return numbers;
}

/// Whose publications free what is unpublished. A request in no batch acknowledges its numbers itself.
void page_registry::name_batches(shortage& numbers) const {
  const idle_pages& idle = idle_[numbers.group.value()];
  auto add = [&](slot_key slot) {
    for (const row_number& name : ledger_.names_of(slot))
      if (batch_id batch = batch_of(name.request); !batch.is_none())
        numbers.batches.push_back(batch);
  };
  ledger_.for_each_retiring(numbers.group, numbers.on, add);
  const idle_list& named = numbers.on == tier::gpu ? idle.gpu_named : idle.host_named;
  for (const block* b = named.front(); b != nullptr; b = named.after(*b))
    add({numbers.group, numbers.on, slot_of(*b, numbers.on)});
  std::ranges::sort(numbers.batches);
  const auto twice = std::ranges::unique(numbers.batches);
  numbers.batches.erase(twice.begin(), twice.end());
}

/// `kept_named`: pages that publishing would make available and the call itself wants.
refusal page_registry::gpu_shortage(group_id group, std::uint32_t needed, std::uint32_t available,
                                    std::uint32_t kept_named) const {
  shortage numbers = count_shortage(group, tier::gpu, needed, available);
  const std::uint32_t published = available + numbers.unpublished - kept_named;
  const auto coming = static_cast<std::uint32_t>(std::ranges::count_if(moves_, [&](const auto& move) {
    const block& b = *move.second; // its GPU page falls free when the copy is done
    return b.group == group && b.has_gpu() &&
           (b.copy->kind == move_kind::spill || (b.copy->kind == move_kind::offload && b.blockers == 0));
  }));
  error_code code = error_code::gpu_full;
  if (needed > ledger_.total(group, tier::gpu))
    code = error_code::prompt_exceeds_gpu_pool;
  else if (published >= needed)
    code = error_code::publish_first;
  else if (published + coming >= needed)
    code = error_code::copies_in_flight;
  return refusal_of(code, std::move(numbers));
}

refusal page_registry::host_shortage(group_id group, std::uint32_t needed, std::uint32_t available) const {
  shortage numbers = count_shortage(group, tier::host, needed, available);
  const bool publishing_helps = available + numbers.unpublished >= needed;
  const error_code code = publishing_helps ? error_code::publish_first : error_code::host_full;
  return refusal_of(code, std::move(numbers));
}

refusal page_registry::refusal_of(error_code code, shortage numbers) const {
  if (code == error_code::publish_first)
    name_batches(numbers);
  return {code,
          fmt::format("group \"{}\" is short of {} slots: {} needed, {} available; {}",
                      config_.groups[numbers.group.value()].name, numbers.on == tier::gpu ? "GPU" : "host",
                      numbers.needed, numbers.free, reason_text(code)),
          std::move(numbers)};
}

/// One slot in the order of 4.5. REQUIRES: planned.
gpu_slot page_registry::take_gpu(group_id group, slot_use use, batch_id batch, grant& granted) {
  idle_pages& idle = idle_[group.value()];
  if (planted(fault::slot_before_unnamed)) {
    auto named = ledger_.retiring_for(group, batch_id{0}, 1, [](request_id) { return batch_id{0}; });
    if (!named.empty()) {
      ledger_.take_retiring(named.front());
      return gpu_slot{named.front().slot};
    }
  }
  if (ledger_.free_count(group, tier::gpu) > 0) {
    gpu_slot slot{ledger_.take(group, tier::gpu)};
    granted.after.add(ledger_.fences(key_of(group, slot)));
    return slot;
  }
  if (use != slot_use::copy) {
    auto retiring = ledger_.retiring_for(group, batch, 1, [&](request_id request) { return batch_of(request); });
    if (!retiring.empty()) {
      for (const row_number& name : ledger_.names_of(retiring.front()))
        granted.unnames.push_back(name);
      ledger_.take_retiring(retiring.front());
      granted.after.add(ledger_.fences(retiring.front()));
      return gpu_slot{retiring.front().slot};
    }
  }
  bool clean = !idle.gpu_clean.empty();
  KVFERRY_REQUIRE(clean || !idle.gpu_only.empty(), "group {}: a GPU slot was planned and is not there", group.value());
  block& victim = *(clean ? idle.gpu_clean.front() : idle.gpu_only.front());
  gpu_slot slot = victim.gpu;
  ledger_.add_fences(key_of(group, slot), victim.written);
  granted.after.add(ledger_.fences(key_of(group, slot)));
  ++counters_.pages_evicted;
  touched_.push_back(&victim);
  leave_idle(victim);
  gpu_pages_[group.value()][slot.value()] = nullptr;
  if (clean) {
    victim.gpu = gpu_slot::none();
    make_idle(victim);
  } else if (use != slot_use::decode && host_available(group) > promised_host_[group.value()]) {
    // Rule 9: it leaves the index at once and returns when its copy is done. The slot is granted behind the copy.
    victim.returns_to = victim.node;
    index_.add_reference(*victim.node);
    leave_index(victim);
    host_slot target = take_host(group);
    start_copy(victim, move_kind::demote, target.value());
    victim.gpu = gpu_slot::none();
    behind_demotion_[key_of(group, slot).packed()] = false;
    reply_waits_for_.push_back(victim.copy->move);
  } else {
    victim.gpu = gpu_slot::none();
    forget(victim);
  }
  return slot;
}

/// A free host slot, or that of the idle block that was used longest ago. REQUIRES: one is available.
host_slot page_registry::take_host(group_id group) {
  if (ledger_.free_count(group, tier::host) > 0)
    return host_slot{ledger_.take(group, tier::host)};
  idle_pages& idle = idle_[group.value()];
  KVFERRY_REQUIRE(!idle.host.empty(), "group {}: a host slot was planned and is not there", group.value());
  block& victim = *idle.host.front();
  host_slot slot = victim.host;
  ++counters_.pages_evicted;
  touched_.push_back(&victim);
  leave_idle(victim);
  victim.host = host_slot::none();
  host_pages_[group.value()][slot.value()] = nullptr;
  if (victim.has_gpu())
    make_idle(victim);
  else
    forget(victim);
  return slot;
}

/// A call is refused for lack of GPU slots. Held pages of others go to the host for its next try: their bytes are
/// wanted, so the slots come when the copies are done. Spills under way count.
void page_registry::refuse_gpu(const claim& caller, call_id call, refusal why) {
  if (why.code == error_code::publish_first) {
    refuse(call, std::move(why)); // that alone helps
    return;
  }
  const group_id group = why.numbers->group;
  std::uint32_t missing = why.numbers->needed - std::min(why.numbers->needed, why.numbers->free);
  for (const auto& [move, b] : moves_)
    if (b->group == group && b->copy->kind == move_kind::spill && missing > 0) {
      --missing;
      why.code = error_code::copies_in_flight;
    }
  if (why.code != error_code::prompt_exceeds_gpu_pool && spill_held(caller, group, missing))
    why.code = error_code::copies_in_flight;
  refuse(call, std::move(why));
}

/// True when a spill was begun.
bool page_registry::spill_held(const claim& caller, group_id group, std::uint32_t count) {
  bool begun = false;
  for (request_id request : suspended_) {
    const claim* c = find_claim(request);
    if (c == &caller)
      continue;
    for (block_ordinal o = c->blocks; o-- > 0 && count > 0;) {
      block* b = c->tables[group.value()][o].held;
      if (b == nullptr || !is_held(*b))
        continue;
      if (host_available(group) == 0)
        return begun;
      start_copy(*b, move_kind::spill, take_host(group).value());
      begun = true;
      --count;
    }
  }
  return begun;
}

void page_registry::give_up_gpu(block& b) {
  slot_key slot = key_of(b.group, b.gpu);
  ledger_.add_fences(slot, b.written);
  gpu_pages_[b.group.value()][b.gpu.value()] = nullptr;
  b.gpu = gpu_slot::none();
  if (auto unsubmitted = behind_demotion_.find(slot.packed()); unsubmitted != behind_demotion_.end())
    unsubmitted->second = true; // whoever gets it next must be able to name the copy's fence
  else
    ledger_.give_back(slot);
}

void page_registry::give_up_host(block& b) {
  slot_key slot = key_of(b.group, b.host);
  host_pages_[b.group.value()][b.host.value()] = nullptr;
  b.host = host_slot::none();
  ledger_.give_back(slot);
}

} // namespace kvferry
