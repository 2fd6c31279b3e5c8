#include "examples/search/schedule.hpp"

#include <charconv>

#include <fmt/format.h>

namespace search {
namespace {

bool read_number(std::string_view& text, std::uint32_t& number) {
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return wrong == std::errc{};
}

bool skip(std::string_view& text, char wanted) {
  const bool there = text.starts_with(wanted);
  text.remove_prefix(there ? 1 : 0);
  return there;
}

} // namespace

std::string to_string(const schedule& deviations) {
  std::string text;
  for (const deviation& d : deviations)
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", d.point, d.option);
  return text.empty() ? "-" : text;
}

kvferry::expected<schedule> parse_schedule(std::string_view text) {
  schedule read;
  std::string_view rest = text == "-" ? "" : text;
  bool right = !text.empty();
  while (right && !rest.empty()) {
    deviation d;
    right = read_number(rest, d.point) && skip(rest, ':') && read_number(rest, d.option) && d.option != 0 &&
            (read.empty() || read.back().point < d.point) && (rest.empty() || (skip(rest, ',') && !rest.empty()));
    read.push_back(d);
  }
  if (right)
    return read;
  return kvferry::fail(kvferry::error_code::invalid_argument,
                       fmt::format("schedule \"{}\": must be point:option,… with ascending points and options from 1, "
                                   "for example 12:1,30:2",
                                   text));
}

} // namespace search
