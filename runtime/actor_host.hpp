// The actor system that a runtime runs on, together with its configuration, which must outlive it.
#pragma once

#include <memory>

#include "actors/caf_compat.hpp"

namespace kvferry {

class actor_host {
public:
  explicit actor_host(const configuration& config) : config_(config), system(config_) {}

  bool is_stepped() const { return config_.stepped; }

private:
  caf_bridge::system_config config_;

public:
  caf_bridge::actor_system system;
};

/// Ends the host, or leaves it to the next runtime of this thread (keeps_actor_host). REQUIRES: its actors have ended.
struct actor_host_deleter {
  void operator()(actor_host* host) const;
};

using actor_host_ptr = std::unique_ptr<actor_host, actor_host_deleter>;

actor_host_ptr make_actor_host(const configuration& config);

} // namespace kvferry
