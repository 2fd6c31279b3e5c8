// What one thread has recorded and nobody has written yet: bodies as they were sent, one behind the other in chunks.
//
// The thread that handles messages appends, and that has to cost next to nothing; the recorder's thread reads what was
// appended and hands chunks back when their handlings are over. A single producer and a single consumer, without a lock
// but for taking a new chunk. Bodies are destroyed by the thread that made them: memory that is freed elsewhere costs
// it more than all the rest.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "messages/address.hpp"
#include "messages/message_kind.hpp"

namespace kvferry {

/// A record without its body, which follows it in memory.
struct alignas(std::max_align_t) logged_record {
  std::uint64_t seq = 0;
  std::uint64_t step = 0;
  std::uint64_t cause = 0;
  address from;
  address to;
  std::uint32_t kind = 0;       ///< index in recorded_messages
  std::uint32_t size_bytes = 0; ///< to the next record

  void* body() { return this + 1; }
  const void* body() const { return this + 1; }
};

class message_log {
public:
  static constexpr std::size_t chunk_bytes = 64 << 10;
  static constexpr std::size_t chunks_max = 256; ///< that the writer is behind; then the producer waits

  /// `wake` is called when there is a chunk more to read.
  explicit message_log(std::span<const message_kind> kinds, std::function<void()> wake);
  ~message_log();
  message_log(const message_log&) = delete;
  message_log& operator=(const message_log&) = delete;

  // -- the thread whose log it is

  /// Room for a record with a body of that kind. Waits when the reader is too far behind.
  logged_record& reserve(std::uint32_t kind) {
    const std::size_t size = sizes_[kind];
    if (used_ + size > chunk_bytes) [[unlikely]]
      begin_chunk();
    logged_record& record = *reinterpret_cast<logged_record*>(writing_->bytes + used_);
    record.kind = kind;
    record.size_bytes = static_cast<std::uint32_t>(size);
    return record;
  }

  /// The record that was reserved last is complete: it can be read.
  void publish(const logged_record& record) {
    used_ += record.size_bytes;
    writing_->filled.store(used_, std::memory_order_release);
  }

  /// The handling that runs on this thread.
  std::uint64_t current = 0;

  // -- the reader

  /// The oldest record that was not taken yet; null: there is none now.
  const logged_record* front();

  /// Done with the front. Its body stays where it is until the handling that may still use it is over.
  void pop();

private:
  struct chunk {
    std::atomic<std::size_t> filled{0};
    std::atomic<chunk*> next{nullptr};
    alignas(std::max_align_t) std::byte bytes[chunk_bytes];
  };

  void begin_chunk();
  void destroy_bodies(chunk& of);
  static constexpr std::size_t spare_max = 4;

  const std::span<const message_kind> kinds_;
  const std::function<void()> wake_;
  std::vector<std::size_t> sizes_; // by kind

  chunk* writing_; // the producer's
  std::size_t used_ = 0;

  chunk* reading_; // the reader's
  std::size_t taken_ = 0;
  chunk* oldest_;             // not handed back yet
  std::vector<chunk*> spare_; // the producer's, empty

  std::mutex guard_; // of the rest
  std::condition_variable returned_;
  std::vector<chunk*> read_; // handed back, with their bodies
  std::size_t in_use_ = 1;   // not handed back
};

} // namespace kvferry
