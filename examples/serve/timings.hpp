// How long the engine's thread is inside kvferry, step by step.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "examples/serve/device_steps.hpp"

namespace serve {

/// Durations, in microseconds, and their percentiles.
class durations {
public:
  void add(double us) { all_.push_back(static_cast<float>(us)); }

  /// The duration that the given share of all does not exceed; 0 when there is none.
  double percentile(double share) const {
    if (all_.empty())
      return 0.0;
    std::vector<float> sorted = all_;
    auto at = sorted.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(sorted.size() - 1));
    std::nth_element(sorted.begin(), at, sorted.end());
    return *at;
  }

private:
  std::vector<float> all_;
};

/// Adds up the calls of a step. What the emulated device does meanwhile is no cost of kvferry's and is left out.
class call_clock {
public:
  explicit call_clock(const device_steps& steps) : steps_on_device_(steps) {}

  template <class Call>
  decltype(auto) measure(Call&& call) {
    struct stop_watch {
      call_clock& clock;
      std::uint64_t device_ns = clock.steps_on_device_.emulation_ns();
      std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
      ~stop_watch() {
        std::chrono::nanoseconds inside = std::chrono::steady_clock::now() - start;
        clock.step_ns_ += inside.count() - static_cast<std::int64_t>(clock.steps_on_device_.emulation_ns() - device_ns);
      }
    } running{*this};
    return std::forward<Call>(call)();
  }

  void end_step() { steps_.add(static_cast<double>(std::exchange(step_ns_, 0)) / 1000.0); }

  void note_publication(double us) { publications_.add(us); }

  const durations& steps() const { return steps_; }
  const durations& publications() const { return publications_; }

private:
  const device_steps& steps_on_device_;
  std::int64_t step_ns_ = 0;
  durations steps_;
  durations publications_;
};

} // namespace serve
