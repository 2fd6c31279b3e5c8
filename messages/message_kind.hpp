// What can be done with a message or event of a trace whose type is known by its number alone. For the recorder, which
// keeps bodies of all kinds as bytes (messages/compact.hpp), and for the JSON form.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "messages/any_message.hpp"

namespace kvferry {

namespace json_value {
struct codec;
}

struct message_kind {
  std::string_view name;
  std::size_t (*write)(const void* body, std::byte* to, std::size_t room); ///< bytes; more than `room`: wrote nothing
  void (*read)(const std::byte* from, void* body);                         ///< what was written in this process
  any_message (*blank)();
  const json_value::codec& codec;

  /// Appends the body's JSON text.
  void print(const void* body, std::string& out) const;
};

/// At a message's index; all of recorded_messages.
std::span<const message_kind> message_kinds();

} // namespace kvferry
