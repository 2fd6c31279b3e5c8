// The calls of a router outside, through the engine that hosts it (kvferry/router_events.hpp).
#include "runtime/runtime_impl.hpp"

namespace kvferry {

expected<void> runtime_impl::require_router_events() const {
  if (config.router_events_max == 0)
    return fail(error_code::invalid_configuration, "router_events_max is 0, but must be at least 1 for this call");
  return require_running();
}

expected<router_news> runtime_impl::take_router_events() {
  if (auto told = require_router_events(); !told)
    return tl::unexpected<error>{told.error()};
  settle_arrivals();
  if (router_events_.has_lost())
    return list_router_events();
  return router_news{false, 0, router_events_.take()};
}

expected<router_news> runtime_impl::list_router_events() {
  if (auto told = require_router_events(); !told)
    return tl::unexpected<error>{told.error()};
  settle_arrivals();
  const std::uint64_t lost = router_events_.begin_listing();
  auto listing = wait_for<index_told>(call(request_id::none(), query_index{}));
  if (!listing)
    return tl::unexpected<error>{listing.error()};
  return router_news{true, lost, router_events_.take(*listing)};
}

} // namespace kvferry
