// Names in a scenario: each kind has its own type, so that the reader can refuse one that nothing in the file brings
// about, and a stream is never taken for a request.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "kvferry/ids.hpp"

namespace scenarios {

/// The stream and the batch that are there from the start, and meant where none is named.
inline constexpr const char* standard_stream = "compute";
inline constexpr const char* standard_batch = "main";

struct request_name {
  std::string text;
  friend auto operator<=>(const request_name&, const request_name&) = default;
};

struct batch_name {
  std::string text = standard_batch;
  friend auto operator<=>(const batch_name&, const batch_name&) = default;
};

/// An engine's stream is made when it is first named.
struct stream_name {
  std::string text = standard_stream;
  friend auto operator<=>(const stream_name&, const stream_name&) = default;
};

/// A place that a step remembered.
struct place_name {
  std::string text;
  friend auto operator<=>(const place_name&, const place_name&) = default;
};

/// Named in the file, a number here; the configuration's first group where none is named.
struct group_ref {
  std::uint8_t index = 0;
};

/// The tokens first, first + 1, … so that prompts share a prefix exactly as far as their runs agree.
struct token_run {
  kvferry::token first = 0;
  std::uint32_t count = 0;
};

std::vector<kvferry::token> tokens_of(const std::vector<token_run>& runs);

/// A block by its owner, written ["A", 0], or a place that was remembered.
struct owned_block {
  request_name request;
  std::uint32_t ordinal = 0;
};

using block_or_place = std::variant<owned_block, place_name>;

/// Where a block is found.
enum class place : std::uint8_t {
  gpu,
  host,
  loading, ///< bound to a GPU page whose bytes are on their way
  none,    ///< no page: a window has passed, or past the end
};

} // namespace scenarios
