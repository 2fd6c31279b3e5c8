#include "messages/json.hpp"

#include <fmt/format.h>

#include "messages/envelope_text.hpp"
#include "messages/json_value.hpp"

namespace kvferry {

std::string to_string(const address& who) {
  if (who.kind == actor_kind::request_cache || who.kind == actor_kind::batch_publisher)
    return fmt::format("{}/{}", to_string(who.kind), who.number);
  return std::string{to_string(who.kind)};
}

std::string_view name_of(const any_message& message) {
  std::string_view name;
  message.visit([&](const auto& body) { name = body.info.name; });
  return name;
}

call_id call_of(const any_message& message) {
  call_id call;
  message.visit([&](const auto& body) {
    if constexpr (requires { body.call; })
      call = body.call;
  });
  return call;
}

json body_json(const any_message& message) {
  json out;
  message.visit([&](const auto& body) { out = json_value::write(body); });
  return out;
}

namespace {

/// Calls `function` with the body as the message of that kind.
template <class Function, class... Messages>
void with_kind(std::size_t index, message_list<Messages...>, Function function) {
  ((message_index<Messages> == index ? function(static_cast<Messages*>(nullptr)) : void()), ...);
}

} // namespace

expected<any_message> parse_message(std::string_view name, const json& body) {
  expected<any_message> parsed = fail(error_code::invalid_argument, fmt::format("no message is called \"{}\"", name));
  auto parse = [&]<class Message>(Message*) {
    if (Message::info.name != name)
      return;
    try {
      Message message;
      json_value::read(body, message);
      parsed = any_message{std::move(message)};
    } catch (const std::exception& wrong) {
      parsed = fail(error_code::invalid_argument, fmt::format("{}: {}", name, wrong.what()));
    }
  };
  [&]<class... Messages>(message_list<Messages...>) { (parse(static_cast<Messages*>(nullptr)), ...); }(all_messages{});
  return parsed;
}

std::string envelope_text(const address& from, std::uint64_t cause, std::size_t index, const void* body) {
  json text{{"from", json_value::write(from)}, {"cause", cause}};
  with_kind(index, all_messages{},
            [&]<class Message>(Message*) { text["body"] = json_value::write(*static_cast<const Message*>(body)); });
  return text.dump();
}

bool parse_envelope(const std::string& text, address& from, std::uint64_t& cause, std::size_t index, void* body) {
  try {
    const json parsed = json::parse(text);
    json_value::read(parsed.at("from"), from);
    cause = parsed.at("cause").get<std::uint64_t>();
    with_kind(index, all_messages{},
              [&]<class Message>(Message*) { json_value::read(parsed.at("body"), *static_cast<Message*>(body)); });
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

std::string to_string(const any_message& message) {
  return fmt::format("{} {}", name_of(message), body_json(message).dump());
}

} // namespace kvferry
