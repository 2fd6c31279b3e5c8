// One line of a trace as docs/trace_format.md writes it down: made by the recorder, taken apart by replay.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kvferry/configuration.hpp"
#include "messages/address.hpp"

namespace kvferry {

constexpr int trace_format_version = 3;

/// A line's parts; views into it.
struct record_line {
  std::uint64_t seq = 0;
  std::uint64_t step = 0;
  std::uint64_t cause = 0;
  address from;
  address to;
  std::string_view type;
  std::string_view body; ///< JSON text

  bool is_input() const { return cause == 0; }
};

/// The check of a line whose bytes before `,"check":` are these, behind a line with the check `before`.
std::uint64_t check_of(std::string_view bytes, std::uint64_t before);

/// Appends `,"check":"…"}\n` to the line that begins at `begin` in `out`, and makes `check` that line's.
void seal_line(std::string& out, std::size_t begin, std::uint64_t& check);

/// Appends a record's line up to its body's text; `seal_line` ends it.
void begin_record(std::string& out, const record_line& record);

/// Appends the whole header line.
void append_header(std::string& out, const configuration& config, std::uint64_t& check);

struct sealed_line {
  std::string_view bytes; ///< before `,"check":`
  std::uint64_t check = 0;
};

/// A line (without its `\n`) and the check that it names. False: it names none.
bool split_check(std::string_view line, sealed_line& parts);

/// The parts of a record's bytes before its check. False: it is no record.
bool parse_record(std::string_view bytes, record_line& parts);

} // namespace kvferry
