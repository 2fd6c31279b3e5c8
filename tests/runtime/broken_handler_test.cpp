// What an exception in a handler does: it ends that actor, and whoever watches it is told. With the real page registry,
// and a request whose handlers throw.
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stdexcept>

#include "actors/bound_actor.hpp"
#include "actors/spawn.hpp"
#include "runtime/stepped_delivery.hpp"
#include "tests/device/rig.hpp"
#include "tests/runtime/runtime_rig.hpp"

namespace kvferry::test {

namespace {

struct throwing_request {
  template <class Message>
  void handle(const Message&, outbox&) {
    throw std::runtime_error("planted");
  }
  void check_touched() const {}
};

using throwing_actor = bound_actor<throwing_request, request_cache_messages>;

struct actors_rig {
  explicit actors_rig(scheduler_kind scheduler) : config(config_of({group_of({8}, 16, 16)})) {
    config.scheduler = scheduler;
    settings = std::make_unique<caf_bridge::system_config>(config);
    system = std::make_unique<caf_bridge::actor_system>(*settings);
    environment = std::make_unique<actor_environment>();
    environment->to_engine = [this](address, std::uint64_t, any_message body) {
      std::unique_lock lock{guard};
      told.push_back(std::move(body));
      changed.notify_all();
    };
    if (scheduler == scheduler_kind::stepped) {
      stepped = std::make_unique<stepped_delivery>(*environment, system->stepped(), config, nullptr);
      environment->hold = [this](caf_bridge::held_message message) { stepped->hold(std::move(message)); };
    }
    environment->registry = spawn_page_registry(*system, *environment, config);
  }

  ~actors_rig() {
    environment->stop_all();
    run();
    system->await_all_actors_done();
    environment->clear();
  }

  template <class Message>
  void post(const address& to, Message message) {
    environment->post({actor_kind::engine, 0}, 0, {to, any_message{std::move(message)}});
    run();
  }

  void run() {
    if (stepped)
      stepped->run();
  }

  /// The engine has got one; under `threaded` it waits for it, and ctest's time limit is the watchdog.
  template <class Message>
  bool was_told() {
    const auto is_there = [&] {
      return std::ranges::any_of(told, [](const any_message& m) { return m.get_if<Message>() != nullptr; });
    };
    std::unique_lock lock{guard};
    if (!stepped)
      changed.wait(lock, is_there);
    return is_there();
  }

  configuration config;
  std::unique_ptr<caf_bridge::system_config> settings;
  std::unique_ptr<caf_bridge::actor_system> system;
  std::mutex guard;
  std::condition_variable changed;
  std::vector<any_message> told;
  std::unique_ptr<actor_environment> environment;
  std::unique_ptr<stepped_delivery> stepped;
};

} // namespace

TEST_CASE("an exception in a request's handler ends that request alone, and the engine is told") {
  actors_rig r(GENERATE(from_range(schedulers())));
  const request_id broken{1};
  r.environment->add(broken, r.system->spawn<throwing_actor>(std::ref(*r.environment), address_of(broken)));
  r.post(address{actor_kind::page_registry, 0}, register_request{broken});
  REQUIRE(r.was_told<request_registered>());
  r.post(address_of(broken), drop_request{});
  REQUIRE(r.was_told<request_lost>());
  r.post(address_of(broken), drop_request{}); // nobody takes it, and nothing waits for it
  r.post(address{actor_kind::page_registry, 0}, query_counters{});
  REQUIRE(r.was_told<counters_told>());
}

TEST_CASE("who waits for an actor's end learns that it was no normal one") {
  actors_rig r(GENERATE(from_range(schedulers())));
  const request_id broken{1};
  const auto handle = r.system->spawn<throwing_actor>(std::ref(*r.environment), address_of(broken));
  r.environment->add(broken, handle);
  caf_bridge::when_ended(handle, [&r](bool normal) {
    if (!normal)
      r.environment->to_engine({}, 0, any_message{request_lost{}});
  });
  r.post(address_of(broken), drop_request{});
  REQUIRE(r.was_told<request_lost>());
}

} // namespace kvferry::test
