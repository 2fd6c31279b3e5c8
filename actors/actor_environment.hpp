// What surrounds bound actors: who has which address, how a message gets to it, and who watches what is handled.
//
// The runtime owns one. Actors post through it; nothing else connects them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "actors/caf_compat.hpp"
#include "kvferry/delivery.hpp"
#include "messages/any_message.hpp"

namespace kvferry {

/// Told of every handling before it happens, from the thread on which it happens.
class handling_observer {
public:
  virtual ~handling_observer() = default;

  /// `body` is the message, of the kind that message_index numbers. Returns the handling's number, from 1; messages
  /// that it sends carry it as their cause.
  virtual std::uint64_t handling(const address& from, const address& to, std::uint64_t cause, std::size_t kind,
                                 const void* body) = 0;
};

class actor_environment {
public:
  using registry_handle = caf_bridge::handle<page_registry_messages>;
  using storage_handle = caf_bridge::handle<storage_messages>;
  using completions_handle = caf_bridge::handle<completions_messages>;
  using request_handle = caf_bridge::handle<request_cache_messages>;
  using publisher_handle = caf_bridge::handle<batch_publisher_messages>;

  /// Takes messages to the engine; called on the sender's thread.
  std::function<void(address from, std::uint64_t cause, any_message body)> to_engine;

  /// Null: nobody is told (only counted).
  handling_observer* observer = nullptr;

  /// Null: nobody chooses the order of messages, and nobody is told what it depends on.
  delivery_strategy* strategy = nullptr;

  /// Takes messages under `stepped` instead of a mailbox; empty under `threaded`.
  std::function<void(caf_bridge::held_message)> hold;

  /// A held message is on its way into its mailbox: `hold` does not take it again.
  bool delivering = false;

  registry_handle registry;
  storage_handle storage;
  completions_handle completions;

  void add(request_id id, request_handle handle);

  /// The answer counts the messages that have been sent to it, but for those that only ask. Whoever finds it as it was
  /// when a message was answered knows that the publisher has been told nothing since, or nothing that anybody can know
  /// of.
  std::shared_ptr<const std::atomic<std::uint64_t>> add(batch_id id, publisher_handle handle);
  void remove(const address& who);
  request_handle find(request_id id) const;
  publisher_handle find(batch_id id) const;

  /// Asks every actor to end.
  void stop_all();

  /// Drops every handle.
  void clear();

  /// Requests and batches that have an actor.
  std::size_t dynamic_actors() const;

  /// Delivers to whoever has the address; nobody: dropped.
  void post(const address& from, std::uint64_t cause, outgoing message);

  /// The same for every message of a handling.
  void post_all(const address& from, std::uint64_t cause, outbox& out);

  /// A handling is about to begin; its number, 0 when nobody gives one.
  std::uint64_t begin_handling(const address& from, const address& to, std::uint64_t cause, std::size_t kind,
                               const void* body) {
    handled_.fetch_add(1, std::memory_order_relaxed);
    if (strategy != nullptr) [[unlikely]]
      tell_strategy(to, kind);
    return observer == nullptr ? 0 : observer->handling(from, to, cause, kind, body);
  }

  std::uint64_t handled() const { return handled_.load(std::memory_order_relaxed); }

  /// Sender and receiver of the message that this thread is sending right now, for `hold`.
  struct route {
    address from;
    address to;
  };
  static route& current_route();

private:
  void tell_strategy(const address& to, std::size_t kind) const;

  // Put a message of the receiver's list into its mailbox as what it is, and leave it empty. Each stands in that
  // actor's own file, beside the behaviours for the same messages, where the actor library's code for them is made
  // anyway.
  static void enqueue(const registry_handle& to, const address& from, std::uint64_t cause, any_message& body);
  static void enqueue(const storage_handle& to, const address& from, std::uint64_t cause, any_message& body);
  static void enqueue(const completions_handle& to, const address& from, std::uint64_t cause, any_message& body);
  static void enqueue(const request_handle& to, const address& from, std::uint64_t cause, any_message& body);
  static void enqueue(const publisher_handle& to, const address& from, std::uint64_t cause, any_message& body);

  struct publisher {
    publisher_handle handle;
    std::shared_ptr<std::atomic<std::uint64_t>> sent;
  };
  publisher find_publisher(batch_id id) const;

  mutable std::shared_mutex guard_; // of the two maps
  std::unordered_map<request_id, request_handle> requests_;
  std::unordered_map<batch_id, publisher> batches_;
  std::atomic<std::uint64_t> handled_{0};
};

} // namespace kvferry
