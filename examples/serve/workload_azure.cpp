#include <charconv>
#include <chrono>

#include <fmt/format.h>

#include "examples/serve/workload_rows.hpp"

namespace serve {
namespace {

std::string_view shown(std::string_view text) { return text.substr(0, 40); }

/// The number that all of `text` spells; none when it is anything else.
std::optional<std::uint32_t> number_of(std::string_view text) {
  std::uint32_t value = 0;
  auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || wrong != std::errc{} || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

/// Takes the number in front of `mark` (or all that is left) off `rest`.
std::optional<std::uint32_t> take(std::string_view& rest, char mark, std::size_t digits, std::uint32_t max) {
  if (rest.size() < digits || (mark != '\0' && (rest.size() == digits || rest[digits] != mark)))
    return std::nullopt;
  auto value = number_of(rest.substr(0, digits));
  rest.remove_prefix(mark == '\0' ? digits : digits + 1);
  return value && *value <= max ? value : std::nullopt;
}

/// Microseconds from 1970 of "2023-11-16 18:17:03.9799600"; the fraction, of up to nine digits, may be left out.
std::optional<std::int64_t> microseconds_of(std::string_view text) {
  namespace chrono = std::chrono;
  auto year = take(text, '-', 4, 9999);
  auto month = year ? take(text, '-', 2, 12) : std::nullopt;
  auto day = month ? take(text, ' ', 2, 31) : std::nullopt;
  auto hour = day ? take(text, ':', 2, 23) : std::nullopt;
  auto minute = hour ? take(text, ':', 2, 59) : std::nullopt;
  auto second = minute ? take(text, '\0', 2, 59) : std::nullopt;
  if (!second)
    return std::nullopt;
  chrono::year_month_day date{chrono::year{static_cast<int>(*year)}, chrono::month{*month}, chrono::day{*day}};
  std::uint32_t nanoseconds = 0;
  if (!text.empty()) {
    auto fraction = number_of(text.substr(1));
    if (text[0] != '.' || text.size() > 10 || !fraction)
      return std::nullopt;
    nanoseconds = *fraction;
    for (std::size_t digits = text.size() - 1; digits < 9; ++digits)
      nanoseconds *= 10;
  }
  if (!date.ok())
    return std::nullopt;
  std::int64_t days = chrono::sys_days{date}.time_since_epoch().count();
  std::int64_t seconds = ((days * 24 + *hour) * 60 + *minute) * 60 + *second;
  return seconds * 1'000'000 + nanoseconds / 1000;
}

tl::expected<std::uint32_t, std::string> tokens_field(std::string_view text, std::string_view name) {
  auto tokens = number_of(text);
  if (!tokens || *tokens == 0 || *tokens > request_tokens_max)
    return tl::unexpected(fmt::format("{}: \"{}\" should be a whole number of tokens from 1 to {}", name, shown(text),
                                      request_tokens_max));
  return *tokens;
}

} // namespace

row_result parse_azure_row(std::string_view line) {
  std::size_t first = line.find(',');
  std::size_t second = first == line.npos ? line.npos : line.find(',', first + 1);
  if (second == line.npos || line.find(',', second + 1) != line.npos)
    return tl::unexpected(
        fmt::format("\"{}\" should be three fields, TIMESTAMP,ContextTokens,GeneratedTokens", shown(line)));
  auto arrival_us = microseconds_of(line.substr(0, first));
  if (!arrival_us)
    return tl::unexpected(
        fmt::format("TIMESTAMP: \"{}\" should be like 2023-11-16 18:17:03.9799600", shown(line.substr(0, first))));
  auto prompt_tokens = tokens_field(line.substr(first + 1, second - first - 1), "ContextTokens");
  if (!prompt_tokens)
    return tl::unexpected(prompt_tokens.error());
  auto output_tokens = tokens_field(line.substr(second + 1), "GeneratedTokens");
  if (!output_tokens)
    return tl::unexpected(output_tokens.error());
  return workload_request{*arrival_us, *prompt_tokens, *output_tokens, {}};
}

} // namespace serve
