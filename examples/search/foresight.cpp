#include "examples/search/foresight.hpp"

#include "examples/pages/mixing.hpp"

namespace search {

std::uint64_t foresight::key_of(const moment& at, std::size_t chosen) {
  const kvferry::actor_key to = at.waiting[chosen].to;
  std::uint64_t key = pages::mix(at.state.of_engine_moves(), at.ended);
  key = pages::mix(pages::mix(key, static_cast<std::uint64_t>(to)), at.state.of(to));
  return pages::mix(key, at.names[chosen]);
}

void foresight::begins(const moment& at, std::size_t chosen) {
  key_ = key_of(at, chosen);
  could_go_on_ = at.caller_may_go_on;
  current_.effects.clear();
  current_.answers = answer::no;
}

void foresight::told_engine(kvferry::actor_key from) {
  current_.effects.push_back({effect::kind::tells_engine, from});
  current_.answers = could_go_on_ ? answer::no : answer::unknown; // it has only one
}

void foresight::called_device(kvferry::actor_key who, kvferry::stream_id on) {
  current_.effects.push_back({effect::kind::calls_device, who, on.value()});
}

void foresight::ended(kvferry::actor_key who) { current_.effects.push_back({effect::kind::ends, who}); }

void foresight::done(std::span<const kvferry::waiting_message> sent, std::optional<bool> caller_may_go_on) {
  if (key_ == 0)
    return;
  for (const kvferry::waiting_message& each : sent)
    current_.effects.push_back({effect::kind::sends, each.from, static_cast<std::uint64_t>(each.to)});
  if (current_.answers == answer::unknown && caller_may_go_on)
    current_.answers = *caller_may_go_on ? answer::yes : answer::no;
  known_.insert_or_assign(key_, number_of(current_));
  key_ = 0;
}

std::uint32_t foresight::number_of(const handling& seen) {
  std::uint64_t hash = static_cast<std::uint64_t>(seen.answers);
  for (const effect& each : seen.effects)
    hash = pages::mix(
        pages::mix(pages::mix(hash, static_cast<std::uint64_t>(each.what)), static_cast<std::uint64_t>(each.who)),
        each.whom);
  std::vector<std::uint32_t>& alike = kinds_of_hash_[hash];
  for (std::uint32_t number : alike)
    if (kinds_[number] == seen)
      return number;
  alike.push_back(static_cast<std::uint32_t>(kinds_.size()));
  kinds_.push_back(seen);
  return alike.back();
}

bool foresight::deliver(moment& at, std::size_t chosen) const {
  const auto found = known_.find(key_of(at, chosen));
  if (found == known_.end())
    return false;
  const handling& known = kinds_[found->second];
  if (!at.caller_may_go_on && known.answers == answer::unknown)
    return false;
  at.take(chosen);
  for (const effect& each : known.effects)
    switch (each.what) {
    case effect::kind::tells_engine: at.state.told_engine(each.who); break;
    case effect::kind::calls_device:
      at.state.called_device(each.who, kvferry::stream_id{static_cast<std::uint32_t>(each.whom)});
      break;
    case effect::kind::ends: at.end(each.who); break;
    case effect::kind::sends: at.begin_to_wait({each.who, kvferry::actor_key{each.whom}}); break;
    }
  at.caller_may_go_on |= known.answers == answer::yes;
  return true;
}

} // namespace search
