// Fresh actors in a replay: the plain state classes, without the actor library. Each is made by its first message, as
// in a run.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "actors/batch_publisher.hpp"
#include "actors/completions.hpp"
#include "actors/page_registry.hpp"
#include "actors/request_cache.hpp"
#include "actors/storage.hpp"
#include "device/device.hpp"

namespace kvferry {

class replayed_actors {
public:
  /// `target` answers the actors' calls; it and `config` outlive this.
  replayed_actors(const configuration& config, device& target) : config_(config), target_(target) {}

  enum class outcome : std::uint8_t {
    handled,
    died,       ///< by an exception, with its handling; nothing of that is sent
    not_there,  ///< it has ended
    not_for_it, ///< a kind of message that it does not take
  };

  /// May throw what the device throws; the actor's state is then of no use.
  outcome handle(const address& to, const any_message& message, outbox& out);

  /// Storage makes its streams when it is made.
  void make_storage() { storage_ = std::make_unique<storage>(target_); }
  bool has_storage() const { return storage_ != nullptr; }

  void make_publisher(batch_id id, const create_batch& batch);

  /// A request's actor has died.
  void kill(request_id request);

  /// It was there and has ended, or it never was.
  bool is_gone(const address& who) const;

  /// Null: it has handled nothing.
  const page_registry* registry() const { return registry_.get(); }

private:
  struct publisher {
    std::unique_ptr<device_memory> tables;
    std::unique_ptr<batch_publisher> state;
  };

  template <class List, class State>
  outcome handle_in(State& state, const any_message& message, outbox& out);

  const configuration& config_;
  device& target_;
  std::unique_ptr<page_registry> registry_;
  std::unique_ptr<storage> storage_;
  std::unique_ptr<completions> completions_;
  std::unordered_map<request_id, std::unique_ptr<request_cache>> requests_; // null: it has ended
  std::unordered_map<batch_id, publisher> batches_;                         // likewise
};

} // namespace kvferry
