// Everything that depends on the actor library, and on its version: how a message is inspected, what a handle is, how
// something is sent, watched and scheduled. No other file names it, but for caf_compat.cpp, which makes the system.
//
// Written for CAF 0.17.6 (Debian, Ubuntu) and 1.1. The rest of the project uses what stands below `caf_bridge`,
// which is the same with both.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <caf/actor_addr.hpp>
#include <caf/actor_cast.hpp>
#include <caf/actor_config.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/config.hpp>
#include <caf/mailbox_element.hpp>
#include <caf/resumable.hpp>
#include <caf/sec.hpp>
#include <caf/send.hpp>
#include <caf/typed_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#if CAF_MAJOR_VERSION >= 1
#include <caf/scheduler.hpp>
#include <caf/type_id.hpp>
#else
#include <caf/detail/test_actor_clock.hpp>
#include <caf/execution_unit.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>
#endif

#include "kvferry/configuration.hpp"
#include "kvferry/contract.hpp"
#include "messages/any_message.hpp"
#include "messages/envelope_text.hpp"

// cmake/FindCAF_compat.cmake names the same versions.
#if CAF_MAJOR_VERSION == 0
static_assert(CAF_VERSION >= 1706 && CAF_VERSION < 1800, "needs CAF 0.17.6 or 1.1");
#else
static_assert(CAF_MAJOR_VERSION == 1 && CAF_MINOR_VERSION == 1, "needs CAF 0.17.6 or 1.1");
#endif

namespace kvferry {

// -- messages
// ------------------------------------------------------------------------------------------------------------

/// Inspection follows from the listed fields by way of JSON, so that the library instantiates nothing per field: it
/// would double the time that the actors take to compile, and between threads nothing is serialised anyway.
#if CAF_MAJOR_VERSION >= 1
template <class Inspector, class Message>
bool inspect(Inspector& f, envelope<Message>& message) {
  const auto text_of = [&] {
    return envelope_text(message.from, message.cause, message_index<Message>, &message.body);
  };
  const auto read = [&](const std::string& text) {
    return parse_envelope(text, message.from, message.cause, message_index<Message>, &message.body);
  };
  return f.object(message).fields(f.field("text", text_of, read));
}
#else
template <class Inspector, class Message>
typename Inspector::result_type inspect(Inspector& f, envelope<Message>& message) {
  if constexpr (Inspector::reads_state) {
    std::string text = envelope_text(message.from, message.cause, message_index<Message>, &message.body);
    return f(text);
  } else {
    std::string text;
    if (auto broken = f(text))
      return broken;
    return parse_envelope(text, message.from, message.cause, message_index<Message>, &message.body)
               ? caf::error{caf::none}
               : caf::error{caf::sec::invalid_argument};
  }
}
#endif

} // namespace kvferry

#if CAF_MAJOR_VERSION >= 1
namespace caf {

/// Kinds of messages are numbered as in message_index. An engine that uses the library too numbers its own types from
/// first_custom_type_id on: ours leave it room.
template <class Message>
struct type_id<kvferry::envelope<Message>> {
  static constexpr type_id_t value = first_custom_type_id + 1'000 + kvferry::message_index<Message>;
};

template <class Message>
struct type_name<kvferry::envelope<Message>> {
  static constexpr std::string_view value = Message::info.name;
};

} // namespace caf
#endif

