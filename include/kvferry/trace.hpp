// Records of runs (docs/trace_format.md), to be replayed and looked at: `configuration::record_path` makes one,
// `kvferry-replay` is this header as a program.
//
// Replay feeds the recorded inputs to fresh actors, in the recorded order of handling, and compares all they send. It
// needs no device and no engine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "kvferry/error.hpp"
#include "kvferry/ids.hpp"

namespace kvferry {

class trace_file;

enum class trace_state : std::uint8_t {
  whole,
  cut,     ///< the process ended before its run did; what is there is usable
  damaged, ///< bytes have changed, or lines are lost; what lies before is usable
};

/// Where replay and record part.
struct replay_difference {
  std::uint64_t record = 0; ///< the handling that sent, or called the device, otherwise
  request_id request;       ///< that it concerns; none: no request is named
  block_id block;           ///< the same
  std::string text;         ///< both sides, where they differ, and the chain of causes; several lines
};

struct replay_result {
  std::uint64_t records = 0;     ///< that were looked at
  std::uint64_t handlings = 0;   ///< messages that fresh actors handled
  std::uint64_t compared = 0;    ///< messages and device calls of theirs that the record has too
  std::uint64_t undelivered = 0; ///< messages that nobody had handled when the record ended
  std::optional<replay_difference> difference;
  std::string damage; ///< what replay has where a damaged line stands; several lines, "" when it is not known
};

class trace {
public:
  /// Errors: io_error; unknown_format: another version, which is named, or messages of another build; damaged_record:
  /// not even the header is whole.
  static expected<trace> read(const std::filesystem::path& file);

  trace(trace&&) noexcept;
  ~trace();

  trace_state state() const;

  /// Why it is not whole, in words; "" when it is.
  std::string_view trouble() const;

  std::uint64_t records() const;

  /// Replays all of it, or one actor alone from its inbox: "page_registry", "request_cache/7", "storage",
  /// "batch_publisher/1", "completions". A damaged trace is replayed up to the damage.
  /// Errors: invalid_argument: there is no such actor in the record.
  expected<replay_result> replay(std::string_view actor = {}) const;

  /// A life as a story, a line per event. Errors: invalid_argument: the record does not know it.
  expected<std::string> life_of(block_id block) const;
  expected<std::string> life_of(request_id request) const;

  /// Writes the run as a picture for ui.perfetto.dev, in the JSON trace format. Errors: io_error.
  expected<void> write_perfetto(const std::filesystem::path& file) const;

private:
  explicit trace(std::unique_ptr<trace_file> file);
  std::unique_ptr<trace_file> file_;
};

} // namespace kvferry
