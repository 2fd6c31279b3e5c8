// How many bytes of page copies a stream has been given and has not copied: events between them, the oldest asked
// first. What is beyond a bound waits on the host, since the driver holds a caller who enqueues more than it has room
// for.
//
// Used by the page copier, one for each direction, under the device's lock.
#pragma once

#include <cstdint>
#include <deque>

#include "device/cuda/event.hpp"
#include "device/cuda/stream.hpp"

namespace kvferry::cuda {

class work_in_flight {
public:
  explicit work_in_flight(int ordinal) : events_(ordinal) {}

  /// `bytes` were enqueued on `on` just now. Where there is no event for them they do not count.
  void add(stream_ref on, std::uint64_t bytes) {
    unmarked_bytes_ += bytes;
    if (unmarked_bytes_ < mark_bytes)
      return;
    if (auto taken = events_.take(); taken && cleared(cudaEventRecord(taken->get(), on.get())) == cudaSuccess) {
      bytes_ += unmarked_bytes_;
      marks_.push_back({std::move(*taken), unmarked_bytes_});
    }
    unmarked_bytes_ = 0;
  }

  /// Asks only when it has to. An event with a fault has passed, too: the fences tell of it.
  bool below(std::uint64_t bytes_max) {
    while (bytes_ >= bytes_max && !marks_.empty() &&
           cleared(cudaEventQuery(marks_.front().at.get())) != cudaErrorNotReady) {
      bytes_ -= marks_.front().bytes;
      events_.give_back(std::move(marks_.front().at));
      marks_.pop_front();
    }
    return bytes_ < bytes_max;
  }

private:
  static constexpr std::uint64_t mark_bytes = 32 << 20;

  struct mark {
    event at;
    std::uint64_t bytes;
  };

  event_pool events_;
  std::deque<mark> marks_;
  std::uint64_t bytes_ = 0;
  std::uint64_t unmarked_bytes_ = 0; ///< behind the last mark
};

} // namespace kvferry::cuda
