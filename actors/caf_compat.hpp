// Everything that depends on the actor library, and on its version: how a message is inspected, what a handle is, how
// something is sent, watched and scheduled. No other header names it.
//
// Written for CAF 0.17 (Debian, Ubuntu). The rest of the project uses what is defined here under `kvferry::caf_bridge`.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/detail/test_actor_clock.hpp>
#include <caf/execution_unit.hpp>
#include <caf/mailbox_element.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>
#include <caf/sec.hpp>
#include <caf/send.hpp>
#include <caf/typed_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include "kvferry/configuration.hpp"
#include "kvferry/contract.hpp"
#include "messages/any_message.hpp"
#include "messages/envelope_text.hpp"

static_assert(CAF_VERSION >= 1706 && CAF_VERSION < 1800, "written for CAF 0.17.6; the README says which versions work");

namespace kvferry {

/// Inspection follows from the listed fields by way of JSON, so that the library instantiates nothing per field: it
/// would double the time that the actors take to compile, and between threads nothing is serialised anyway.
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

namespace caf_bridge {

// -- typed handles
// -------------------------------------------------------------------------------------------------------

template <class List>
struct handle_of;

template <class... Messages>
struct handle_of<message_list<Messages...>> {
  using type = caf::typed_actor<caf::reacts_to<envelope<Messages>>...>;
};

template <class List>
using handle = typename handle_of<List>::type;

/// Puts a message of the handle's list into the mailbox, as what it is; `body` is left empty.
template <class... Messages>
void enqueue(const caf::typed_actor<caf::reacts_to<envelope<Messages>>...>& to, const address& from,
             std::uint64_t cause, any_message& body) {
  auto put = [&]<class Message>(Message* message) {
    if (message != nullptr)
      caf::actor_cast<caf::abstract_actor*>(to)->enqueue(
          caf::make_mailbox_element(nullptr, caf::make_message_id(), {},
                                    envelope<Message>{from, cause, std::move(*message)}),
          nullptr);
    return message != nullptr;
  };
  const bool taken = (put(body.get_if<Messages>()) || ...);
  KVFERRY_REQUIRE(taken, "{} does not take message {} of the list", to_string(from), body.index());
}

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

/// Calls `function` once when the actor has ended, on any thread. `function(normal)`.
template <class Handle>
void when_ended(const Handle& who, std::function<void(bool)> function) {
  caf::actor_cast<caf::strong_actor_ptr>(who)->get()->attach_functor(
      [f = std::move(function)](const caf::error& reason) { f(!reason || reason == caf::exit_reason::normal); });
}

// -- stepped scheduling
// --------------------------------------------------------------------------------------------------

/// A scheduler module that runs nothing by itself: jobs wait until `run_jobs` is called.
class stepped_coordinator : public caf::scheduler::abstract_coordinator {
public:
  explicit stepped_coordinator(caf::actor_system& system) : abstract_coordinator(system), unit_(*this) {}

  static caf::actor_system::module* make(caf::actor_system& system, caf::detail::type_list<>) {
    return new stepped_coordinator(system);
  }

  void start() override {}

  void stop() override { run_jobs(); }

  void enqueue(caf::resumable* job) override { jobs_.push_back(job); }

  caf::actor_clock& clock() noexcept override { return clock_; }

  /// Runs what is scheduled until nothing is.
  void run_jobs() {
    while (!jobs_.empty()) {
      caf::resumable* job = jobs_.front();
      jobs_.pop_front();
      switch (job->resume(&unit_, 1)) {
      case caf::resumable::resume_later: jobs_.push_front(job); break;
      case caf::resumable::done:
      case caf::resumable::awaiting_message: caf::intrusive_ptr_release(job); break;
      case caf::resumable::shutdown_execution_unit: break;
      }
    }
  }

private:
  class unit : public caf::execution_unit {
  public:
    explicit unit(stepped_coordinator& owner) : execution_unit(&owner.system()), owner_(owner) {}
    void exec_later(caf::resumable* job) override { owner_.enqueue(job); }

  private:
    stepped_coordinator& owner_;
  };

  std::deque<caf::resumable*> jobs_;
  caf::detail::test_actor_clock clock_;
  unit unit_;
};

/// An actor system for either way to run. Declare it before everything that holds handles.
struct system_config : caf::actor_system_config {
  explicit system_config(const configuration& config) {
    set("logger.verbosity", caf::atom("quiet"));
    if (config.scheduler == scheduler_kind::stepped) {
      load<stepped_coordinator>();
    } else {
      set("scheduler.policy", caf::atom("sharing")); // the stealing one burns a core while idle
      set("scheduler.max-threads", config.worker_threads);
    }
  }
};

/// A message that waits for its delivery under `stepped`.
struct held_message {
  caf::strong_actor_ptr to;
  caf::mailbox_element_ptr element;
  address from;
  address receiver;
};

} // namespace caf_bridge
} // namespace kvferry
