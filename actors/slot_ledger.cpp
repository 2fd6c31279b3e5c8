#include "actors/slot_ledger.hpp"

#include <algorithm>
#include <utility>

#include "kvferry/contract.hpp"

namespace kvferry {

slot_ledger::slot_ledger(const std::vector<group_config>& groups) {
  pools_.resize(groups.size() * 2);
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (tier on : {tier::gpu, tier::host}) {
      pool& p = at(group_id{static_cast<std::uint8_t>(g)}, on);
      p.total = on == tier::gpu ? groups[g].gpu_slots : groups[g].host_slots;
      p.free.assign(p.total, true);
      p.more.resize(p.total);
      p.clean = slot_runs{p.total};
      for (std::uint32_t slot = 0; slot < p.total; ++slot)
        p.clean.add(slot);
    }
}

slot_ledger::slot_more& slot_ledger::make_more(pool& p, std::uint32_t slot) {
  std::uint32_t& place = p.more[slot];
  if (place == 0 && p.unused_mores.empty()) {
    place = static_cast<std::uint32_t>(p.mores.size());
    p.mores.emplace_back();
  } else if (place == 0) {
    place = p.unused_mores.back();
    p.unused_mores.pop_back();
  }
  return p.mores[place];
}

void slot_ledger::drop_empty_more(pool& p, std::uint32_t slot) {
  std::uint32_t& place = p.more[slot];
  if (place != 0 && p.mores[place].empty())
    p.unused_mores.push_back(std::exchange(place, 0));
}

bool slot_ledger::any_fenced() const {
  return std::any_of(pools_.begin(), pools_.end(), [](const pool& p) { return !p.fenced.empty(); });
}

std::uint32_t slot_ledger::take(group_id group, tier on) {
  pool& p = at(group, on);
  KVFERRY_REQUIRE(p.free_count() > 0, "no free slot in group {} tier {}", group.value(), int(on));
  std::uint32_t slot = 0;
  if (p.clean.empty()) {
    slot = p.fenced.front();
    p.fenced.pop_front();
  } else {
    slot = p.clean.take();
  }
  p.free[slot] = false;
  return slot;
}

void slot_ledger::take_retiring(slot_key slot) {
  pool& p = at(slot.group, slot.on);
  KVFERRY_REQUIRE(p.free[slot.slot] && is_named(slot), "slot {} of group {} tier {} does not retire", slot.slot,
                  slot.group.value(), int(slot.on));
  p.free[slot.slot] = false;
  p.retiring.erase(slot.slot);
}

void slot_ledger::give_back(slot_key slot) {
  pool& p = at(slot.group, slot.on);
  KVFERRY_REQUIRE(slot.slot < p.total && !p.free[slot.slot], "slot {} of group {} tier {} is freed twice", slot.slot,
                  slot.group.value(), int(slot.on));
  p.free[slot.slot] = true;
  if (is_named(slot))
    p.retiring.insert(slot.slot);
  else
    enter_free_list(slot);
}

void slot_ledger::enter_free_list(slot_key slot) {
  pool& p = at(slot.group, slot.on);
  if (p.more[slot.slot] != 0) {
    fence_set& fences = p.mores[p.more[slot.slot]].fences;
    fences.remove_covered(passed_);
    awaited_.add(fences);
    if (!fences.empty())
      return p.fenced.push_back(slot.slot);
    drop_empty_more(p, slot.slot);
  }
  p.clean.add(slot.slot);
}

void slot_ledger::unname(slot_key slot, request_id request, row_seq seq) {
  std::vector<row_number>& names = make_more(at(slot.group, slot.on), slot.slot).names;
  auto same = std::find_if(names.begin(), names.end(), [&](const row_number& n) { return n.request == request; });
  if (same == names.end())
    names.push_back({request, seq});
  else
    same->seq = std::max(same->seq, seq);
  by_request_[request].push_back({seq, slot});
}

/// True when that was the slot's last name.
bool slot_ledger::drop_name(slot_key slot, row_number up_to, const fence_set& readers) {
  pool& p = at(slot.group, slot.on);
  slot_more& more = p.mores[p.more[slot.slot]];
  std::vector<row_number>& names = more.names;
  auto name = std::find_if(names.begin(), names.end(), [&](const row_number& n) { return n.request == up_to.request; });
  if (name == names.end() || name->seq > up_to.seq)
    return false; // named again by a later number, which is waited for
  names.erase(name);
  more.fences.add(readers);
  if (!names.empty())
    return false;
  if (p.free[slot.slot]) {
    p.retiring.erase(slot.slot);
    enter_free_list(slot);
  } else {
    drop_empty_more(p, slot.slot);
  }
  return true;
}

void slot_ledger::add_fences(slot_key slot, const fence_set& fences) {
  pool& p = at(slot.group, slot.on);
  KVFERRY_REQUIRE(!p.free[slot.slot], "slot {} of group {} tier {} is free and gets a fence", slot.slot,
                  slot.group.value(), int(slot.on));
  if (!fences.empty())
    make_more(p, slot.slot).fences.add(fences);
}

void slot_ledger::note_passed(const fence_set& passed) {
  passed_.add(passed);
  awaited_.remove_covered(passed_);
  for (pool& p : pools_)
    std::erase_if(p.fenced, [&](std::uint32_t slot) {
      fence_set& fences = p.mores[p.more[slot]].fences;
      fences.remove_covered(passed_);
      if (!fences.empty())
        return false;
      drop_empty_more(p, slot);
      p.clean.add(slot);
      return true;
    });
}

} // namespace kvferry
