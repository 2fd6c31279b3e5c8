// JSON text to values, refusing what the JSON library would let pass.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "kvferry/error.hpp"

namespace kvferry {

/// Errors (invalid_configuration): a syntax error, with line and column; a field that is given twice, with its path.
expected<nlohmann::json> parse_strict_json(std::string_view text);

/// The path of a field of the object at `path`: "groups[1].name"; "name" at the top.
std::string field_path(std::string_view path, std::string_view field);

} // namespace kvferry
