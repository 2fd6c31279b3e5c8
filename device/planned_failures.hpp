// Which of a series of things shall fail: those that a test planned by number, and those that chance picks by seed.
// Used by both devices for page copies and allocations.
#pragma once

#include <cstdint>
#include <random>
#include <set>

namespace kvferry {

class planned_failures {
public:
  explicit planned_failures(std::uint64_t seed = 0, double chance = 0.0) : random_(seed), chance_(chance) {}

  /// The n-th from now fails; 0: the next.
  void plan(std::uint64_t nth) { planned_.insert(count_ + nth); }

  /// None of those planned fails.
  void forget() { planned_.clear(); }

  /// Whether any of those to come may fail.
  bool possible() const { return chance_ > 0.0 || !planned_.empty(); }

  /// Counts some of which none fails. REQUIRES: none is `possible`.
  void pass(std::uint64_t count) { count_ += count; }

  /// Counts one more, and says whether it fails.
  bool next_fails() {
    bool planned = planned_.erase(count_++) != 0;
    return by_chance() || planned;
  }

private:
  // std::bernoulli_distribution may differ between libraries; a seed must not.
  bool by_chance() { return chance_ > 0.0 && static_cast<double>(random_() >> 11) * 0x1p-53 < chance_; }

  std::mt19937_64 random_;
  double chance_;
  std::uint64_t count_ = 0;
  std::set<std::uint64_t> planned_;
};

} // namespace kvferry
