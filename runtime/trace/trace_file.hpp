// A trace in memory: its records, checked, and what each handling sent. Read once; replay, stories and pictures of it
// look at it through this.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kvferry/configuration.hpp"
#include "kvferry/trace.hpp"
#include "messages/address.hpp"
#include "messages/any_message.hpp"
#include "runtime/trace/record_line.hpp"

namespace kvferry {

struct trace_record {
  std::uint64_t seq = 0;
  std::uint64_t step = 0;
  std::uint64_t cause = 0;
  address from;
  address to;
  std::uint32_t kind = 0; ///< index in recorded_messages
  std::string_view body;  ///< JSON text

  bool is_input() const { return cause == 0; }

  template <class Message>
  bool is() const {
    return kind == message_index<Message>;
  }
};

class trace_file {
public:
  /// Errors: io_error; unknown_format (another version, an unknown kind of message); damaged_record (the header).
  static expected<trace_file> read(const std::filesystem::path& file);

  /// The same for what such a file holds. `name` names it in errors.
  static expected<trace_file> parse(std::string text, std::string_view name);

  const configuration& config() const { return config_; }
  trace_state state() const { return state_; }

  /// In words, why the trace is not whole; "" when it is.
  const std::string& trouble() const { return trouble_; }

  /// The damaged line's parts, as far as it still is a record.
  const std::optional<trace_record>& damaged() const { return damaged_; }

  /// Whole records, in order; number n is at n - 1.
  std::span<const trace_record> records() const { return records_; }
  const trace_record& at(std::uint64_t seq) const { return records_[seq - 1]; }

  /// Numbers of the records whose cause is `seq`, ascending; 0: those without a cause.
  std::span<const std::uint64_t> sent_by(std::uint64_t seq) const;

  /// The run came to its end_of_run.
  bool ended() const { return ended_; }

  /// The message that the record holds. Errors: invalid_argument.
  static expected<any_message> message_of(const trace_record& record);

private:
  trace_file() = default;
  expected<void> read_header(std::string_view line, std::string_view name);
  expected<void> read_records(std::string_view name);
  std::string take(std::string_view line, std::uint64_t& check, std::optional<trace_record>& taken) const;
  void index_causes();

  std::unique_ptr<std::string> text_; // views point into it
  std::size_t records_begin_ = 0;
  std::uint64_t header_check_ = 0;
  configuration config_;
  trace_state state_ = trace_state::whole;
  std::string trouble_;
  std::optional<trace_record> damaged_;
  bool ended_ = false;
  std::vector<trace_record> records_;
  std::vector<std::uint64_t> sent_;       // grouped by cause
  std::vector<std::uint64_t> sent_begin_; // by cause
};

/// The same lines with the checks that they should have. For tests, and for whoever edits a trace by hand.
std::string with_right_checks(std::string_view text);

} // namespace kvferry
