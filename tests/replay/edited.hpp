// Records with a change in them, and what is said of them.
#pragma once

#include <string>
#include <vector>

#include "kvferry/trace.hpp"
#include "runtime/trace/difference_text.hpp"
#include "runtime/trace/trace_file.hpp"
#include "tests/catch.hpp"

namespace kvferry::test {

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    lines.push_back(text.substr(begin, end - begin));
    begin = end == text.npos ? text.size() : end + 1;
  }
  return lines;
}

inline std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines)
    text += line + "\n";
  return text;
}

/// Replaces the first `what` behind the first `after`. REQUIRES: both are there.
inline std::string with(std::string text, const std::string& after, const std::string& what, const std::string& by) {
  const std::size_t begin = text.find(after);
  REQUIRE(begin != text.npos);
  const std::size_t at = text.find(what, begin + after.size());
  REQUIRE(at != text.npos);
  return text.replace(at, what.size(), by);
}

inline trace_file parsed(const std::string& text) {
  auto file = trace_file::parse(text, "record");
  INFO((file ? "" : file.error().message));
  REQUIRE(file);
  return std::move(*file);
}

/// "" when all is the same.
inline std::string difference_in(const std::string& text, const std::string& actor = "") {
  const trace_file file = parsed(text);
  REQUIRE(file.state() != trace_state::damaged);
  replayer replayed{file, actor.empty() ? std::nullopt : parse_address(actor)};
  replayed.run();
  REQUIRE(replayed.handlings() > 0);
  return replayed.difference() ? explain(file, *replayed.difference()).text : "";
}

} // namespace kvferry::test