namespace kvferry::caf_bridge {

// -- handles
// -------------------------------------------------------------------------------------------------------------

template <class List>
struct handle_of;

#if CAF_MAJOR_VERSION >= 1
template <class... Messages>
struct taken_messages {
  using signatures = caf::type_list<caf::result<void>(envelope<Messages>)...>;
};

template <class... Messages>
struct handle_of<message_list<Messages...>> {
  using type = caf::typed_actor<taken_messages<Messages...>>;
};
#else
template <class... Messages>
struct handle_of<message_list<Messages...>> {
  using type = caf::typed_actor<caf::reacts_to<envelope<Messages>>...>;
};
#endif

template <class List>
using handle = typename handle_of<List>::type;

/// Puts a message of the handle's list into the mailbox, as what it is; `body` is left empty.
template <class... Messages>
void enqueue(message_list<Messages...>, const handle<message_list<Messages...>>& to, const address& from,
             std::uint64_t cause, any_message& body) {
  auto put = [&]<class Message>(Message* message) {
    if (message == nullptr)
      return false;
    envelope<Message> sent{from, cause, std::move(*message)};
    caf::actor_cast<caf::abstract_actor*>(to)->enqueue(
#if CAF_MAJOR_VERSION >= 1
        caf::make_mailbox_element(nullptr, caf::make_message_id(), std::move(sent)),
#else
        caf::make_mailbox_element(nullptr, caf::make_message_id(), {}, std::move(sent)),
#endif
        nullptr);
    return true;
  };
  const bool taken = (put(body.get_if<Messages>()) || ...);
  KVFERRY_REQUIRE(taken, "{} does not take message {} of the list", to_string(from), body.index());
}

// -- the end of actors
// ---------------------------------------------------------------------------------------------------

/// Ends an actor from outside, as a crash would.
template <class Handle>
void kill(const Handle& who) {
  caf::anon_send_exit(who, caf::exit_reason::kill);
}

/// Asks an actor to end.
template <class Handle>
void stop(const Handle& who) {
  if (who)
    caf::anon_send_exit(who, caf::exit_reason::user_shutdown);
}

/// Calls `function` once when the actor has ended, on any thread, before what was asked of this actor earlier by this
/// or `watch_end`. `function(normal)`.
template <class Handle>
void when_ended(const Handle& who, std::function<void(bool)> function) {
  caf::actor_cast<caf::strong_actor_ptr>(who)->get()->attach_functor(
      [f = std::move(function)](const caf::error& reason) { f(!reason || reason == caf::exit_reason::normal); });
}

/// Neither of its own accord nor because it was asked to.
inline bool is_crash(const caf::error& reason) {
  return reason && reason != caf::exit_reason::normal && reason != caf::exit_reason::user_shutdown;
}

// -- actors
// --------------------------------------------------------------------------------------------------------------

using actor_config = caf::actor_config;
using mailbox_element_ptr = caf::mailbox_element_ptr;

/// What an actor that takes `List` derives from.
template <class List>
class actor_base : public handle<List>::base {
  using super = typename handle<List>::base;

public:
#if CAF_MAJOR_VERSION >= 1
  // on_exit comes too late: the actor no longer counts as running then, and the system may be gone. What is attached
  // first is called last, behind those who watch it.
  explicit actor_base(actor_config& config) : super(config) {
    this->attach_functor([this] { ended(); });
  }

  bool enqueue(caf::mailbox_element_ptr element, caf::scheduler* scheduler) final {
    return holds_back(element) || super::enqueue(std::move(element), scheduler);
  }
#else
  explicit actor_base(actor_config& config) : super(config) {}

  void enqueue(caf::mailbox_element_ptr element, caf::execution_unit* unit) final {
    if (!holds_back(element))
      super::enqueue(std::move(element), unit);
  }

  void on_exit() final { ended(); }
#endif

protected:
  /// Takes `element` when it is not to enter the mailbox now; on any thread.
  virtual bool holds_back(mailbox_element_ptr& element) = 0;

  /// The actor handles nothing more. Called once, before the system counts it as done.
  virtual void ended() = 0;

  /// Ends after this handling, because of an exception.
  void quit_broken() {
#if CAF_MAJOR_VERSION >= 1
    this->quit(caf::sec::runtime_error);
#else
    this->quit(caf::exit_reason::unhandled_exception);
#endif
  }

