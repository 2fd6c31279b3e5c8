#include "runtime/message_recorder.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <set>

#include <fmt/format.h>
#include <unistd.h>

#include "kvferry/contract.hpp"
#include "runtime/trace/record_line.hpp"

namespace kvferry {

namespace {

constexpr std::size_t text_bytes_max = 1 << 20; // gathered before it is written

std::atomic<std::uint64_t> recorders_made{0};

/// Recorders of this process, to be flushed when a broken contract ends it.
class living_recorders {
public:
  void add(message_recorder* one) {
    std::lock_guard lock{guard_};
    all_.insert(one);
    before_contract_ends = [] { living().flush(); };
  }

  void remove(message_recorder* one) {
    std::lock_guard lock{guard_};
    all_.erase(one);
  }

  static living_recorders& living() {
    static living_recorders one;
    return one;
  }

private:
  void flush() {
    std::lock_guard lock{guard_};
    for (message_recorder* each : all_)
      each->last_words();
  }

  std::mutex guard_;
  std::set<message_recorder*> all_;
};

} // namespace

expected<std::unique_ptr<message_recorder>> message_recorder::create(const std::filesystem::path& file,
                                                                     const configuration& config) {
  std::ofstream out{file, std::ios::binary | std::ios::trunc};
  if (!out)
    return fail(error_code::io_error, fmt::format("record_path: cannot write {}", file.string()));
  return std::unique_ptr<message_recorder>{new message_recorder{std::move(out), config}};
}

message_recorder::message_recorder(std::ofstream file, const configuration& config)
    : id_(++recorders_made), process_(::getpid()), kinds_(message_kinds()), file_(std::move(file)),
      messages_(kinds_.size()) {
  append_header(text_, config, check_);
  writer_ = std::thread{[this] { write_lines(); }};
  living_recorders::living().add(this);
}

message_recorder::~message_recorder() {
  living_recorders::living().remove(this);
  {
    std::lock_guard lock{guard_};
    ending_ = true;
  }
  woken_.notify_one();
  writer_.join();
}

// -- where messages are handled
// --------------------------------------------------------------------------------------

std::uint64_t message_recorder::handling(const address& from, const address& to, std::uint64_t cause, std::size_t kind,
                                         const void* body) {
  message_log& log = log_here();
  return log.current = append(log, from, to, cause, kind, body);
}

void message_recorder::arrived(const address& from, std::uint64_t cause, const any_message& message) {
  append(log_here(), from, {actor_kind::engine, 0}, cause, message.index(), message.body());
}

std::uint64_t message_recorder::append(message_log& log, const address& from, const address& to, std::uint64_t cause,
                                       std::size_t kind, const void* body) {
  logged_record& record = log.append(kinds_[kind], body); // may wait, so before it has its number
  record.kind = static_cast<std::uint32_t>(kind);
  record.step = step_.load(std::memory_order_relaxed);
  record.cause = cause;
  record.from = from;
  record.to = to;
  const std::uint64_t seq = record.seq = last_.fetch_add(1, std::memory_order_relaxed) + 1;
  log.publish(record);
  return seq;
}

message_log& message_recorder::log_here() {
  struct found {
    std::uint64_t recorder = 0;
    message_log* log = nullptr;
  };
  thread_local found last;
  if (last.recorder != id_) [[unlikely]]
    last = {id_, &find_log()};
  return *last.log;
}

message_log& message_recorder::find_log() {
  std::lock_guard lock{guard_};
  auto& log = logs_[std::this_thread::get_id()];
  if (!log)
    log = std::make_unique<message_log>([this] { wake(); });
  return *log;
}

void message_recorder::wake() {
  {
    std::lock_guard lock{guard_};
    work_ = true;
  }
  woken_.notify_one();
}

/// Everything up to the number that it returns. REQUIRES: guard_ is held.
std::uint64_t message_recorder::ask_to_write() {
  const std::uint64_t wanted = last_.load();
  flush_to_ = std::max(flush_to_, wanted);
  work_ = true;
  woken_.notify_one();
  return wanted;
}

void message_recorder::flush() {
  std::unique_lock lock{guard_};
  const std::uint64_t wanted = ask_to_write();
  written_.wait(lock, [&] { return written_up_to_ >= wanted; });
}

/// As flush, for a process that is about to end: it must not hang, whatever is broken.
void message_recorder::last_words() {
  if (::getpid() != process_)
    return; // a child has no writing thread
  std::unique_lock lock{guard_, std::try_to_lock};
  if (!lock || std::this_thread::get_id() == writer_.get_id())
    return;
  const std::uint64_t wanted = ask_to_write();
  written_.wait_for(lock, std::chrono::seconds{5}, [&] { return written_up_to_ >= wanted; });
}

// -- the writing thread
// ------------------------------------------------------------------------------------------------

void message_recorder::write_lines() {
  for (bool last = false; !last;) {
    std::uint64_t flush_to = 0;
    {
      std::unique_lock lock{guard_};
      woken_.wait(lock, [&] { return work_ || ending_; });
      work_ = false;
      last = ending_;
      flush_to = last ? last_.load() : flush_to_;
    }
    while (write_ready() || next_ <= flush_to) // a number that was given is published at once
      ;
    if (last || flushed_ < flush_to) {
      write_out();
      flushed_ = next_ - 1;
    }
    std::lock_guard lock{guard_};
    written_up_to_ = flushed_;
    written_.notify_all();
  }
}

/// Writes what can be read now, in the order of numbers. False: there was nothing.
bool message_recorder::write_ready() {
  std::vector<message_log*> logs;
  {
    std::lock_guard lock{guard_};
    for (auto& [thread, log] : logs_)
      logs.push_back(log.get());
  }
  bool any = false;
  for (message_log* log : logs)
    for (const logged_record* record = log->front(); record != nullptr && record->seq == next_; record = log->front()) {
      write_line(*record);
      log->pop();
      ++next_;
      any = true;
    }
  return any;
}

void message_recorder::write_line(const logged_record& record) {
  const message_kind& kind = kinds_[record.kind];
  const std::size_t begin = text_.size();
  begin_record(text_, {record.seq, record.step, record.cause, record.from, record.to, kind.name, {}});
  kind.print(message_of(record).body(), text_);
  seal_line(text_, begin, check_);
  if (text_.size() > text_bytes_max)
    write_out();
}

any_message& message_recorder::message_of(const logged_record& record) {
  std::optional<any_message>& message = messages_[record.kind];
  if (!message)
    message = kinds_[record.kind].blank();
  kinds_[record.kind].read(record.body(), message->body());
  return *message;
}

void message_recorder::write_out() {
  file_.write(text_.data(), static_cast<std::streamsize>(text_.size()));
  file_.flush();
  text_.clear();
  if (!file_ && !std::exchange(failed_, true))
    std::fprintf(stderr, "kvferry: the record cannot be written any further\n");
}

} // namespace kvferry
