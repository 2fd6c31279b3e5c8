// docs/messages.md as the messages themselves say it: message_info and the listed fields of each.
#pragma once

#include <string>
#include <string_view>

#include "tests/messages/filled.hpp"

namespace kvferry::test {

/// A cell's text; "|" would end the cell.
inline std::string cell(std::string_view text) {
  std::string out;
  for (char c : text)
    out += c == '|' ? std::string{"or"} : std::string{c};
  return out.empty() ? "–" : out;
}

inline std::string message_row(const message_sample& kind) {
  std::string fields;
  for (std::string_view name : kind.fields)
    fields += (fields.empty() ? "`" : ", `") + std::string{name} + "`";
  return "| `" + std::string{kind.info.name} + "` | " + cell(kind.info.from) + " | " +
         std::string{to_string(kind.info.to)} + " | " + cell(kind.info.reply) + " | " + cell(kind.info.if_gone) +
         " | " + cell(fields) + " |\n";
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
  for (const message_sample& kind : message_samples())
    page += message_row(kind);
  return page;
}

} // namespace kvferry::test
