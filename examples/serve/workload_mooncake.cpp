#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "examples/serve/workload_rows.hpp"

namespace serve {
namespace {

using nlohmann::json;

// Later than any trace, and in microseconds still far from the end of 64 bits.
constexpr double timestamp_ms_max = 1e12;

/// A value as an error shows it: as written, but never long.
std::string shown(const json& value) {
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  return text.size() <= 40 ? text : text.substr(0, 40) + "…";
}

tl::expected<std::uint32_t, std::string> tokens_field(const json& row, const char* name) {
  auto found = row.find(name);
  if (found == row.end())
    return tl::unexpected(fmt::format("{}: missing; should be a whole number of tokens", name));
  bool whole = found->is_number_unsigned();
  if (!whole || found->get<std::uint64_t>() == 0 || found->get<std::uint64_t>() > request_tokens_max)
    return tl::unexpected(
        fmt::format("{}: {} should be a whole number of tokens from 1 to {}", name, shown(*found), request_tokens_max));
  return found->get<std::uint32_t>();
}

tl::expected<std::int64_t, std::string> timestamp_field(const json& row) {
  auto found = row.find("timestamp");
  if (found == row.end())
    return tl::unexpected<std::string>("timestamp: missing; should be milliseconds from the start");
  double ms = found->is_number() ? found->get<double>() : -1.0;
  if (!(ms >= 0.0 && ms <= timestamp_ms_max))
    return tl::unexpected(
        fmt::format("timestamp: {} should be milliseconds from the start, not negative", shown(*found)));
  return std::llround(ms * 1000.0);
}

tl::expected<std::vector<std::uint64_t>, std::string> blocks_field(const json& row, std::uint32_t prompt_tokens) {
  auto found = row.find("hash_ids");
  if (found == row.end() || !found->is_array())
    return tl::unexpected(
        fmt::format("hash_ids: {} should be a list of block ids", found == row.end() ? "missing;" : shown(*found)));
  std::uint32_t wanted = (prompt_tokens + trace_block_tokens - 1) / trace_block_tokens;
  if (found->size() != wanted)
    return tl::unexpected(fmt::format("hash_ids: {} ids should be {}, one per {} tokens of input_length {}",
                                      found->size(), wanted, trace_block_tokens, prompt_tokens));
  std::vector<std::uint64_t> blocks;
  blocks.reserve(wanted);
  for (const json& id : *found) {
    if (!id.is_number_unsigned())
      return tl::unexpected(
          fmt::format("hash_ids[{}]: {} should be a whole number, not negative", blocks.size(), shown(id)));
    blocks.push_back(id.get<std::uint64_t>());
  }
  return blocks;
}

tl::expected<json, std::string> json_of(std::string_view line) {
  try {
    return json::parse(line.begin(), line.end());
  } catch (const json::parse_error& wrong) {
    return tl::unexpected(fmt::format("wrong JSON at byte {}; should be one object", wrong.byte));
  } catch (const json::exception&) { // a number that no type can hold
    return tl::unexpected<std::string>("wrong JSON; a number is out of range");
  }
}

} // namespace

row_result parse_mooncake_row(std::string_view line) {
  auto row = json_of(line);
  if (!row)
    return tl::unexpected(row.error());
  if (!row->is_object())
    return tl::unexpected(
        fmt::format("{} should be an object with timestamp, input_length, output_length and hash_ids", shown(*row)));
  auto arrival_us = timestamp_field(*row);
  if (!arrival_us)
    return tl::unexpected(arrival_us.error());
  auto prompt_tokens = tokens_field(*row, "input_length");
  if (!prompt_tokens)
    return tl::unexpected(prompt_tokens.error());
  auto output_tokens = tokens_field(*row, "output_length");
  if (!output_tokens)
    return tl::unexpected(output_tokens.error());
  auto blocks = blocks_field(*row, *prompt_tokens);
  if (!blocks)
    return tl::unexpected(blocks.error());
  return workload_request{*arrival_us, *prompt_tokens, *output_tokens, std::move(*blocks)};
}

} // namespace serve
