#include "runtime/trace/replayed_actors.hpp"

#include <exception>

#include "runtime/trace/replay_device.hpp"

namespace kvferry {

template <class List, class State>
replayed_actors::outcome replayed_actors::handle_in(State& state, const any_message& message, outbox& out) {
  bool taken = false;
  try {
    message.visit<List>([&](const auto& body) {
      taken = true;
      state.handle(body, out);
#if KVFERRY_CHECK_INVARIANTS
      state.check_touched();
#endif
    });
  } catch (const std::exception&) {
    out.take();
    return outcome::died;
  }
  return taken ? outcome::handled : outcome::not_for_it;
}

replayed_actors::outcome replayed_actors::handle(const address& to, const any_message& message, outbox& out) {
  switch (to.kind) {
  case actor_kind::page_registry:
    if (!registry_)
      registry_ = std::make_unique<page_registry>(config_);
    return handle_in<page_registry_messages>(*registry_, message, out);
  case actor_kind::storage: return storage_ ? handle_in<storage_messages>(*storage_, message, out) : outcome::not_there;
  case actor_kind::completions:
    if (!completions_)
      completions_ = std::make_unique<completions>();
    return handle_in<completions_messages>(*completions_, message, out);
  case actor_kind::request_cache: {
    const request_id id{to.number};
    auto [place, fresh] = requests_.try_emplace(id);
    if (fresh)
      place->second = std::make_unique<request_cache>(config_, id);
    if (!place->second)
      return outcome::not_there;
    const outcome done = handle_in<request_cache_messages>(*place->second, message, out);
    if (done == outcome::died || place->second->ended())
      place->second.reset();
    return done;
  }
  case actor_kind::batch_publisher: {
    auto found = batches_.find(batch_id{static_cast<std::uint32_t>(to.number)});
    if (found == batches_.end() || !found->second.state)
      return outcome::not_there;
    const outcome done = handle_in<batch_publisher_messages>(*found->second.state, message, out);
    if (done == outcome::died || found->second.state->ended())
      found->second.state.reset();
    return done;
  }
  case actor_kind::engine:
  case actor_kind::device: break;
  }
  return outcome::not_there;
}

void replayed_actors::make_publisher(batch_id id, const create_batch& batch) {
  const batch_config config{batch.rows, batch.max_blocks};
  publisher& made = batches_[id];
  made.tables = replay_device::blank_tables(table_layout{config_.groups.size(), config}.bytes);
  made.state = std::make_unique<batch_publisher>(id, config_.groups.size(), config, target_, *made.tables);
}

void replayed_actors::kill(request_id request) { requests_[request].reset(); }

bool replayed_actors::is_gone(const address& who) const {
  if (who.kind == actor_kind::request_cache) {
    auto found = requests_.find(request_id{who.number});
    return found == requests_.end() || !found->second;
  }
  if (who.kind == actor_kind::batch_publisher) {
    auto found = batches_.find(batch_id{static_cast<std::uint32_t>(who.number)});
    return found == batches_.end() || !found->second.state;
  }
  return false;
}

} // namespace kvferry
