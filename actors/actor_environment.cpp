#include "actors/actor_environment.hpp"

namespace kvferry {

void actor_environment::add(request_id id, request_handle handle) {
  std::unique_lock lock{guard_};
  requests_.emplace(id, std::move(handle));
}

void actor_environment::add(batch_id id, publisher_handle handle) {
  std::unique_lock lock{guard_};
  batches_.emplace(id, std::move(handle));
}

void actor_environment::remove(const address& who) {
  std::unique_lock lock{guard_};
  if (who.kind == actor_kind::request_cache)
    requests_.erase(request_id{who.number});
  else if (who.kind == actor_kind::batch_publisher)
    batches_.erase(batch_id{static_cast<std::uint32_t>(who.number)});
}

actor_environment::request_handle actor_environment::find(request_id id) const {
  std::shared_lock lock{guard_};
  auto found = requests_.find(id);
  return found == requests_.end() ? request_handle{} : found->second;
}

actor_environment::publisher_handle actor_environment::find(batch_id id) const {
  std::shared_lock lock{guard_};
  auto found = batches_.find(id);
  return found == batches_.end() ? publisher_handle{} : found->second;
}

void actor_environment::stop_all() {
  std::vector<request_handle> requests;
  std::vector<publisher_handle> batches;
  {
    std::shared_lock lock{guard_}; // actors remove themselves when they end, which takes the lock
    for (const auto& [id, handle] : requests_)
      requests.push_back(handle);
    for (const auto& [id, handle] : batches_)
      batches.push_back(handle);
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

actor_environment::route& actor_environment::current_route() {
  thread_local route current;
  return current;
}

void actor_environment::post(const address& from, std::uint64_t cause, outgoing message) {
  if (message.to.kind == actor_kind::engine) {
    to_engine(from, cause, std::move(message.body));
    return;
  }
  current_route() = {from, message.to};
  message.body.visit([&]<class Message>(Message& body) {
    auto send_to = [&](const auto& handle) {
      if (handle)
        caf_bridge::send(handle, envelope<Message>{from, cause, std::move(body)});
    };
    if constexpr (Message::info.to == actor_kind::page_registry)
      send_to(registry);
    else if constexpr (Message::info.to == actor_kind::storage)
      send_to(storage);
    else if constexpr (Message::info.to == actor_kind::completions)
      send_to(completions);
    else if constexpr (Message::info.to == actor_kind::request_cache)
      send_to(find(request_id{message.to.number}));
    else if constexpr (Message::info.to == actor_kind::batch_publisher)
      send_to(find(batch_id{static_cast<std::uint32_t>(message.to.number)}));
  });
}

void actor_environment::post_all(const address& from, std::uint64_t cause, outbox& out) {
  for (outgoing& message : out.take())
    post(from, cause, std::move(message));
}

} // namespace kvferry
