// Who a message is from and to, as logical names that mean the same in every run.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kvferry/delivery.hpp"
#include "kvferry/ids.hpp"
#include "messages/fields.hpp"

namespace kvferry {

enum class actor_kind : std::uint8_t {
  engine, ///< the engine-facing API; not an actor
  page_registry,
  storage,
  request_cache,   ///< one per request
  batch_publisher, ///< one per batch
  completions,
  device, ///< in traces alone: what actors call; not an actor
};

constexpr std::string_view to_string(actor_kind kind) {
  switch (kind) {
  case actor_kind::engine: return "engine";
  case actor_kind::page_registry: return "page_registry";
  case actor_kind::storage: return "storage";
  case actor_kind::request_cache: return "request_cache";
  case actor_kind::batch_publisher: return "batch_publisher";
  case actor_kind::completions: return "completions";
  case actor_kind::device: return "device";
  }
  return "?";
}

struct address {
  actor_kind kind = actor_kind::engine;
  std::uint64_t number = 0; ///< of the request or batch

  friend auto operator<=>(const address&, const address&) = default;
  KVFERRY_FIELDS(address, kind, number)
};

/// The same as callers see it; `address_of` is its inverse.
constexpr actor_key actor_key_of(const address& who) {
  return actor_key{static_cast<std::uint64_t>(who.kind) << 56 | who.number};
}
constexpr address address_of(actor_key key) {
  const auto bits = static_cast<std::uint64_t>(key);
  return {static_cast<actor_kind>(bits >> 56), bits & ((std::uint64_t{1} << 56) - 1)};
}

inline address address_of(request_id id) { return {actor_kind::request_cache, id.value()}; }
inline address address_of(batch_id id) { return {actor_kind::batch_publisher, id.value()}; }

/// "page_registry", "request_cache/7".
std::string to_string(const address& who);

/// The address of that name; none: there is no such name.
std::optional<address> parse_address(std::string_view name);

/// What docs/messages.md says of a message; part of each message struct.
struct message_info {
  std::string_view name;
  std::string_view from; ///< senders, separated by ", "
  actor_kind to;
  std::string_view reply;   ///< messages that answer it, "" when nothing does
  std::string_view if_gone; ///< what happens when the receiver has ended
};

/// A message on its way. `cause` is the number of the handling that sent it, 0 for the engine's own.
template <class Message>
struct envelope {
  address from;
  std::uint64_t cause = 0;
  Message body;
  KVFERRY_FIELDS(envelope, from, cause, body)
};

} // namespace kvferry
