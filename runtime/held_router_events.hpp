// Events for routers outside between the registry, which tells of them, and the engine, which takes them. Part of the
// runtime.
//
// It holds so many at most. When there are more it lets go of all: a router that missed some cannot go on with the
// rest, and a listing of what is there makes up for both.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "kvferry/router_events.hpp"
#include "messages/engine_messages.hpp"

namespace kvferry {

class held_router_events {
public:
  explicit held_router_events(std::size_t at_most) : at_most_(at_most) {}

  void add(const index_changed& message) {
    if (lost_ > 0 || held_.size() + message.events.size() > at_most_) {
      lost_ += std::exchange(held_, {}).size() + message.events.size();
      return;
    }
    std::uint64_t number = message.first;
    for (const index_event& e : message.events)
      held_.push_back(event_of(e, number++));
  }

  /// Only a listing can go on from here.
  bool has_lost() const { return lost_ > 0; }

  std::vector<router_event> take() { return std::exchange(held_, {}); }

  /// A listing is asked for next, which has all that is held, or was lost. Returns how many were.
  std::uint64_t begin_listing() {
    held_.clear();
    return std::exchange(lost_, 0);
  }

  /// The listing, and what was told behind it.
  std::vector<router_event> take(const index_told& listing) {
    std::vector<router_event> events;
    for (const index_event& e : listing.events)
      events.push_back(event_of(e, listing.last));
    for (router_event& e : std::exchange(held_, {}))
      if (e.number > listing.last)
        events.push_back(std::move(e));
    return events;
  }

private:
  static router_event event_of(const index_event& e, std::uint64_t number) {
    return {number,
            static_cast<router_event::change>(e.what),
            e.block,
            e.group,
            e.on,
            e.hash,
            e.parent,
            e.tokens,
            {e.adapter, e.salt}};
  }

  const std::size_t at_most_;
  std::vector<router_event> held_;
  std::uint64_t lost_ = 0; // since a listing was asked for
};

} // namespace kvferry
