// docs/messages.md as the messages themselves say it: message_info and the listed fields of each.
#pragma once

#include <string>
#include <string_view>

#include "messages/any_message.hpp"

namespace kvferry::test {

/// A cell's text; "|" would end the cell.
inline std::string cell(std::string_view text) {
  std::string out;
  for (char c : text)
    out += c == '|' ? std::string{"or"} : std::string{c};
  return out.empty() ? "–" : out;
}

template <class Message>
std::string message_row() {
  std::string fields;
  std::apply([&](const auto&... f) { ((fields += (fields.empty() ? "`" : ", `") + std::string{f.name} + "`"), ...); },
             Message::fields());
  return "| `" + std::string{Message::info.name} + "` | " + cell(Message::info.from) + " | " +
         std::string{to_string(Message::info.to)} + " | " + cell(Message::info.reply) + " | " +
         cell(Message::info.if_gone) + " | " + cell(fields) + " |\n";
}

/// The whole page.
inline std::string message_table() {
  std::string page =
      "# Messages\n"
      "\n"
      "What actors say to each other and to the engine-facing API (`engine`). Generated from `messages/*.hpp`, where "
      "each\n"
      "message and each field is explained; a test compares. After a change there: `KVFERRY_UPDATE_DOCS=1` before\n"
      "`build/dev/bin/test_messages`.\n"
      "\n"
      "| message | sender | receiver | reply | if the receiver is gone | fields |\n"
      "| --- | --- | --- | --- | --- | --- |\n";
  [&]<class... Messages>(message_list<Messages...>) { ((page += message_row<Messages>()), ...); }(all_messages{});
  return page;
}

} // namespace kvferry::test
