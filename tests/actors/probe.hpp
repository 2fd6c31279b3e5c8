// A state class alone: sends it messages and looks at what each handling sent.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "messages/any_message.hpp"
#include "tests/catch.hpp"

namespace kvferry::test {

template <class State>
struct probe {
  template <class... Args>
  explicit probe(Args&&... args) : state(std::forward<Args>(args)...) {}

  template <class Message>
  void send(const Message& message) {
    outbox out;
    state.handle(message, out);
    state.check_touched();
    sent = out.take();
  }

  /// "request_cache/7 row_joined", in order.
  std::vector<std::string> names() const {
    std::vector<std::string> list;
    for (const outgoing& each : sent)
      list.push_back(to_string(each.to) + " " + std::string{name_of(each.body)});
    return list;
  }

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

  State state;
  std::vector<outgoing> sent; ///< by the last handling
};

} // namespace kvferry::test
