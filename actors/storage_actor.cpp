// Binds storage.
#include "actors/bound_actor.hpp"
#include "actors/spawn.hpp"
#include "actors/storage.hpp"

namespace kvferry {

actor_environment::storage_handle spawn_storage(caf_bridge::actor_system& system, actor_environment& environment,
                                                device& target) {
  return system.spawn<bound_actor<storage, storage_messages>>(std::ref(environment), address{actor_kind::storage, 0},
                                                              std::ref(target));
}

void actor_environment::enqueue(const storage_handle& to, const address& from, std::uint64_t cause, any_message& body) {
  caf_bridge::enqueue(storage_messages{}, to, from, cause, body);
}

} // namespace kvferry
