// What is ordered before what on the host device: vector clocks, computed when work is enqueued. An operation comes
// after all earlier ones of its stream, after the fences that its stream was made to wait for, and after everything
// that the host had seen passing (`poll`) when it was enqueued. Nothing else orders, however the operations happen to
// run.
//
// A value without a device; used by the host device, which hands each operation its `stamp`, and by the order checker.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "kvferry/fence.hpp"
#include "kvferry/host_device.hpp"

namespace kvferry {

/// Per stream, the sequence up to which everything is known to come before. 32 bit, so that a clock is one cache line.
class vector_clock {
public:
  bool covers(std::uint32_t stream, std::uint32_t sequence) const { return before_[stream] >= sequence; }

  void advance(std::uint32_t stream, std::uint32_t sequence) { before_[stream] = sequence; }

  void merge(const vector_clock& other) {
    for (std::size_t i = 0; i < before_.size(); ++i)
      before_[i] = std::max(before_[i], other.before_[i]);
  }

private:
  std::array<std::uint32_t, host_device::streams_max> before_{};
};

/// An operation's position, and what is ordered before it; itself included.
struct stamp {
  std::uint32_t stream = 0;
  std::uint32_t sequence = 0;
  vector_clock before;
};

class stream_order {
public:
  /// REQUIRES: fewer than `host_device::streams_max` streams so far.
  stream_id add_stream(std::string_view name);

  std::uint32_t size() const { return static_cast<std::uint32_t>(streams_.size()); }

  std::string_view name(std::uint32_t stream) const { return streams_[stream].name; }

  /// Checks that the stream exists, and returns its index.
  std::uint32_t index_of(stream_id stream) const;

  /// The next position of `stream`.
  stamp enqueue(std::uint32_t stream);

  /// Makes `at` a fence: something that can be waited for. REQUIRES: the stream's latest position.
  fence make_fence(const stamp& at);

  /// Orders what is enqueued on `stream` from now on after `fences`.
  /// REQUIRES: all were recorded; waiting for a position that was never recorded is no wait (design section 6, rule 5).
  void wait(std::uint32_t stream, const fence_set& fences);

  /// The host has seen `passed` pass: everything that is enqueued from now on comes after it.
  void host_learns(fence passed);

  /// Stops the process unless `f` was recorded. Of positions that the host has seen passing only the stream is checked.
  void require_recorded(fence f, std::string_view asked_by) const;

private:
  struct recorded {
    std::uint32_t sequence = 0;
    vector_clock before;
  };

  struct stream {
    std::string name;
    vector_clock clock;          // of the latest position
    std::uint32_t enqueued = 0;  // the latest position's sequence
    std::deque<recorded> fences; // those that the host has not seen passing, oldest first
    std::uint32_t learned = 0;   // the latest fence that the host has seen passing
  };

  /// The fence's clock; null when the host has seen it passing.
  const recorded* find(fence f, std::string_view asked_by) const;

  std::vector<stream> streams_;
  vector_clock host_; // what is before everything that is enqueued from now on
};

} // namespace kvferry
