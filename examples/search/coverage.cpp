#include "examples/search/coverage.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace search {
namespace {

constexpr std::uint32_t message_bits = 16;
constexpr std::uint64_t message_mask = (1 << message_bits) - 1;

/// Actors of a kind, whatever their numbers.
std::string kind_of(const std::string& actor) { return actor.substr(0, actor.find('/')); }

} // namespace

std::uint32_t coverage::number_of(std::string_view message) {
  for (std::uint32_t i = 0; i < messages_.size(); ++i)
    if (messages_[i].data() == message.data())
      return i;
  messages_.push_back(message);
  return static_cast<std::uint32_t>(messages_.size() - 1);
}

void coverage::handled(kvferry::actor_key who, std::string_view message) {
  const std::uint32_t number = number_of(message);
  for (last_message& last : last_)
    if (last.who == who) {
      const std::uint64_t kind = static_cast<std::uint64_t>(who) >> 56;
      pairs_.insert((kind << message_bits | last.message) << message_bits | number);
      last.message = number;
      return;
    }
  last_.push_back({who, number});
}

std::vector<std::string> coverage::names() const {
  std::vector<std::string> names;
  for (std::uint64_t pair : pairs_) {
    const auto kind = kvferry::actor_key{pair >> 2 * message_bits << 56};
    names.push_back(fmt::format("{}: {}, {}", kind_of(to_string(kind)), messages_[pair >> message_bits & message_mask],
                                messages_[pair & message_mask]));
  }
  std::ranges::sort(names);
  return names;
}

} // namespace search
