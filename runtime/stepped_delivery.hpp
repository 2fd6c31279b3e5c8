// Messages on their way under `stepped`: one is delivered at a time, on the caller's thread, in an order that is a
// function of the inputs: oldest first, by seed any channel's oldest, or what a strategy says.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <random>
#include <vector>

#include "actors/actor_environment.hpp"
#include "kvferry/configuration.hpp"
#include "kvferry/delivery.hpp"

namespace kvferry {

class stepped_delivery {
public:
  /// `strategy` may be null; then the configuration decides.
  stepped_delivery(actor_environment& environment, caf_bridge::stepped_scheduler& scheduler,
                   const configuration& config, delivery_strategy* strategy)
      : environment_(environment), scheduler_(scheduler), order_(config.order), random_(config.seed),
        strategy_(strategy) {}

  void hold(caf_bridge::held_message message);

  /// Delivers until no message is left, or the strategy lets the caller go on.
  void run();

  /// Delivers one message, for a caller that cannot go on yet. False: there is none.
  bool run_one();

private:
  bool deliver(bool caller_may_go_on);
  std::optional<std::size_t> choose(bool caller_may_go_on);
  void require_oldest(std::size_t chosen) const;

  actor_environment& environment_;
  caf_bridge::stepped_scheduler& scheduler_;
  const delivery_order order_;
  std::mt19937_64 random_;
  delivery_strategy* const strategy_;
  std::deque<caf_bridge::held_message> held_;
  std::vector<waiting_message> waiting_; // the ends of `held_`, when there is a strategy
};

} // namespace kvferry
