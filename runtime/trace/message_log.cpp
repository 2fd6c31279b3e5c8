#include "runtime/trace/message_log.hpp"

#include <algorithm>

namespace kvferry {

message_log::message_log(std::function<void()> wake)
    : wake_(std::move(wake)), writing_(new chunk(chunk_bytes)), reading_(writing_), ahead_bytes_(chunk_bytes) {
  write_into(*writing_);
}

message_log::~message_log() {
  while (reading_ != nullptr)
    read_.push_back(std::exchange(reading_, reading_->next.load()));
  for (chunk* each : read_)
    delete each;
  for (chunk* each : spare_)
    delete each;
}

void message_log::write_into(chunk& fresh) {
  writing_ = &fresh;
  bytes_ = fresh.bytes.get();
  size_ = fresh.size;
  used_ = 0;
}

void message_log::begin_chunk(std::size_t at_least) {
  // A large body has a chunk of its own, which is not kept.
  const std::size_t size = std::max(at_least + unit, chunk_bytes);
  std::vector<chunk*> read;
  {
    std::unique_lock lock{guard_};
    // The chunk that is full now does not count: it cannot be handed back before it has a next one.
    const auto may_go_on = [&] { return ahead_bytes_ - size_ < ahead_bytes_max; };
    if (!may_go_on())
      wake_();
    returned_.wait(lock, may_go_on);
    ahead_bytes_ += size;
    read.swap(read_);
  }
  for (chunk* each : read)
    if (each->size == chunk_bytes && spare_.size() < spare_max)
      spare_.push_back(each);
    else
      delete each;
  chunk* fresh = nullptr;
  if (size > chunk_bytes || spare_.empty()) {
    fresh = new chunk(size);
  } else {
    fresh = spare_.back();
    spare_.pop_back();
    fresh->filled.store(0, std::memory_order_relaxed);
    fresh->next.store(nullptr, std::memory_order_relaxed);
  }
  writing_->next.store(fresh, std::memory_order_release);
  write_into(*fresh);
  wake_();
}

const logged_record* message_log::front() {
  for (;;) {
    chunk* next = reading_->next.load(std::memory_order_acquire); // before `filled`: a chunk with a next one is full
    if (taken_ < reading_->filled.load(std::memory_order_acquire))
      return reinterpret_cast<const logged_record*>(reading_->bytes.get() + taken_);
    if (next == nullptr)
      return nullptr;
    hand_back(std::exchange(reading_, next));
    taken_ = 0;
  }
}

void message_log::hand_back(chunk* read) {
  std::lock_guard lock{guard_};
  read_.push_back(read);
  ahead_bytes_ -= read->size;
  returned_.notify_one();
}

} // namespace kvferry
