// Reads scenarios from JSON (docs/scenarios.md).
#pragma once

#include <filesystem>
#include <string_view>

#include "examples/scenario/scenario.hpp"

namespace scenarios {

/// `source` names the text in errors. Errors (invalid_configuration): the message names the path of the wrong field,
/// what was found and what would be right.
kvferry::expected<scenario> parse_scenario(std::string_view json, std::string_view source = "scenario");

/// The same from a file. Also io_error.
kvferry::expected<scenario> load_scenario(const std::filesystem::path& file);

} // namespace scenarios
