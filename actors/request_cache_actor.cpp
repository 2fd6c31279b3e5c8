// Binds a request's cache.
#include "actors/bound_actor.hpp"
#include "actors/request_cache.hpp"
#include "actors/spawn.hpp"

namespace kvferry {

actor_environment::request_handle spawn_request_cache(caf::actor_system& system, actor_environment& environment,
                                                      const configuration& config, request_id id) {
  return system.spawn<bound_actor<request_cache, request_cache_messages>>(std::ref(environment), address_of(id),
                                                                          std::cref(config), id);
}

} // namespace kvferry
