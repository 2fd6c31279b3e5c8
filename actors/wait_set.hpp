// Who waits: blocks for a host slot, first come first served, and deferred blocks for their bound. Part of the page
// registry's state.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <utility>

#include "actors/block.hpp"
#include "kvferry/contract.hpp"

namespace kvferry {

/// Blocks of one group that are due for the host and lack a slot there.
class wait_set {
public:
  bool empty() const { return waiting_.empty(); }
  std::size_t size() const { return waiting_.size(); }

  void add(block& b) {
    KVFERRY_REQUIRE(b.wait_ticket == 0, "block {} waits already", b.id.value());
    b.wait_ticket = ++last_ticket_;
    waiting_.emplace(b.wait_ticket, &b);
  }

  void remove(block& b) {
    if (b.wait_ticket != 0)
      waiting_.erase(std::exchange(b.wait_ticket, 0));
  }

  block& front() const { return *waiting_.begin()->second; }

  template <class Function>
  void for_each(Function function) const {
    for (const auto& [ticket, b] : waiting_)
      function(*b);
  }

private:
  std::map<std::uint64_t, block*> waiting_; // by ticket
  std::uint64_t last_ticket_ = 0;
};

/// Deferred blocks in the order in which they were first deferred. An entry whose block has been decided meanwhile is
/// stale and skipped.
class deferral_queue {
public:
  /// `b.deferred_at` says since when.
  void add(block& b) { queue_.push_back({&b, b.id, b.deferred_at}); }

  /// Calls `due(block)` for each that was deferred `bound` publications ago or more.
  template <class Function>
  void take_due(std::uint64_t publications, std::uint64_t bound, Function due) {
    while (!queue_.empty() && queue_.front().since + bound <= publications + 1) {
      entry e = queue_.front();
      queue_.pop_front();
      if (e.what->id == e.id && e.what->deferred_at == e.since)
        due(*e.what);
    }
  }

private:
  struct entry {
    block* what; // stays readable: records of blocks are reused, not freed
    block_id id;
    std::uint64_t since;
  };
  std::deque<entry> queue_;
};

} // namespace kvferry
