// Records every message in the order of handling, every input, and what actors ask of the device, as the lines that
// docs/trace_format.md describes. Ids are logical; no path, time or pointer gets in, so that equal runs give equal
// files.
//
// Threads that handle messages only append to their logs (trace/message_log.hpp); a thread of the recorder's own writes
// the lines, in the order of the records' numbers.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "actors/actor_environment.hpp"
#include "kvferry/configuration.hpp"
#include "runtime/trace/message_log.hpp"

namespace kvferry {

class message_recorder : public handling_observer {
public:
  /// Errors: io_error.
  static expected<std::unique_ptr<message_recorder>> create(const std::filesystem::path& file,
                                                            const configuration& config);

  /// Writes what is left. REQUIRES: nobody records any more.
  ~message_recorder() override;

  std::uint64_t handling(const address& from, const address& to, std::uint64_t cause, std::size_t kind,
                         const void* body) override;

  /// A message that the engine handles.
  void arrived(const address& from, std::uint64_t cause, const any_message& message);

  /// An input that is no message.
  template <class Event>
  void input(const address& to, const Event& event) {
    handling({actor_kind::engine, 0}, to, 0, message_index<Event>, &event);
  }

  /// A call of an actor on the device, while it handles a message on this thread.
  template <class Event>
  void called(const address& from, const Event& event) {
    message_log& log = log_here();
    append(log, from, {actor_kind::device, 0}, log.current, message_index<Event>, &event);
  }

  /// Records from now on belong to this step.
  void set_step(std::uint64_t step) { step_.store(step, std::memory_order_relaxed); }

  /// Returns when all that was recorded before is in the file.
  void flush();

  /// The same before the process ends: waits for no longer than some seconds.
  void last_words();

private:
  message_recorder(std::ofstream file, const configuration& config);

  message_log& log_here();
  message_log& find_log();
  std::uint64_t append(message_log& log, const address& from, const address& to, std::uint64_t cause, std::size_t kind,
                       const void* body);
  void wake();
  std::uint64_t ask_to_write();
  void write_lines();
  bool write_ready();
  void write_line(const logged_record& record);
  any_message& message_of(const logged_record& record);
  void write_out();

  const std::uint64_t id_; // of this recorder in the process, never 0
  const int process_;
  const std::span<const message_kind> kinds_;
  std::atomic<std::uint64_t> last_{0};
  std::atomic<std::uint64_t> step_{0};

  std::mutex guard_; // of the logs' list and of what follows
  std::unordered_map<std::thread::id, std::unique_ptr<message_log>> logs_;
  std::condition_variable woken_;
  std::condition_variable written_;
  bool work_ = false;
  bool ending_ = false;
  std::uint64_t flush_to_ = 0;      // asked for
  std::uint64_t written_up_to_ = 0; // in the file

  // The writing thread's.
  std::ofstream file_;
  std::string text_;
  std::vector<std::optional<any_message>> messages_; // by kind; they keep their memory
  std::uint64_t check_ = 0;
  std::uint64_t next_ = 1;
  std::uint64_t flushed_ = 0;
  bool failed_ = false;
  std::thread writer_;
};

} // namespace kvferry
