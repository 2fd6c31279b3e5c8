// What one thread has recorded and nobody has written yet: messages as bytes, one behind the other in chunks.
//
// The thread that handles messages appends, and that has to cost next to nothing; the recorder's thread reads what was
// appended and hands chunks back. A single producer and a single consumer, without a lock but for taking a new chunk.
// Messages are copied, not moved: what they hold is freed when it always is, while it is in the cache, and a chunk that
// is used again is memory that the thread has touched before.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "messages/address.hpp"
#include "messages/message_kind.hpp"

namespace kvferry {

/// A record without its body, which follows it in memory.
struct logged_record {
  std::uint64_t seq = 0;
  std::uint64_t step = 0;
  std::uint64_t cause = 0;
  address from;
  address to;
  std::uint32_t kind = 0;       ///< index in recorded_messages
  std::uint32_t size_bytes = 0; ///< to the next record

  std::byte* body() { return reinterpret_cast<std::byte*>(this + 1); }
  const std::byte* body() const { return reinterpret_cast<const std::byte*>(this + 1); }
};

class message_log {
public:
  static constexpr std::size_t chunk_bytes = 64 << 10;
  static constexpr std::size_t ahead_bytes_max = 16 << 20; ///< of the writer; then the producer waits

  /// `wake` is called when there is a chunk more to read.
  explicit message_log(std::function<void()> wake);
  ~message_log();
  message_log(const message_log&) = delete;
  message_log& operator=(const message_log&) = delete;

  // -- the thread whose log it is

  /// A record with a copy of that body, the rest of it to be filled in. Waits when the reader is too far behind.
  logged_record& append(const message_kind& kind, const void* body) {
    for (;;) {
      const std::size_t begin = used_ + sizeof(logged_record);
      const std::size_t room = begin < size_ ? size_ - begin : 0;
      const std::size_t bytes = kind.write(body, bytes_ + begin, room);
      if (bytes <= room) [[likely]] {
        auto* record = new (bytes_ + used_) logged_record;
        record->size_bytes = static_cast<std::uint32_t>(sizeof(logged_record) + (bytes + unit - 1) / unit * unit);
        return *record;
      }
      begin_chunk(sizeof(logged_record) + bytes);
    }
  }

  /// The record that was appended last is complete: it can be read.
  void publish(const logged_record& record) {
    used_ += record.size_bytes;
    writing_->filled.store(used_, std::memory_order_release);
  }

  /// The handling that runs on this thread.
  std::uint64_t current = 0;

  // -- the reader

  /// The oldest record that was not taken yet; null: there is none now.
  const logged_record* front();

  /// Done with the front.
  void pop() { taken_ += reinterpret_cast<const logged_record*>(reading_->bytes.get() + taken_)->size_bytes; }

private:
  static constexpr std::size_t unit = alignof(logged_record);
  static constexpr std::size_t spare_max = 4;

  struct chunk {
    explicit chunk(std::size_t size) : size(size), bytes(new std::byte[size]) {}

    std::atomic<std::size_t> filled{0};
    std::atomic<chunk*> next{nullptr};
    const std::size_t size;
    const std::unique_ptr<std::byte[]> bytes;
  };

  void begin_chunk(std::size_t at_least);
  void write_into(chunk& fresh);
  void hand_back(chunk* read);

  const std::function<void()> wake_;

  chunk* writing_; // the producer's
  std::byte* bytes_ = nullptr;
  std::size_t size_ = 0;
  std::size_t used_ = 0;
  std::vector<chunk*> spare_; // empty

  chunk* reading_; // the reader's
  std::size_t taken_ = 0;

  std::mutex guard_; // of the rest
  std::condition_variable returned_;
  std::vector<chunk*> read_;    // handed back
  std::size_t ahead_bytes_ = 0; // in chunks that are not
};

} // namespace kvferry
