#include "runtime/stepped_delivery.hpp"

#include "kvferry/contract.hpp"

namespace kvferry {

void stepped_delivery::hold(caf_bridge::held_message message) {
  if (strategy_ != nullptr)
    waiting_.push_back({actor_key_of(message.from), actor_key_of(message.receiver)});
  held_.push_back(std::move(message));
}

void stepped_delivery::run() {
  while (deliver(true)) {
  }
  if (strategy_ != nullptr)
    strategy_->caller_goes_on();
}

bool stepped_delivery::run_one() { return deliver(false); }

bool stepped_delivery::deliver(bool caller_may_go_on) {
  if (held_.empty())
    return false;
  const std::optional<std::size_t> chosen = choose(caller_may_go_on);
  if (!chosen)
    return false;
  const auto place = static_cast<std::ptrdiff_t>(*chosen);
  caf_bridge::held_message message = std::move(held_[*chosen]);
  held_.erase(held_.begin() + place);
  if (strategy_ != nullptr)
    waiting_.erase(waiting_.begin() + place);
  environment_.delivering = true;
  caf_bridge::deliver(std::move(message));
  environment_.delivering = false;
  scheduler_.run_jobs();
  return true;
}

/// Order is kept per sender and receiver only.
std::optional<std::size_t> stepped_delivery::choose(bool caller_may_go_on) {
  if (strategy_ != nullptr) {
    const auto chosen = strategy_->next(waiting_, caller_may_go_on);
    KVFERRY_REQUIRE(chosen || caller_may_go_on, "the caller waits for an answer and cannot go on");
    if (chosen)
      require_oldest(*chosen);
    return chosen;
  }
  if (order_ == delivery_order::fifo)
    return 0;
  const auto& any = held_[random_() % held_.size()];
  for (std::size_t i = 0; i < held_.size(); ++i)
    if (held_[i].from == any.from && held_[i].receiver == any.receiver)
      return i;
  return 0;
}

void stepped_delivery::require_oldest(std::size_t chosen) const {
  KVFERRY_REQUIRE(chosen < waiting_.size(), "message {} of {}", chosen, waiting_.size());
  KVFERRY_REQUIRE(is_oldest_of_its_ends(waiting_, chosen), "message {} from {} to {} is behind an older one of the two",
                  chosen, to_string(waiting_[chosen].from), to_string(waiting_[chosen].to));
}

} // namespace kvferry
