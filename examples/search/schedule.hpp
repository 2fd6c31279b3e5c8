// Which way a run went: at every point where it could go on in several ways, one of them. Option 0 is what happens
// without a search: the oldest message first, the engine's next step when none waits. What is left is a short list.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kvferry/error.hpp"

namespace search {

/// At choice point `point` of the run, counted from 0, option `option`, which is not 0.
struct deviation {
  std::uint32_t point = 0;
  std::uint32_t option = 0;

  friend bool operator==(const deviation&, const deviation&) = default;
};

/// Ascending by point; everywhere else option 0.
using schedule = std::vector<deviation>;

/// "12:1,30:2"; "-" for an empty one.
std::string to_string(const schedule& deviations);

/// Errors (invalid_argument): the message says what was found and what would be right.
kvferry::expected<schedule> parse_schedule(std::string_view text);

} // namespace search
