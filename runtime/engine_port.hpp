// Where messages to the engine arrive: a queue between the actors' threads and the one thread that calls the runtime,
// which looks here for each request of a step: finding nothing takes no lock.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>

#include "messages/any_message.hpp"

namespace kvferry {

class engine_port {
public:
  struct arrival {
    address from;
    std::uint64_t cause = 0;
    any_message body;
  };

  /// From any thread.
  void push(arrival message) {
    {
      std::lock_guard lock{guard_};
      arrivals_.push_back(std::move(message));
      waiting_.store(true, std::memory_order_release);
    }
    changed_.notify_one();
  }

  /// An actor without which nothing goes on has died. From any thread.
  void fail(std::string who) {
    {
      std::lock_guard lock{guard_};
      if (!failure_)
        failure_ = std::move(who);
      failed_.store(true, std::memory_order_release);
    }
    changed_.notify_one();
  }

  std::optional<arrival> try_pop() {
    if (!waiting_.load(std::memory_order_acquire))
      return std::nullopt;
    std::lock_guard lock{guard_};
    return pop();
  }

  /// Blocks until a message arrives; none: an actor has died.
  std::optional<arrival> wait_pop() {
    std::unique_lock lock{guard_};
    changed_.wait(lock, [&] { return !arrivals_.empty() || failure_; });
    return pop();
  }

  /// The actor that has died.
  std::optional<std::string> failure() const {
    if (!failed_.load(std::memory_order_acquire))
      return std::nullopt;
    std::lock_guard lock{guard_};
    return failure_;
  }

private:
  std::optional<arrival> pop() {
    if (arrivals_.empty())
      return std::nullopt;
    std::optional<arrival> first{std::move(arrivals_.front())};
    arrivals_.pop_front();
    waiting_.store(!arrivals_.empty(), std::memory_order_release);
    return first;
  }

  mutable std::mutex guard_;
  std::condition_variable changed_;
  std::deque<arrival> arrivals_;
  std::optional<std::string> failure_;
  std::atomic<bool> waiting_{false}; // something is in `arrivals_`
  std::atomic<bool> failed_{false};  // `failure_` is there
};

} // namespace kvferry
