// Who may have which slot: the free slots of every pool, the fences behind which they may be overwritten, and the slots
// that a published row may still name. Part of the page registry's state; the only place that hands out slots.
//
// A slot is taken or free. Free, it *retires* as long as a row of some version may name it: until every change number
// that unnames it has been acknowledged by a publication (design section 3, rule 4).
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <set>
#include <unordered_map>
#include <vector>

#include "actors/slot_runs.hpp"
#include "kvferry/configuration.hpp"
#include "kvferry/fence.hpp"
#include "messages/parts.hpp"

namespace kvferry {

/// One slot of one pool, as a value that can be a key.
struct slot_key {
  group_id group;
  tier on = tier::none;
  std::uint32_t slot = 0;

  friend auto operator<=>(const slot_key&, const slot_key&) = default;
  std::uint64_t packed() const { return std::uint64_t{group.value()} << 40 | std::uint64_t(on) << 32 | slot; }
};

inline slot_key key_of(group_id group, gpu_slot slot) { return {group, tier::gpu, slot.value()}; }
inline slot_key key_of(group_id group, host_slot slot) { return {group, tier::host, slot.value()}; }

class slot_ledger {
public:
  /// Stands for "until no published version shows the request": no number reaches it.
  static constexpr row_seq until_gone = ~row_seq{0};

  explicit slot_ledger(const std::vector<group_config>& groups);

  // -- counts, per pool
  // ------------------------------------------------------------------------------------------------

  std::uint32_t total(group_id group, tier on) const { return at(group, on).total; }

  /// Free and not retiring.
  std::uint32_t free_count(group_id group, tier on) const { return at(group, on).free_count(); }

  /// Of these, how many are behind fences that are not known to have passed.
  std::uint32_t fenced_count(group_id group, tier on) const {
    return static_cast<std::uint32_t>(at(group, on).fenced.size());
  }

  /// Free slots that rows may still name.
  std::uint32_t retiring_count(group_id group, tier on) const {
    return static_cast<std::uint32_t>(at(group, on).retiring.size());
  }

  std::uint32_t taken_count(group_id group, tier on) const {
    return total(group, on) - free_count(group, on) - retiring_count(group, on);
  }

  bool any_fenced() const;

  // -- handing out
  // -----------------------------------------------------------------------------------------------------

  /// A free slot, those without fences first. REQUIRES: free_count > 0.
  std::uint32_t take(group_id group, tier on);

  /// Retiring slots that a writer of `batch` can have: everything that unnames them will be shown by that batch's
  /// publisher. `batch_of` tells a request's batch (none: it has none).
  template <class BatchOf>
  std::vector<slot_key> retiring_for(group_id group, batch_id batch, std::uint32_t at_most, BatchOf batch_of) const;

  /// Calls `function(slot)` for each free slot that a row may still name.
  template <class Function>
  void for_each_retiring(group_id group, tier on, Function function) const {
    for (std::uint32_t slot : at(group, on).retiring)
      function(slot_key{group, on, slot});
  }

  /// Takes one of those. REQUIRES: it retires.
  void take_retiring(slot_key slot);

  /// The slot is nobody's any more; it retires if rows may still name it.
  void give_back(slot_key slot);

  // -- names in published rows
  // -----------------------------------------------------------------------------------------

  /// From number `seq` on the request's row does not name the slot any more.
  void unname(slot_key slot, request_id request, row_seq seq);

  bool is_named(slot_key slot) const { return !names_of(slot).empty(); }

  /// What has to be shown before the slot is unnamed.
  const std::vector<row_number>& names_of(slot_key slot) const { return more_of(slot).names; }

  /// Numbers up to `seq` of the request are shown; `readers` are behind everything that read earlier versions. Calls
  /// `unnamed(slot)` for each slot that no row names any more, free or not.
  template <class Function>
  void acknowledge(request_id request, row_seq seq, const fence_set& readers, Function unnamed);

  bool has_names(request_id request) const { return by_request_.contains(request); }

  // -- fences
  // ----------------------------------------------------------------------------------------------------------

  /// The slot's next write comes after `fences`.
  void add_fences(slot_key slot, const fence_set& fences);

  const fence_set& fences(slot_key slot) const { return more_of(slot).fences; }

  /// Fences behind which free slots are, to be watched.
  const fence_set& awaited() const { return awaited_; }

  /// Forgets fences that have passed; slots without any are handed out first.
  void note_passed(const fence_set& passed);

  bool is_free(slot_key slot) const { return at(slot.group, slot.on).free[slot.slot]; }

private:
  /// What few slots have at a time.
  struct slot_more {
    fence_set fences;
    std::vector<row_number> names; // rows that may still name it; keeps its memory

    bool empty() const { return fences.empty() && names.empty(); }
  };

  struct pool {
    std::uint32_t total = 0;
    std::vector<bool> free;          // by slot
    std::vector<std::uint32_t> more; // by slot, place in `mores`; 0: has none
    std::deque<slot_more> mores{1};  // the first stays empty
    std::vector<std::uint32_t> unused_mores;
    std::set<std::uint32_t> retiring; // free, but rows may still name them
    slot_runs clean{0};               // free, nothing to wait for
    std::deque<std::uint32_t> fenced; // free behind fences; oldest first

    std::uint32_t free_count() const { return static_cast<std::uint32_t>(clean.size() + fenced.size()); }
  };

  struct unnaming {
    row_seq seq;
    slot_key slot;
  };

  const pool& at(group_id group, tier on) const { return pools_[group.value() * 2u + static_cast<unsigned>(on)]; }
  pool& at(group_id group, tier on) { return pools_[group.value() * 2u + static_cast<unsigned>(on)]; }
  const slot_more& more_of(slot_key slot) const {
    const pool& p = at(slot.group, slot.on);
    return p.mores[p.more[slot.slot]];
  }
  static slot_more& make_more(pool& p, std::uint32_t slot);
  static void drop_empty_more(pool& p, std::uint32_t slot);
  void enter_free_list(slot_key slot);
  bool drop_name(slot_key slot, row_number up_to, const fence_set& readers);

  std::vector<pool> pools_;                                          // [group][tier]
  std::unordered_map<request_id, std::vector<unnaming>> by_request_; // numbers ascending
  fence_set passed_;
  fence_set awaited_;
};

template <class BatchOf>
std::vector<slot_key> slot_ledger::retiring_for(group_id group, batch_id batch, std::uint32_t at_most,
                                                BatchOf batch_of) const {
  std::vector<slot_key> found;
  const pool& from = at(group, tier::gpu);
  if (batch.is_none())
    return found;
  for (std::uint32_t slot : from.retiring) {
    if (found.size() == at_most)
      break;
    slot_key key{group, tier::gpu, slot};
    const std::vector<row_number>& names = names_of(key);
    if (std::all_of(names.begin(), names.end(), [&](const row_number& n) { return batch_of(n.request) == batch; }))
      found.push_back(key);
  }
  return found;
}

template <class Function>
void slot_ledger::acknowledge(request_id request, row_seq seq, const fence_set& readers, Function unnamed) {
  auto entry = by_request_.find(request);
  if (entry == by_request_.end())
    return;
  std::vector<unnaming>& waiting = entry->second;
  auto end = waiting.begin();
  while (end != waiting.end() && end->seq <= seq)
    ++end;
  std::vector<unnaming> shown(waiting.begin(), end);
  waiting.erase(waiting.begin(), end);
  if (waiting.empty())
    by_request_.erase(entry);
  for (const unnaming& u : shown)
    if (drop_name(u.slot, {request, seq}, readers))
      unnamed(u.slot);
}

} // namespace kvferry
