// Binds a batch's publisher.
#include "actors/batch_publisher.hpp"
#include "actors/bound_actor.hpp"
#include "actors/spawn.hpp"

namespace kvferry {

actor_environment::publisher_handle spawn_batch_publisher(caf_bridge::actor_system& system,
                                                          actor_environment& environment, const configuration& config,
                                                          const batch_config& batch, batch_id id, device& target,
                                                          device_memory& tables) {
  return system.spawn<bound_actor<batch_publisher, batch_publisher_messages>>(std::ref(environment), address_of(id), id,
                                                                              config.groups.size(), std::cref(batch),
                                                                              std::ref(target), std::ref(tables));
}

void actor_environment::enqueue(const publisher_handle& to, const address& from, std::uint64_t cause,
                                any_message& body) {
  caf_bridge::enqueue(batch_publisher_messages{}, to, from, cause, body);
}

} // namespace kvferry
