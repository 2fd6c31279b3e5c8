#include "messages/json.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "messages/compact.hpp"
#include "messages/envelope_text.hpp"
#include "messages/json_value.hpp"
#include "messages/message_kind.hpp"

namespace kvferry {

namespace {

template <class Message>
const Message& as(const void* body) {
  return *static_cast<const Message*>(body);
}

template <class Message>
message_kind kind_of() {
  return {Message::info.name,
          [](const void* body, std::byte* to, std::size_t room) { return compact::write(as<Message>(body), to, room); },
          [](const std::byte* from, void* body) { compact::value<Message>::read(from, *static_cast<Message*>(body)); },
          [] { return any_message{Message{}}; }, json_value::codec_of<Message>()};
}

} // namespace

void message_kind::print(const void* body, std::string& out) const { codec.print(body, out); }

std::span<const message_kind> message_kinds() {
  static const auto kinds = []<class... Messages>(message_list<Messages...>) {
    return std::array{kind_of<Messages>()...};
  }(recorded_messages{});
  return kinds;
}

std::string to_string(const address& who) {
  if (who.kind == actor_kind::request_cache || who.kind == actor_kind::batch_publisher)
    return fmt::format("{}/{}", to_string(who.kind), who.number);
  return std::string{to_string(who.kind)};
}

std::string to_string(actor_key who) { return to_string(address_of(who)); }

bool is_publisher(actor_key who) { return address_of(who).kind == actor_kind::batch_publisher; }

std::optional<actor_key> actor_named(std::string_view name) {
  const auto found = parse_address(name);
  return found ? std::optional{actor_key_of(*found)} : std::nullopt;
}

std::optional<address> parse_address(std::string_view name) {
  const std::size_t slash = name.find('/');
  address found;
  bool known = false;
  for (unsigned kind = 0; to_string(static_cast<actor_kind>(kind)) != "?"; ++kind)
    if (to_string(static_cast<actor_kind>(kind)) == name.substr(0, slash)) {
      found.kind = static_cast<actor_kind>(kind);
      known = true;
    }
  const bool numbered = found.kind == actor_kind::request_cache || found.kind == actor_kind::batch_publisher;
  if (!known || numbered != (slash != name.npos))
    return std::nullopt;
  if (numbered) {
    const std::string_view digits = name.substr(slash + 1);
    auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), found.number);
    if (wrong != std::errc{} || end != digits.data() + digits.size() || digits.empty())
      return std::nullopt;
  }
  return found;
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

json body_json(const any_message& message) { return message_kinds()[message.index()].codec.write(message.body()); }

expected<any_message> parse_message(std::string_view name, const json& body) {
  const auto kind = std::ranges::find(message_kinds(), name, &message_kind::name);
  if (kind == message_kinds().end())
    return fail(error_code::invalid_argument, fmt::format("no message is called \"{}\"", name));
  try {
    any_message message = kind->blank();
    kind->codec.read(body, message.body());
    return message;
  } catch (const std::exception& wrong) {
    return fail(error_code::invalid_argument, fmt::format("{}: {}", name, wrong.what()));
  }
}

void print_body(const any_message& message, std::string& out) {
  message_kinds()[message.index()].print(message.body(), out);
}

std::string envelope_text(const address& from, std::uint64_t cause, std::size_t index, const void* body) {
  return json{{"from", json_value::write(from)}, {"cause", cause}, {"body", message_kinds()[index].codec.write(body)}}
      .dump();
}

bool parse_envelope(const std::string& text, address& from, std::uint64_t& cause, std::size_t index, void* body) {
  try {
    const json parsed = json::parse(text);
    json_value::read(parsed.at("from"), from);
    json_value::read(parsed.at("cause"), cause);
    message_kinds()[index].codec.read(parsed.at("body"), body);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

std::string to_string(const any_message& message) {
  return fmt::format("{} {}", name_of(message), body_json(message).dump());
}

} // namespace kvferry
