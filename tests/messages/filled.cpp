#include "tests/messages/filled.hpp"

#include <optional>
#include <string>
#include <type_traits>

namespace kvferry::test {

namespace {

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
    fill(s.batches);
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
message_sample sample_of() {
  std::vector<std::string_view> names;
  std::apply([&](const auto&... f) { (names.push_back(f.name), ...); }, Message::fields());
  return {Message::info, std::move(names),
          [] {
            Message message;
            filler{}.fill(message);
            return any_message{std::move(message)};
          },
          [] { return any_message{Message{}}; }};
}

template <class... Messages>
std::vector<message_sample> samples_of(message_list<Messages...>) {
  return {sample_of<Messages>()...};
}

} // namespace

const std::vector<message_sample>& message_samples() {
  static const auto samples = samples_of(all_messages{});
  return samples;
}

} // namespace kvferry::test
