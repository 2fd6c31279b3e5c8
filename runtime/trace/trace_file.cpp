#include "runtime/trace/trace_file.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "messages/json.hpp"
#include "messages/message_kind.hpp"

namespace kvferry {

namespace {

/// Numbers of kinds by name.
const std::unordered_map<std::string_view, std::uint32_t>& kind_numbers() {
  static const auto numbers = [] {
    std::unordered_map<std::string_view, std::uint32_t> all;
    for (std::uint32_t kind = 0; kind < message_kinds().size(); ++kind)
      all.emplace(message_kinds()[kind].name, kind);
    return all;
  }();
  return numbers;
}

/// Cuts the next line off; without its `\n`. False: there is no whole one.
bool next_line(std::string_view& rest, std::string_view& line) {
  const std::size_t end = rest.find('\n');
  if (end == rest.npos)
    return false;
  line = rest.substr(0, end);
  rest.remove_prefix(end + 1);
  return true;
}

} // namespace

expected<trace_file> trace_file::read(const std::filesystem::path& file) {
  std::error_code unknown;
  std::ifstream in{file, std::ios::binary};
  if (!in || std::filesystem::is_directory(file, unknown))
    return fail(error_code::io_error, fmt::format("{}: cannot be opened", file.string()));
  std::string text{std::istreambuf_iterator<char>{in}, {}};
  if (in.bad())
    return fail(error_code::io_error, fmt::format("{}: cannot be read", file.string()));
  return parse(std::move(text), file.string());
}

expected<trace_file> trace_file::parse(std::string text, std::string_view name) {
  trace_file made;
  made.text_ = std::make_unique<std::string>(std::move(text));
  std::string_view rest = *made.text_, header;
  if (!next_line(rest, header))
    return fail(error_code::damaged_record, fmt::format("{}: has no whole header line", name));
  if (auto read = made.read_header(header, name); !read)
    return tl::unexpected<error>{read.error()};
  made.records_begin_ = made.text_->size() - rest.size();
  if (auto read = made.read_records(name); !read)
    return tl::unexpected<error>{read.error()};
  made.index_causes();
  return made;
}

expected<void> trace_file::read_header(std::string_view line, std::string_view name) {
  const json header = json::parse(line, nullptr, false);
  if (!header.is_object() || !header.contains("kvferry_trace"))
    return fail(error_code::damaged_record, fmt::format("{}: its first line is no header of a trace", name));
  const json& version = header["kvferry_trace"];
  if (version != trace_format_version) // before the check, which another version may make otherwise
    return fail(error_code::unknown_format, fmt::format("{}: is a trace of version {}; this reads version {}", name,
                                                        version.dump(), trace_format_version));
  sealed_line sealed;
  if (!split_check(line, sealed) || check_of(sealed.bytes, 0) != sealed.check)
    return fail(error_code::damaged_record, fmt::format("{}: line 1: the header is damaged", name));
  header_check_ = sealed.check;
  auto config = parse_configuration(header.value("configuration", json::object()).dump(), name);
  if (!config)
    return tl::unexpected<error>{config.error()};
  config_ = std::move(*config);
  return {};
}

/// Why the line is no whole record behind the ones before; "": it is one, and `check` is its check from now on.
std::string trace_file::take(std::string_view line, std::uint64_t& check, std::optional<trace_record>& taken) const {
  sealed_line sealed;
  record_line parts;
  const bool has_check = split_check(line, sealed);
  if (!parse_record(has_check ? sealed.bytes : line, parts))
    return "is no record";
  auto kind = kind_numbers().find(parts.type);
  if (kind != kind_numbers().end())
    taken = trace_record{parts.seq, parts.step, parts.cause, parts.from, parts.to, kind->second, parts.body};
  if (!has_check)
    return "has no check";
  const std::uint64_t right = check_of(sealed.bytes, check);
  if (right != sealed.check)
    return fmt::format("says check {:016x}, its bytes and the line before make {:016x}", sealed.check, right);
  if (parts.seq != records_.size() + 1)
    return fmt::format("is record {} where {} should be", parts.seq, records_.size() + 1);
  if (parts.cause >= parts.seq)
    return fmt::format("names a cause, {}, that comes later", parts.cause);
  check = right;
  return "";
}

expected<void> trace_file::read_records(std::string_view name) {
  std::string_view rest = std::string_view{*text_}.substr(records_begin_), line;
  std::uint64_t check = header_check_;
  while (next_line(rest, line)) {
    std::optional<trace_record> taken;
    if (std::string wrong = take(line, check, taken); !wrong.empty()) {
      state_ = trace_state::damaged;
      trouble_ = fmt::format("line {} (record {}) is damaged: it {}", records_.size() + 2, records_.size() + 1, wrong);
      damaged_ = taken;
      return {};
    }
    if (!taken)
      return fail(error_code::unknown_format,
                  fmt::format("{}: record {}: this build does not know its type", name, records_.size() + 1));
    ended_ = ended_ || taken->is<end_of_run>();
    records_.push_back(*taken);
  }
  if (!rest.empty() || !ended_) {
    state_ = trace_state::cut;
    trouble_ = rest.empty() ? fmt::format("the record ends with {}, before its run did", records_.size())
                            : fmt::format("the record is cut off in the middle of {}", records_.size() + 1);
  }
  return {};
}

void trace_file::index_causes() {
  sent_begin_.assign(records_.size() + 2, 0);
  for (const trace_record& record : records_)
    ++sent_begin_[record.cause + 1];
  for (std::size_t i = 1; i < sent_begin_.size(); ++i)
    sent_begin_[i] += sent_begin_[i - 1];
  sent_.resize(records_.size());
  std::vector<std::uint64_t> next = sent_begin_;
  for (const trace_record& record : records_)
    sent_[next[record.cause]++] = record.seq;
}

std::span<const std::uint64_t> trace_file::sent_by(std::uint64_t seq) const {
  return std::span{sent_}.subspan(sent_begin_[seq], sent_begin_[seq + 1] - sent_begin_[seq]);
}

expected<any_message> trace_file::message_of(const trace_record& record) {
  const std::string_view name = message_kinds()[record.kind].name;
  json body = json::parse(record.body, nullptr, false);
  if (body.is_discarded())
    return fail(error_code::invalid_argument, fmt::format("{}: its body is no JSON", name));
  return parse_message(name, body);
}

std::string with_right_checks(std::string_view text) {
  std::string out;
  std::uint64_t check = 0;
  for (std::string_view line; next_line(text, line);) {
    sealed_line sealed;
    const std::size_t begin = out.size();
    out += split_check(line, sealed) ? sealed.bytes : line.substr(0, line.size() - 1); // without the last brace
    seal_line(out, begin, check);
  }
  return out;
}

} // namespace kvferry
