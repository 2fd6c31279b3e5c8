#include "runtime/trace/message_log.hpp"

#include <algorithm>

namespace kvferry {

message_log::message_log(std::span<const message_kind> kinds, std::function<void()> wake)
    : kinds_(kinds), wake_(std::move(wake)), writing_(new chunk), reading_(writing_), oldest_(writing_) {
  for (const message_kind& kind : kinds) {
    const std::size_t unit = alignof(logged_record);
    sizes_.push_back(sizeof(logged_record) + (kind.size_bytes + unit - 1) / unit * unit);
  }
}

message_log::~message_log() {
  while (oldest_ != nullptr)
    read_.push_back(std::exchange(oldest_, oldest_->next.load()));
  for (chunk* each : read_) {
    destroy_bodies(*each);
    delete each;
  }
  for (chunk* each : spare_)
    delete each;
}

void message_log::begin_chunk() {
  std::vector<chunk*> read;
  {
    std::unique_lock lock{guard_};
    if (in_use_ >= chunks_max)
      wake_();
    returned_.wait(lock, [&] { return in_use_ < chunks_max; });
    ++in_use_;
    read.swap(read_);
  }
  for (chunk* each : read) {
    destroy_bodies(*each);
    spare_.push_back(each);
  }
  while (spare_.size() > spare_max) { // of a time when the reader was behind
    delete spare_.back();
    spare_.pop_back();
  }
  chunk* fresh = nullptr;
  if (spare_.empty()) {
    fresh = new chunk;
  } else {
    fresh = spare_.back();
    spare_.pop_back();
  }
  writing_->next.store(fresh, std::memory_order_release);
  writing_ = fresh;
  used_ = 0;
  wake_();
}

const logged_record* message_log::front() {
  for (;;) {
    chunk* next = reading_->next.load(std::memory_order_acquire); // before `filled`: a chunk with a next one is full
    if (taken_ < reading_->filled.load(std::memory_order_acquire))
      return reinterpret_cast<const logged_record*>(reading_->bytes + taken_);
    if (next == nullptr)
      return nullptr;
    reading_ = next;
    taken_ = 0;
  }
}

void message_log::pop() {
  const auto& taken = *reinterpret_cast<const logged_record*>(reading_->bytes + taken_);
  taken_ += taken.size_bytes;
  // One handling at a time runs on a thread. What is no call on the device began after the handlings before it ended.
  if (taken.to.kind == actor_kind::device)
    return;
  while (oldest_ != reading_) {
    chunk* over = std::exchange(oldest_, oldest_->next.load());
    std::lock_guard lock{guard_};
    read_.push_back(over);
    --in_use_;
    returned_.notify_one();
  }
}

void message_log::destroy_bodies(chunk& of) {
  for (std::size_t at = 0; at < of.filled;) {
    auto& record = *reinterpret_cast<logged_record*>(of.bytes + at);
    at += record.size_bytes;
    kinds_[record.kind].destroy(record.body());
  }
  of.filled.store(0, std::memory_order_relaxed);
  of.next.store(nullptr, std::memory_order_relaxed);
}

} // namespace kvferry
