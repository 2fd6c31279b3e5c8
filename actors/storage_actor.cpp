// Binds storage.
#include "actors/bound_actor.hpp"
#include "actors/spawn.hpp"
#include "actors/storage.hpp"

namespace kvferry {

actor_environment::storage_handle spawn_storage(caf::actor_system& system, actor_environment& environment,
                                                device& target) {
  return system.spawn<bound_actor<storage, storage_messages>>(std::ref(environment), address{actor_kind::storage, 0},
                                                              std::ref(target));
}

} // namespace kvferry
