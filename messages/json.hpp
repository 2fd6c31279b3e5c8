// The JSON form of messages, from their listed fields. Ids are numbers (none: null), enumerations are words.
#pragma once

#include <nlohmann/json.hpp>

#include "messages/any_message.hpp"

namespace kvferry {

/// Fields stay in the order in which they are listed, so equal messages give equal bytes.
using json = nlohmann::ordered_json;

json body_json(const any_message& message);

/// Appends the text of the same.
void print_body(const any_message& message, std::string& out);

/// The message of that name with that body. Errors: invalid_argument, with what is missing or wrong.
expected<any_message> parse_message(std::string_view name, const json& body);

/// "owner_transition {...}", for people.
std::string to_string(const any_message& message);

} // namespace kvferry
