#include "runtime/stepped_delivery.hpp"

namespace kvferry {

void stepped_delivery::run() {
  while (!held_.empty()) {
    const std::size_t chosen = choose();
    caf_bridge::held_message message = std::move(held_[chosen]);
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(chosen));
    environment_.delivering = true;
    caf_bridge::deliver(std::move(message));
    environment_.delivering = false;
    scheduler_.run_jobs();
  }
}

/// Order is kept per sender and receiver only.
std::size_t stepped_delivery::choose() {
  if (order_ == delivery_order::fifo)
    return 0;
  const auto& any = held_[random_() % held_.size()];
  for (std::size_t i = 0; i < held_.size(); ++i)
    if (held_[i].from == any.from && held_[i].receiver == any.receiver)
      return i;
  return 0;
}

} // namespace kvferry
