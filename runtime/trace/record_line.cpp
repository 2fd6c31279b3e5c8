#include "runtime/trace/record_line.hpp"

#include <charconv>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <xxhash.h>

#include "runtime/configuration_json.hpp"

namespace kvferry {

namespace {

constexpr std::string_view check_begins = ",\"check\":\"";
constexpr std::size_t check_digits = 16;

void append_address(std::string& out, const address& who) {
  out += to_string(who.kind);
  if (who.kind == actor_kind::request_cache || who.kind == actor_kind::batch_publisher)
    fmt::format_to(std::back_inserter(out), "/{}", who.number);
}

/// Takes a line apart from its front; fields stand in one order and without spaces.
class line_scanner {
public:
  explicit line_scanner(std::string_view line) : rest_(line) {}

  bool take(std::string_view expected) {
    if (!rest_.starts_with(expected))
      return false;
    rest_.remove_prefix(expected.size());
    return true;
  }

  bool take_number(std::uint64_t& number) {
    auto [end, wrong] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return wrong == std::errc{};
  }

  bool take_until(char end, std::string_view& text) {
    const std::size_t at = rest_.find(end);
    text = rest_.substr(0, at);
    rest_.remove_prefix(at == rest_.npos ? rest_.size() : at + 1);
    return at != rest_.npos;
  }

  bool take_address(address& who) {
    std::string_view name;
    if (!take_until('"', name))
      return false;
    auto known = parse_address(name);
    who = known.value_or(address{});
    return known.has_value();
  }

  std::string_view rest() const { return rest_; }

private:
  std::string_view rest_;
};

} // namespace

std::uint64_t check_of(std::string_view bytes, std::uint64_t before) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), before);
}

void seal_line(std::string& out, std::size_t begin, std::uint64_t& check) {
  check = check_of(std::string_view{out}.substr(begin), check);
  out += check_begins;
  fmt::format_to(std::back_inserter(out), "{:016x}\"}}\n", check);
}

void begin_record(std::string& out, const record_line& record) {
  auto to = std::back_inserter(out);
  fmt::format_to(to, "{{\"seq\":{},\"step\":{},\"from\":\"", record.seq, record.step);
  append_address(out, record.from);
  out += "\",\"to\":\"";
  append_address(out, record.to);
  fmt::format_to(to, "\",\"type\":\"{}\",\"cause\":{}{},\"body\":", record.type, record.cause,
                 record.is_input() ? ",\"input\":true" : "");
}

void append_header(std::string& out, const configuration& config, std::uint64_t& check) {
  const std::size_t begin = out.size();
  fmt::format_to(std::back_inserter(out), "{{\"kvferry_trace\":{},\"seed\":{},\"configuration\":{}",
                 trace_format_version, config.seed, to_json_text(config));
  seal_line(out, begin, check);
}

bool split_check(std::string_view line, sealed_line& parts) {
  const std::size_t tail = check_begins.size() + check_digits + 2;
  if (line.size() < tail || !line.ends_with("\"}"))
    return false;
  parts.bytes = line.substr(0, line.size() - tail);
  line_scanner scanner{line.substr(parts.bytes.size())};
  if (!scanner.take(check_begins))
    return false;
  const std::string_view digits = scanner.rest().substr(0, check_digits);
  auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), parts.check, 16);
  return wrong == std::errc{} && end == digits.data() + digits.size();
}

bool parse_record(std::string_view bytes, record_line& parts) {
  line_scanner scanner{bytes};
  if (!(scanner.take("{\"seq\":") && scanner.take_number(parts.seq) && scanner.take(",\"step\":") &&
        scanner.take_number(parts.step) && scanner.take(",\"from\":\"") && scanner.take_address(parts.from) &&
        scanner.take(",\"to\":\"") && scanner.take_address(parts.to) && scanner.take(",\"type\":\"") &&
        scanner.take_until('"', parts.type) && scanner.take(",\"cause\":") && scanner.take_number(parts.cause)))
    return false;
  if (scanner.take(",\"input\":true") != parts.is_input() || !scanner.take(",\"body\":"))
    return false;
  parts.body = scanner.rest();
  return parts.body.size() >= 2;
}

} // namespace kvferry
