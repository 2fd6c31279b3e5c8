// Fences: positions in device streams, and sets of them. Values only; the device gives them their meaning.
#pragma once

#include <algorithm>
#include <vector>

#include "kvferry/ids.hpp"

namespace kvferry {

/// A position in a stream: everything enqueued there before it. Sequences of one stream grow from 1.
struct fence {
  stream_id stream;
  std::uint64_t sequence = 0;

  friend bool operator==(const fence&, const fence&) = default;
};

/// Fences that must all have passed; of one stream only the latest is kept. Most sets hold no more than one, which
/// needs no memory of its own.
class fence_set {
public:
  fence_set() = default;

  fence_set(fence only) { add(only); } // a fence is a set of one

  bool empty() const { return first_.sequence == 0; }

  void add(fence added) {
    if (added.sequence == 0)
      return;
    if (first_.sequence == 0 || first_.stream == added.stream) {
      first_.stream = added.stream;
      first_.sequence = std::max(first_.sequence, added.sequence);
      return;
    }
    auto same = std::find_if(rest_.begin(), rest_.end(), [&](const fence& f) { return f.stream == added.stream; });
    if (same == rest_.end())
      rest_.push_back(added);
    else
      same->sequence = std::max(same->sequence, added.sequence);
  }

  void add(const fence_set& others) {
    others.for_each([this](fence f) { add(f); });
  }

  /// Drops every fence for which `passed` says so.
  template <class Predicate>
  void remove_if(Predicate passed) {
    std::erase_if(rest_, passed);
    if (first_.sequence != 0 && passed(first_)) {
      first_ = fence{};
      if (!rest_.empty()) {
        first_ = rest_.back();
        rest_.pop_back();
      }
    }
  }

  template <class Function>
  void for_each(Function function) const {
    if (first_.sequence != 0)
      function(first_);
    for (const fence& f : rest_)
      function(f);
  }

  /// The sequence to wait for on `stream`; 0 when none.
  std::uint64_t sequence_on(stream_id stream) const {
    std::uint64_t found = 0;
    for_each([&](fence f) { found = f.stream == stream ? f.sequence : found; });
    return found;
  }

  /// True when `other` is reached once those here have passed.
  bool covers(fence other) const { return other.sequence <= sequence_on(other.stream); }

  /// True when every fence here is reached once those of `other` have passed.
  bool covered_by(const fence_set& other) const {
    bool covered = true;
    for_each([&](fence f) { covered = covered && other.covers(f); });
    return covered;
  }

  /// Drops every fence that is reached once those of `passed` have.
  void remove_covered(const fence_set& passed) {
    remove_if([&](fence f) { return passed.covers(f); });
  }

private:
  fence first_;
  std::vector<fence> rest_;
};

} // namespace kvferry
