// A state class alone: sends it messages and looks at what each handling sent.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/actors/sent.hpp"

namespace kvferry::test {

template <class State>
struct probe : sent_messages {
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

  State state;
};

} // namespace kvferry::test