  /// Calls `function(crashed)` as a handling of this actor's when `whom` has ended. For the longer-lived of the two.
  template <class Handle>
  void watch_end(const Handle& whom, std::function<void(bool)> function) {
#if CAF_MAJOR_VERSION >= 1
    this->monitor(whom, [f = std::move(function)](const caf::error& reason) { f(is_crash(reason)); });
#else
    if (watched_.empty())
      this->set_down_handler([this](caf::down_msg& down) {
        if (auto watched = watched_.extract(down.source))
          watched.mapped()(is_crash(down.reason));
      });
    watched_.emplace(caf::actor_cast<caf::actor_addr>(whom), std::move(function));
    this->monitor(whom);
#endif
  }

#if CAF_MAJOR_VERSION == 0
private:
  std::unordered_map<caf::actor_addr, std::function<void(bool)>> watched_;
#endif
};

/// A message that waits for its delivery under `stepped`.
struct held_message {
  caf::strong_actor_ptr to;
  mailbox_element_ptr element;
  address from;
  address receiver;
};

/// Offers it to its receiver once more.
inline void deliver(held_message message) { message.to->enqueue(std::move(message.element), nullptr); }

// -- scheduling
// ----------------------------------------------------------------------------------------------------------

/// Jobs in the order in which they became ready. They run when run_jobs is called, on the caller's thread.
class job_queue {
public:
  void add(caf::resumable* job) { jobs_.push_back(job); }

  /// Until none is left; `where` is what the library says a job runs on.
  template <class Where>
  void run(Where* where) {
    while (!jobs_.empty()) {
      caf::resumable* job = jobs_.front();
      jobs_.pop_front();
      switch (job->resume(where, 1)) {
      case caf::resumable::resume_later: jobs_.push_front(job); break;
      case caf::resumable::done:
      case caf::resumable::awaiting_message: caf::intrusive_ptr_release(job); break;
      case caf::resumable::shutdown_execution_unit: break;
      }
    }
  }

private:
  std::deque<caf::resumable*> jobs_;
};

/// A scheduler that runs nothing by itself: jobs wait until `run_jobs` is called.
#if CAF_MAJOR_VERSION >= 1
class stepped_scheduler : public caf::scheduler {
public:
  void schedule(caf::resumable* job) override { jobs_.add(job); }
  void delay(caf::resumable* job) override { jobs_.add(job); }
  void start() override {}
  void stop() override { run_jobs(); }

  void run_jobs() { jobs_.run(this); }

private:
  job_queue jobs_;
};
#else
class stepped_scheduler : public caf::scheduler::abstract_coordinator {
public:
  explicit stepped_scheduler(caf::actor_system& system) : abstract_coordinator(system), unit_(*this) {}

  static caf::actor_system::module* make(caf::actor_system& system, caf::detail::type_list<>) {
    return new stepped_scheduler(system);
  }

  void enqueue(caf::resumable* job) override { jobs_.add(job); }
  void start() override {}
  void stop() override { run_jobs(); }
  caf::actor_clock& clock() noexcept override { return clock_; }

  void run_jobs() { jobs_.run(&unit_); }

private:
  class unit : public caf::execution_unit {
  public:
    explicit unit(stepped_scheduler& owner) : execution_unit(&owner.system()), owner_(owner) {}
    void exec_later(caf::resumable* job) override { owner_.enqueue(job); }

  private:
    stepped_scheduler& owner_;
  };

  job_queue jobs_;
  caf::detail::test_actor_clock clock_;
  unit unit_;
};
#endif

/// Tells the library of our messages, which it wants to know before there is a configuration.
struct known_messages {
  known_messages();
};

struct system_config : private known_messages, caf::actor_system_config {
  explicit system_config(const configuration& config);

  const bool stepped;
};

/// An actor system for either way to run; `config` outlives it. Declare it before everything that holds handles.
class actor_system : public caf::actor_system {
public:
  explicit actor_system(system_config& config);

  /// The scheduler, under `stepped`.
  stepped_scheduler& stepped();
};

} // namespace kvferry::caf_bridge
