#include "messages/json.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "messages/envelope_text.hpp"
#include "messages/json_value.hpp"

namespace kvferry {

namespace {

/// All that is known of one kind of message; at its index.
struct message_kind {
  std::string_view name;
  const json_value::codec& body;
  any_message (*blank)();
};

std::span<const message_kind> message_kinds() {
  static const auto kinds = []<class... Messages>(message_list<Messages...>) {
    return std::array{
        message_kind{Messages::info.name, json_value::codec_of<Messages>(), [] { return any_message{Messages{}}; }}...};
  }(all_messages{});
  return kinds;
}

} // namespace

std::string to_string(const address& who) {
  if (who.kind == actor_kind::request_cache || who.kind == actor_kind::batch_publisher)
    return fmt::format("{}/{}", to_string(who.kind), who.number);
  return std::string{to_string(who.kind)};
}

std::string_view name_of(const any_message& message) { return message_kinds()[message.index()].name; }

call_id call_of(const any_message& message) {
  call_id call;
  message.visit([&](const auto& body) {
    if constexpr (requires { body.call; })
      call = body.call;
  });
  return call;
}

json body_json(const any_message& message) { return message_kinds()[message.index()].body.write(message.body()); }

expected<any_message> parse_message(std::string_view name, const json& body) {
  const auto kind = std::ranges::find(message_kinds(), name, &message_kind::name);
  if (kind == message_kinds().end())
    return fail(error_code::invalid_argument, fmt::format("no message is called \"{}\"", name));
  try {
    any_message message = kind->blank();
    kind->body.read(body, message.body());
    return message;
  } catch (const std::exception& wrong) {
    return fail(error_code::invalid_argument, fmt::format("{}: {}", name, wrong.what()));
  }
}

std::string envelope_text(const address& from, std::uint64_t cause, std::size_t index, const void* body) {
  return json{{"from", json_value::write(from)}, {"cause", cause}, {"body", message_kinds()[index].body.write(body)}}
      .dump();
}

bool parse_envelope(const std::string& text, address& from, std::uint64_t& cause, std::size_t index, void* body) {
  try {
    const json parsed = json::parse(text);
    json_value::read(parsed.at("from"), from);
    json_value::read(parsed.at("cause"), cause);
    message_kinds()[index].body.read(parsed.at("body"), body);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

std::string to_string(const any_message& message) {
  return fmt::format("{} {}", name_of(message), body_json(message).dump());
}

} // namespace kvferry
