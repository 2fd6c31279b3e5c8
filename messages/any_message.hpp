// All messages there are, and any one of them.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "messages/engine_messages.hpp"
#include "messages/publisher_messages.hpp"
#include "messages/registry_messages.hpp"
#include "messages/request_messages.hpp"
#include "messages/storage_messages.hpp"
#include "messages/trace_events.hpp"

namespace kvferry {

template <class... Messages>
struct message_list {};

using page_registry_messages =
    message_list<register_request, match_prefix, owner_transition, release_owners, batch_changed, row_acknowledged,
                 rows_published, copies_submitted, copies_done, fence_passed, flush_copies, published_unchanged,
                 request_down, bury_request, query_blockers, query_counters, query_quiet, query_index>;
using storage_messages = message_list<copy_pages, cancel_copies, submit_copies, copy_completed>;
using completions_messages = message_list<watch_copies, watch_fences, streams_progressed>;
using request_cache_messages =
    message_list<open_request, advance, enter_decode, suspend_request, resume_request, shrink_request, drop_request,
                 close_request, join_batch, leave_batch, query_storage, query_host_pages, pages_granted, advanced,
                 offload_accepted, transition_refused, owners_rebound, loads_done, owners_released, row_joined,
                 row_left, row_gone>;
using batch_publisher_messages =
    message_list<join_row, row_changed, leave_row, drop_row, publish, begin_read, end_read, close_batch, check_rows>;
using engine_messages = message_list<request_registered, request_opened, call_done, request_closed, request_ready,
                                     request_lost, published, read_changed, batch_closed, storage_told, host_pages_told,
                                     blockers_told, quiet_told, rows_checked, counters_told, index_changed, index_told>;

template <class... Lists>
struct concatenated;

template <class... A>
struct concatenated<message_list<A...>> {
  using type = message_list<A...>;
};

template <class... A, class... B, class... Rest>
struct concatenated<message_list<A...>, message_list<B...>, Rest...> {
  using type = typename concatenated<message_list<A..., B...>, Rest...>::type;
};

using all_messages = concatenated<page_registry_messages, storage_messages, completions_messages,
                                  request_cache_messages, batch_publisher_messages, engine_messages>::type;

using trace_events = message_list<create_batch, end_of_run, device_create_stream, device_record, device_wait,
                                  device_copy_pages, device_allocate_staging, device_write_tables>;

/// All that a trace can hold.
using recorded_messages = concatenated<all_messages, trace_events>::type;

/// Position of `Message` in a list.
template <class Message, class... Messages>
constexpr std::size_t position_in(message_list<Messages...>) {
  std::size_t position = 0;
  bool found = ((std::is_same_v<Message, Messages> || (++position, false)) || ...);
  return found ? position : sizeof...(Messages);
}

/// What numbers the kinds of messages and events.
template <class Message>
constexpr std::size_t message_index = position_in<Message>(recorded_messages{});

/// One message, or event of a trace, of any kind. Not a std::variant: with some fifty kinds every file that touched one
/// would instantiate all of them.
class any_message {
public:
  template <class Message>
  explicit any_message(Message body)
      : index_(message_index<Message>),
        body_(new Message(std::move(body)), [](void* held) { delete static_cast<Message*>(held); }) {
    static_assert(message_index<Message> < count(recorded_messages{}), "not in the list of messages");
  }

  /// Null: it is of another kind.
  template <class Message>
  Message* get_if() {
    return index_ == message_index<Message> ? static_cast<Message*>(body_.get()) : nullptr;
  }
  template <class Message>
  const Message* get_if() const {
    return const_cast<any_message*>(this)->get_if<Message>();
  }

  /// Position in recorded_messages, which begins with all_messages.
  std::size_t index() const { return index_; }

  /// The struct of that kind.
  void* body() { return body_.get(); }
  const void* body() const { return body_.get(); }

  /// Calls `function` with the message as what it is, one of `List`.
  template <class List = all_messages, class Function>
  void visit(Function&& function) const {
    visit_in(function, List{});
  }

private:
  template <class... Messages>
  static constexpr std::size_t count(message_list<Messages...>) {
    return sizeof...(Messages);
  }

  template <class Function, class... Messages>
  void visit_in(Function& function, message_list<Messages...>) const {
    ((index_ == message_index<Messages> && (function(*static_cast<const Messages*>(body())), true)) || ...);
  }

  std::size_t index_;
  std::unique_ptr<void, void (*)(void*)> body_;
};

/// Name of whatever `message` holds.
std::string_view name_of(const any_message& message);

/// The call that it belongs to; none: it answers no call.
call_id call_of(const any_message& message);

struct outgoing {
  address to;
  any_message body;
};

/// What a handling sends, in order. State classes write into it; who runs them delivers.
class outbox {
public:
  /// To the one receiver that this kind of message has.
  template <class Message>
  void send(Message message) {
    static_assert(Message::info.to != actor_kind::request_cache && Message::info.to != actor_kind::batch_publisher,
                  "there are many of these: name one");
    sent_.push_back({address{Message::info.to, 0}, any_message{std::move(message)}});
  }

  template <class Message>
  void send(request_id to, Message message) {
    static_assert(Message::info.to == actor_kind::request_cache);
    sent_.push_back({address_of(to), any_message{std::move(message)}});
  }

  template <class Message>
  void send(batch_id to, Message message) {
    static_assert(Message::info.to == actor_kind::batch_publisher);
    sent_.push_back({address_of(to), any_message{std::move(message)}});
  }

  std::vector<outgoing> take() { return std::exchange(sent_, {}); }

  bool empty() const { return sent_.empty(); }

private:
  std::vector<outgoing> sent_;
};

} // namespace kvferry
