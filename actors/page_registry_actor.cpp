// Binds the page registry, and watches requests: the long-lived actor watches the short-lived ones, never the reverse.
#include "actors/bound_actor.hpp"
#include "actors/page_registry.hpp"
#include "actors/spawn.hpp"

namespace kvferry {

namespace {

class page_registry_actor : public bound_actor<page_registry, page_registry_messages> {
public:
  page_registry_actor(caf_bridge::actor_config& actor, actor_environment& environment, const configuration& config)
      : bound_actor(actor, environment, kvferry::address{actor_kind::page_registry, 0}, config) {}

private:
  void watch(request_id request) override {
    const auto handle = environment_.find(request);
    if (!handle)
      return;
    watch_end(handle, [this, request](bool crashed) {
      if (crashed)
        tell_down(request);
    });
    // The news comes from the request, behind everything that it has sent. Called before the watcher is told.
    caf_bridge::when_ended(handle, [to = self_, from = address_of(request)](bool) {
      actor_environment::current_route() = {from, to};
    });
  }

  void tell_down(request_id request) {
    envelope<request_down> down{address_of(request), 0, {request}};
    receive(down);
  }
};

} // namespace

actor_environment::registry_handle spawn_page_registry(caf_bridge::actor_system& system, actor_environment& environment,
                                                       const configuration& config) {
  return system.spawn<page_registry_actor>(std::ref(environment), config);
}

void actor_environment::enqueue(const registry_handle& to, const address& from, std::uint64_t cause,
                                any_message& body) {
  caf_bridge::enqueue(page_registry_messages{}, to, from, cause, body);
}

} // namespace kvferry
