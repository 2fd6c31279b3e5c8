// A message on its way as text and back, without its type: `body` points to a message of the kind that `index` numbers
// in all_messages. For the binding to the actor library, which includes no JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "messages/address.hpp"

namespace kvferry {

std::string envelope_text(const address& from, std::uint64_t cause, std::size_t index, const void* body);

/// False: the text is not such a message; `body` is then unspecified.
bool parse_envelope(const std::string& text, address& from, std::uint64_t& cause, std::size_t index, void* body);

} // namespace kvferry
