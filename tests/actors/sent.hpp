// What a handling has sent, for tests that look at it by kind.
#pragma once

#include <algorithm>
#include <vector>

#include "messages/any_message.hpp"
#include "tests/catch.hpp"

namespace kvferry::test {

struct sent_messages {
  template <class Message>
  std::size_t count() const {
    return static_cast<std::size_t>(std::count_if(sent.begin(), sent.end(), [](const outgoing& each) {
      return each.body.template get_if<Message>() != nullptr;
    }));
  }

  /// The one message of its kind among what the last handling sent.
  template <class Message>
  Message only() const {
    INFO(Message::info.name);
    REQUIRE(count<Message>() == 1);
    for (const outgoing& each : sent)
      if (auto* body = each.body.template get_if<Message>())
        return *body;
    return {};
  }

  std::vector<outgoing> sent; ///< by the last handling
};

} // namespace kvferry::test
