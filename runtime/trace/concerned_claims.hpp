// Which requests a handling of the registry may have changed something for: those that its message and what it sent
// name.
#pragma once

#include <vector>

#include "messages/any_message.hpp"

namespace kvferry {

inline std::vector<request_id> requests_of(const any_message& message, const std::vector<outgoing>& sent) {
  std::vector<request_id> requests;
  message.visit([&](const auto& body) {
    if constexpr (requires { request_id{body.request}; })
      requests.push_back(body.request);
  });
  for (const outgoing& each : sent)
    if (each.to.kind == actor_kind::request_cache)
      requests.push_back(request_id{each.to.number});
  return requests;
}

} // namespace kvferry
