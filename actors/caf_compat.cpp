// Makes the actor system, and tells the library of our messages: its code for serialising them is made here alone.
#include "actors/caf_compat.hpp"

#if CAF_MAJOR_VERSION >= 1
#include <memory>

#include <caf/action.hpp>
#include <caf/actor_clock.hpp>
#include <caf/detail/actor_system_access.hpp>
#include <caf/disposable.hpp>
#include <caf/init_global_meta_objects.hpp>
#include <caf/span.hpp>
#endif

namespace kvferry::caf_bridge {

#if CAF_MAJOR_VERSION >= 1
namespace {

/// All that all_messages begins with: what the actors take.
using actor_messages = concatenated<page_registry_messages, storage_messages, completions_messages,
                                    request_cache_messages, batch_publisher_messages>::type;

template <class First, class... Rest>
void make_known(message_list<First, Rest...>) {
  static_assert(message_index<First> == 0);
  const caf::detail::meta_object known[] = {
      caf::detail::make_meta_object<envelope<First>>(caf::type_name_v<envelope<First>>),
      caf::detail::make_meta_object<envelope<Rest>>(caf::type_name_v<envelope<Rest>>)...};
  caf::core::init_global_meta_objects();
  caf::detail::set_global_meta_objects(caf::type_id_v<envelope<First>>, caf::make_span(known));
}

/// Before main(), since no actor system may be there yet, also none of the engine's own.
const known_messages at_load;

/// Time stands still under `stepped`, where nobody sets a timer.
class stopped_clock : public caf::actor_clock {
public:
  time_point now() const noexcept override { return time_point{duration_type{1}}; }

  caf::disposable schedule(time_point, caf::action function) override { return std::move(function).as_disposable(); }
};

void set_up_stepped(caf::actor_system& system, caf::actor_system_config&, void*) {
  caf::detail::actor_system_access parts{system};
  parts.clock(std::make_unique<stopped_clock>());
  parts.scheduler(std::make_unique<stepped_scheduler>());
}

} // namespace

known_messages::known_messages() {
  static const bool once = (make_known(actor_messages{}), true);
  static_cast<void>(once);
}

system_config::system_config(const configuration& config) : stepped(config.scheduler == scheduler_kind::stepped) {
  set("caf.scheduler.policy", "sharing"); // the stealing one burns a core while idle
  set("caf.scheduler.max-threads", config.worker_threads);
}

actor_system::actor_system(system_config& config)
    : caf::actor_system(config, config.stepped ? &set_up_stepped : nullptr, nullptr) {}
#else
known_messages::known_messages() = default;

system_config::system_config(const configuration& config) : stepped(config.scheduler == scheduler_kind::stepped) {
  set("logger.verbosity", caf::atom("quiet"));
  if (stepped) {
    load<stepped_scheduler>();
  } else {
    set("scheduler.policy", caf::atom("sharing")); // the stealing one burns a core while idle
    set("scheduler.max-threads", config.worker_threads);
  }
}

actor_system::actor_system(system_config& config) : caf::actor_system(config) {}
#endif

stepped_scheduler& actor_system::stepped() { return dynamic_cast<stepped_scheduler&>(scheduler()); }

} // namespace kvferry::caf_bridge
