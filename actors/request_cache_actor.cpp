// Binds a request's cache.
#include "actors/bound_actor.hpp"
#include "actors/request_cache.hpp"
#include "actors/spawn.hpp"

namespace kvferry {

actor_environment::request_handle spawn_request_cache(caf_bridge::actor_system& system, actor_environment& environment,
                                                      const configuration& config, request_id id) {
  return system.spawn<bound_actor<request_cache, request_cache_messages>>(std::ref(environment), address_of(id),
                                                                          std::cref(config), id);
}

void actor_environment::enqueue(const request_handle& to, const address& from, std::uint64_t cause, any_message& body) {
  caf_bridge::enqueue(request_cache_messages{}, to, from, cause, body);
}

} // namespace kvferry
