// Makes the actors. Each is a plain state class and the binding in its *_actor.cpp; `environment` and `target` outlive
// them.
#pragma once

#include "actors/actor_environment.hpp"
#include "device/device.hpp"
#include "kvferry/configuration.hpp"

namespace kvferry {

actor_environment::registry_handle spawn_page_registry(caf_bridge::actor_system& system, actor_environment& environment,
                                                       const configuration& config);

actor_environment::storage_handle spawn_storage(caf_bridge::actor_system& system, actor_environment& environment,
                                                device& target);

actor_environment::completions_handle spawn_completions(caf_bridge::actor_system& system,
                                                        actor_environment& environment);

actor_environment::request_handle spawn_request_cache(caf_bridge::actor_system& system, actor_environment& environment,
                                                      const configuration& config, request_id id);

actor_environment::publisher_handle spawn_batch_publisher(caf_bridge::actor_system& system,
                                                          actor_environment& environment, const configuration& config,
                                                          const batch_config& batch, batch_id id, device& target,
                                                          device_memory& tables);

} // namespace kvferry
