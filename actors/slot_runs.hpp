// Free slots of one pool as runs of neighbours, handed out run by run: pages that are copied together get slots that
// lie together, and one transfer reaches them. Part of the slot ledger. Every operation takes constant time.
//
// Runs are kept by the magnitude of their length. A new one is begun where they are longest, so that what is left free
// between others is not cut up further than it has to be.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "kvferry/contract.hpp"

namespace kvferry {

class slot_runs {
public:
  /// Slots 0 … total - 1, none of them free.
  explicit slot_runs(std::uint32_t total) : total_(total), free_(total), other_ends_(total), links_(total) {
    longest_.fill(none);
  }

  std::uint32_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  /// REQUIRES: the slot exists and is not free.
  void add(std::uint32_t slot) {
    KVFERRY_REQUIRE(slot < total_ && !is_free(slot), "slot {} of {} becomes free twice", slot, total_);
    std::uint32_t start = slot, end = slot + 1;
    if (slot > 0 && is_free(slot - 1)) {
      start = other_ends_[slot - 1];
      unlink(start);
    }
    if (end < total_ && is_free(end)) {
      const std::uint32_t joined = end;
      end = end_of(joined);
      unlink(joined);
    }
    free_[slot] = true;
    ++size_;
    link(start, end);
  }

  /// The neighbour of the slot handed out last if it is free, else the first of a long run. REQUIRES: not empty.
  std::uint32_t take() {
    KVFERRY_REQUIRE(size_ > 0, "no slot of {} is free", total_);
    std::uint32_t start = next_;
    if (start >= total_ || !is_free(start) || (start > 0 && is_free(start - 1))) // not the beginning of a run
      start = longest();
    const std::uint32_t end = end_of(start);
    unlink(start);
    free_[start] = false;
    --size_;
    if (start + 1 < end)
      link(start + 1, end);
    next_ = start + 1;
    return start;
  }

  bool is_free(std::uint32_t slot) const { return free_[slot]; }

private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  struct place {
    std::uint32_t previous = none; // of a run's first slot: runs of the same magnitude
    std::uint32_t next = none;
  };

  /// Behind a run's last slot. REQUIRES: its first.
  std::uint32_t end_of(std::uint32_t start) const { return other_ends_[start] + 1; }

  static unsigned magnitude(std::uint32_t start, std::uint32_t end) {
    return static_cast<unsigned>(std::bit_width(end - start)) - 1u;
  }

  std::uint32_t longest() const {
    for (std::size_t m = longest_.size(); m-- > 0;)
      if (longest_[m] != none)
        return longest_[m];
    return none;
  }

  void link(std::uint32_t start, std::uint32_t end) {
    other_ends_[start] = end - 1;
    other_ends_[end - 1] = start;
    std::uint32_t& first = longest_[magnitude(start, end)];
    links_[start].previous = none;
    links_[start].next = first;
    if (first != none)
      links_[first].previous = start;
    first = start;
  }

  void unlink(std::uint32_t start) {
    const place& run = links_[start];
    if (run.next != none)
      links_[run.next].previous = run.previous;
    (run.previous != none ? links_[run.previous].next : longest_[magnitude(start, end_of(start))]) = run.next;
  }

  std::uint32_t total_;
  std::uint32_t size_ = 0;
  std::uint32_t next_ = none;             // behind the slot handed out last
  std::vector<bool> free_;                // by slot
  std::vector<std::uint32_t> other_ends_; // of a run's first slot: its last; of its last: its first
  std::vector<place> links_;              // by slot
  std::array<std::uint32_t, 32> longest_; // a run's first slot, by magnitude of its length
};

} // namespace kvferry
