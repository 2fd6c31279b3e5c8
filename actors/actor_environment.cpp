#include "actors/actor_environment.hpp"

#include "messages/message_kind.hpp"

namespace kvferry {

void actor_environment::add(request_id id, request_handle handle) {
  std::unique_lock lock{guard_};
  requests_.emplace(id, std::move(handle));
}

std::shared_ptr<const std::atomic<std::uint64_t>> actor_environment::add(batch_id id, publisher_handle handle) {
  auto sent = std::make_shared<std::atomic<std::uint64_t>>(0);
  std::unique_lock lock{guard_};
  batches_.emplace(id, publisher{std::move(handle), sent});
  return sent;
}

void actor_environment::remove(const address& who) {
  std::size_t removed = 0;
  {
    std::unique_lock lock{guard_};
    if (who.kind == actor_kind::request_cache)
      removed = requests_.erase(request_id{who.number});
    else if (who.kind == actor_kind::batch_publisher)
      removed = batches_.erase(batch_id{static_cast<std::uint32_t>(who.number)});
  }
  if (removed != 0 && strategy != nullptr)
    strategy->ended(actor_key_of(who));
}

actor_environment::request_handle actor_environment::find(request_id id) const {
  std::shared_lock lock{guard_};
  auto found = requests_.find(id);
  return found == requests_.end() ? request_handle{} : found->second;
}

actor_environment::publisher actor_environment::find_publisher(batch_id id) const {
  std::shared_lock lock{guard_};
  auto found = batches_.find(id);
  return found == batches_.end() ? publisher{} : found->second;
}

actor_environment::publisher_handle actor_environment::find(batch_id id) const { return find_publisher(id).handle; }

void actor_environment::stop_all() {
  std::vector<request_handle> requests;
  std::vector<publisher_handle> batches;
  {
    std::shared_lock lock{guard_}; // actors remove themselves when they end, which takes the lock
    for (const auto& [id, handle] : requests_)
      requests.push_back(handle);
    for (const auto& [id, publisher] : batches_)
      batches.push_back(publisher.handle);
  }
  for (const auto& handle : requests)
    caf_bridge::stop(handle);
  for (const auto& handle : batches)
    caf_bridge::stop(handle);
  caf_bridge::stop(registry);
  caf_bridge::stop(storage);
  caf_bridge::stop(completions);
}

void actor_environment::clear() {
  std::unique_lock lock{guard_};
  requests_.clear();
  batches_.clear();
  registry = nullptr;
  storage = nullptr;
  completions = nullptr;
}

std::size_t actor_environment::dynamic_actors() const {
  std::shared_lock lock{guard_};
  return requests_.size() + batches_.size();
}

void actor_environment::tell_strategy(const address& to, std::size_t kind) const {
  strategy->handling(actor_key_of(to), message_kinds()[kind].name);
}

actor_environment::route& actor_environment::current_route() {
  thread_local route current;
  return current;
}

void actor_environment::post(const address& from, std::uint64_t cause, outgoing message) {
  if (message.to.kind == actor_kind::engine) {
    if (strategy != nullptr)
      strategy->told_engine(actor_key_of(from));
    to_engine(from, cause, std::move(message.body));
    return;
  }
  current_route() = {from, message.to};
  auto send_to = [&](const auto& handle) {
    if (handle)
      enqueue(handle, from, cause, message.body);
  };
  switch (message.to.kind) {
  case actor_kind::page_registry: return send_to(registry);
  case actor_kind::storage: return send_to(storage);
  case actor_kind::completions: return send_to(completions);
  case actor_kind::request_cache: return send_to(find(request_id{message.to.number}));
  case actor_kind::batch_publisher: {
    const publisher to = find_publisher(batch_id{static_cast<std::uint32_t>(message.to.number)});
    const bool only_asks = message.body.get_if<check_rows>() != nullptr;
    send_to(to.handle);
    if (to.sent && !only_asks) // afterwards: a count that somebody reads tells of messages that are there
      to.sent->fetch_add(1, std::memory_order_release);
    return;
  }
  case actor_kind::engine: break; // above
  case actor_kind::device: break; // no actor
  }
}

void actor_environment::post_all(const address& from, std::uint64_t cause, outbox& out) {
  for (outgoing& message : out.take())
    post(from, cause, std::move(message));
}

} // namespace kvferry
