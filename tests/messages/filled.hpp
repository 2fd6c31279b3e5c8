// Messages with every field set to something that no default is, made from their listed fields alone.
#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "messages/any_message.hpp"

namespace kvferry::test {

/// Gives each value it meets another content.
class filler {
public:
  template <class T>
  void fill(T& value) {
    if constexpr (described<T>)
      for_each_field(value, [&](std::string_view, auto& member) { fill(member); });
    else if constexpr (std::is_same_v<T, bool>)
      value = !value;
    else if constexpr (std::is_enum_v<T>)
      value = static_cast<T>(value == static_cast<T>(1) ? 0 : 1); // the first two values of each are named
    else if constexpr (std::is_same_v<T, std::uint64_t>)
      value = ~next(); // as large as until_gone
    else
      value = static_cast<T>(next());
  }

  template <class Tag, class Rep>
  void fill(strong_id<Tag, Rep>& id) {
    id = strong_id<Tag, Rep>{static_cast<Rep>(next())};
  }

  void fill(std::string& text) { text = "\"text\" " + std::to_string(next()); }

  void fill(fence& f) { f = {stream_id{static_cast<std::uint32_t>(next())}, next()}; }

  void fill(fence_set& fences) {
    for (int i = 0; i < 2; ++i) {
      fence f;
      fill(f);
      fences.add(f);
    }
  }

  void fill(shortage& s) {
    fill(s.group);
    fill(s.on);
    for (std::uint32_t* count : {&s.needed, &s.free, &s.in_copy, &s.fenced, &s.unpublished, &s.held})
      fill(*count);
  }

  template <class T>
  void fill(std::optional<T>& maybe) {
    fill(maybe.emplace());
  }

  template <class T>
  void fill(std::vector<T>& list) {
    for (int i = 0; i < 2; ++i)
      fill(list.emplace_back());
  }

private:
  std::uint64_t next() { return last_ = last_ % 200 + 1; } // fits the smallest number

  std::uint64_t last_ = 0;
};

template <class Message>
Message filled() {
  Message message;
  filler{}.fill(message);
  return message;
}

/// Calls `function(message, blank)` with a filled and a default message of each kind.
template <class Function>
void for_each_message(Function function) {
  [&]<class... Messages>(message_list<Messages...>) {
    (function(filled<Messages>(), Messages{}), ...);
  }(all_messages{});
}

} // namespace kvferry::test
