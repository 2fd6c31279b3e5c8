// The streams of the host device as queues of operations, and the choice of which one runs next. An operation can run
// when it is at the head of its stream, the stream is not held, and all fences that it waits for have passed. Taking an
// operation and running it are two things: this class only keeps order, the host device does the work.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "device/device.hpp"
#include "device/host/host_memory.hpp"
#include "device/host/stream_order.hpp"

namespace kvferry {

struct record_point {};

struct wait_for {
  fence_set fences;
};

struct copy_batch {
  copy_direction direction = copy_direction::to_host;
  std::vector<page_copy> copies;
  std::vector<std::uint32_t> failing; ///< positions in `copies`, ascending
};

struct table_write {
  std::shared_ptr<host_memory> tables;
  std::vector<table_entry> by_value;    ///< the entries, when they were few
  std::shared_ptr<host_memory> staging; ///< holds them otherwise
  std::span<const table_entry> staged;
  std::uint64_t checksum = 0; ///< of these when they were enqueued; 0 when not checked

  std::span<const table_entry> entries() const { return staging ? staged : std::span{by_value}; }
};

struct launched {
  std::function<void(kernel&)> body;
};

struct operation {
  stamp at;
  bool is_fence = false; ///< something that can be waited for: a record or a copy
  std::variant<record_point, wait_for, copy_batch, table_write, launched> work;
};

class stream_queues {
public:
  void add_stream();

  void enqueue(operation added);

  /// Takes the operation that was enqueued first of all that can run.
  std::optional<operation> take_oldest();

  /// Takes the next operation of any stream whose next can run.
  std::optional<operation> take_random(std::mt19937_64& random);

  /// The stream's next operation can run.
  bool can_run(std::uint32_t stream) const { return can_run(streams_[stream]); }

  /// Takes it. REQUIRES: it can run.
  operation take_of(std::uint32_t stream) { return take(stream); }

  /// A taken operation has run.
  void ran(const stamp& at, bool is_fence);

  bool passed(fence f) const { return f.sequence <= passed_sequence(f.stream.value()); }

  /// The latest fence of the stream that has passed; 0: none.
  std::uint32_t passed_sequence(std::uint32_t stream) const { return streams_[stream].passed; }

  void hold(std::uint32_t stream, bool held) { streams_[stream].held = held; }

  /// True when nothing is enqueued, runnable or not.
  bool empty() const;

  /// Each stream with work, why its next operation does not run; names are those of `order`.
  std::string describe(const stream_order& order) const;

private:
  struct queued {
    std::uint64_t number; // over all streams
    operation work;
  };

  struct stream {
    std::deque<queued> work;
    std::uint32_t passed = 0;
    bool held = false;
  };

  bool can_run(const stream& s) const;
  operation take(std::size_t stream);

  std::vector<stream> streams_;
  std::uint64_t enqueued_ = 0;
};

} // namespace kvferry
