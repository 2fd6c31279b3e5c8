// Messages on their way under `stepped`: one is delivered at a time, on the caller's thread, in an order that is a
// function of the inputs: oldest first, or by seed any channel's oldest.
#pragma once

#include <cstddef>
#include <deque>
#include <random>

#include "actors/actor_environment.hpp"
#include "kvferry/configuration.hpp"

namespace kvferry {

class stepped_delivery {
public:
  stepped_delivery(actor_environment& environment, caf_bridge::stepped_scheduler& scheduler, delivery_order order,
                   std::uint64_t seed)
      : environment_(environment), scheduler_(scheduler), order_(order), random_(seed) {}

  void hold(caf_bridge::held_message message) { held_.push_back(std::move(message)); }

  /// Delivers until no message is left.
  void run();

private:
  std::size_t choose();

  actor_environment& environment_;
  caf_bridge::stepped_scheduler& scheduler_;
  delivery_order order_;
  std::mt19937_64 random_;
  std::deque<caf_bridge::held_message> held_;
};

} // namespace kvferry
