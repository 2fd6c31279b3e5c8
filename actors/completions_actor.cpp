// Binds completions.
#include "actors/bound_actor.hpp"
#include "actors/completions.hpp"
#include "actors/spawn.hpp"

namespace kvferry {

actor_environment::completions_handle spawn_completions(caf_bridge::actor_system& system,
                                                        actor_environment& environment) {
  return system.spawn<bound_actor<completions, completions_messages>>(std::ref(environment),
                                                                      address{actor_kind::completions, 0});
}

void actor_environment::enqueue(const completions_handle& to, const address& from, std::uint64_t cause,
                                any_message& body) {
  caf_bridge::enqueue(completions_messages{}, to, from, cause, body);
}

} // namespace kvferry
