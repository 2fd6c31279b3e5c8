#include "runtime/actor_host.hpp"

#include "kvferry/test_hooks.hpp"

namespace kvferry {
namespace {

bool broke_a_contract() {
  const contracts_throw* asked = contracts_throw::living();
  return asked != nullptr && asked->broken();
}

} // namespace

// Under `stepped` nothing in a host depends on the configuration, and nothing of a runtime stays in it.

struct keeps_actor_host::kept {
  std::unique_ptr<actor_host> host; // null: in use, or none was made yet

  static kept*& living() {
    thread_local kept* one = nullptr;
    return one;
  }
};

keeps_actor_host::keeps_actor_host() : kept_(std::make_unique<kept>()) {
  KVFERRY_REQUIRE(kept::living() == nullptr, "two of them on a thread");
  kept::living() = kept_.get();
}

keeps_actor_host::~keeps_actor_host() { kept::living() = nullptr; }

actor_host_ptr make_actor_host(const configuration& config) {
  keeps_actor_host::kept* kept = keeps_actor_host::kept::living();
  if (kept != nullptr && kept->host && config.scheduler == scheduler_kind::stepped)
    return actor_host_ptr{kept->host.release()};
  return actor_host_ptr{new actor_host{config}};
}

void actor_host_deleter::operator()(actor_host* host) const {
  std::unique_ptr<actor_host> owned{host};
  if (keeps_actor_host::kept* kept = keeps_actor_host::kept::living())
    if (host->is_stepped() && !broke_a_contract())
      kept->host = std::move(owned);
}

} // namespace kvferry
