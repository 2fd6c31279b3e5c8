#include "examples/search/moment.hpp"

#include "examples/pages/mixing.hpp"

namespace search {

std::uint64_t moment::value() const {
  std::uint64_t value = state.value();
  for (std::uint64_t name : names)
    value = pages::mix(value, name);
  return value;
}

void moment::begin_to_wait(const kvferry::waiting_message& sent) {
  names.push_back(state.sent(sent.from));
  waiting.push_back(sent);
  if (kvferry::is_publisher(sent.to))
    sent_to_publishers += pages::mix(0, static_cast<std::uint64_t>(sent.to));
}

void moment::engine_goes_on() {
  state.engine_did(sent_to_publishers);
  state.engine_goes_on();
}

void moment::find_heads(std::vector<std::size_t>& heads) const {
  heads.clear();
  for (std::size_t i = 0; i < waiting.size(); ++i)
    if (kvferry::is_oldest_of_its_ends(waiting, i))
      heads.push_back(i);
}

void moment::end(kvferry::actor_key who) { ended += pages::mix(0, static_cast<std::uint64_t>(who)); }

void moment::take(std::size_t chosen) {
  state.delivered(names[chosen], waiting[chosen].to);
  names.erase(names.begin() + static_cast<std::ptrdiff_t>(chosen));
  waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(chosen));
}

} // namespace search
