// Binds the page registry, and watches requests: the long-lived actor watches the short-lived ones, never the reverse.
#include <unordered_map>

#include "actors/bound_actor.hpp"
#include "actors/page_registry.hpp"
#include "actors/spawn.hpp"

namespace kvferry {

namespace {

class page_registry_actor : public bound_actor<page_registry, page_registry_messages> {
public:
  page_registry_actor(caf::actor_config& actor, actor_environment& environment, const configuration& config)
      : bound_actor(actor, environment, kvferry::address{actor_kind::page_registry, 0}, config) {
    set_down_handler([this](caf::down_msg& down) {
      auto watched = watched_.find(down.source);
      if (watched == watched_.end())
        return;
      request_id request = watched->second;
      watched_.erase(watched);
      if (down.reason && down.reason != caf::exit_reason::normal && down.reason != caf::exit_reason::user_shutdown)
        tell_down(request);
    });
  }

private:
  void tell_down(request_id request) {
    envelope<request_down> down{address_of(request), 0, {request}};
    receive(down);
  }

  void watch(request_id request) override {
    if (auto handle = environment_.find(request)) {
      watched_.emplace(caf::actor_cast<caf::actor_addr>(handle), request);
      monitor(handle);
    }
  }

  std::unordered_map<caf::actor_addr, request_id> watched_;
};

} // namespace

actor_environment::registry_handle spawn_page_registry(caf::actor_system& system, actor_environment& environment,
                                                       const configuration& config) {
  return system.spawn<page_registry_actor>(std::ref(environment), config);
}

void actor_environment::enqueue(const registry_handle& to, const address& from, std::uint64_t cause,
                                any_message& body) {
  caf_bridge::enqueue(to, from, cause, body);
}

} // namespace kvferry
