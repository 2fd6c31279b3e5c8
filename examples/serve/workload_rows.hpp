// One row of a trace: the two formats that are read. A bad row is a value that says which field is wrong and what would
// be right; the caller knows the file and the line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "examples/serve/workload.hpp"

namespace serve {

/// What is wrong with a row, e.g. "input_length: -5 should be a whole number from 1 to 16777216".
using row_result = tl::expected<workload_request, std::string>;

enum class trace_format : std::uint8_t {
  mooncake, ///< a JSON object a line: timestamp (ms), input_length, output_length (tokens), hash_ids
  azure,    ///< TIMESTAMP,ContextTokens,GeneratedTokens below a line of these names; wall clock
};

/// Tokens of a block that a Mooncake hash id names.
inline constexpr std::uint32_t trace_block_tokens = 512;

/// No prompt and no output is longer; it keeps a typing error from asking for all memory.
inline constexpr std::uint32_t request_tokens_max = 1u << 24;

/// A longer line is not looked at.
inline constexpr std::size_t line_bytes_max = std::size_t{1} << 20;

/// The format that a file with this first line has; none when it is neither.
std::optional<trace_format> format_of(std::string_view first_line);

/// `arrival_us` is the row's timestamp.
row_result parse_mooncake_row(std::string_view line);

/// `arrival_us` counts from 1970; the caller subtracts the first one.
row_result parse_azure_row(std::string_view line);

} // namespace serve
