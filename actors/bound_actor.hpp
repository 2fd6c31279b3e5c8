// Binds a plain state class to the actor library: one behaviour per message, nothing else. Included by the *_actor.cpp
// files alone.
#pragma once

#include <cstdio>
#include <exception>
#include <memory>
#include <utility>

#include "actors/actor_environment.hpp"

namespace kvferry {

template <class State, class List>
class bound_actor;

template <class State, class... Messages>
class bound_actor<State, message_list<Messages...>> : public caf_bridge::actor_base<message_list<Messages...>> {
public:
  using super = caf_bridge::actor_base<message_list<Messages...>>;
  using behavior_type = typename super::behavior_type;

  template <class... Args>
  bound_actor(caf_bridge::actor_config& config, actor_environment& environment, kvferry::address self, Args&&... state)
      : super(config), environment_(environment), self_(self),
        state_(std::make_unique<State>(std::forward<Args>(state)...)) {}

  behavior_type make_behavior() override { return behavior_type{handler<Messages>{this}...}; }

protected:
  /// Under `stepped` a message waits outside of the mailbox until its delivery is chosen.
  bool holds_back(caf_bridge::mailbox_element_ptr& element) override {
    if (!environment_.hold || environment_.delivering)
      return false;
    const auto& route = actor_environment::current_route(); // another's: the actor library itself sends this
    environment_.hold({this->ctrl(), std::move(element), route.to == self_ ? route.from : self_, self_});
    return true;
  }

  void ended() override {
    environment_.remove(self_);
    state_.reset();
  }

  /// A request has been registered whose end must be noticed.
  virtual void watch(request_id) {}

  template <class Message>
  void receive(envelope<Message>& message) {
    const Message& body = message.body;
    try {
      const std::uint64_t number =
          environment_.begin_handling(message.from, self_, message.cause, message_index<Message>, &body);
      outbox out;
      if constexpr (std::is_same_v<Message, register_request>)
        watch(body.request);
      handle_in_state(body, out);
      environment_.post_all(self_, number, out);
    } catch (const contract_failure&) { // whoever asked for it knows what it is
      this->quit_broken();
      return;
    } catch (const std::exception& broken) {
      std::fprintf(stderr, "kvferry: %s ends in %s: %s\n", to_string(self_).c_str(), Message::info.name.data(),
                   broken.what());
      this->quit_broken();
      return;
    }
    if constexpr (requires { state_->ended(); })
      if (state_->ended()) {
        environment_.remove(self_);
        this->quit();
      }
  }

  template <class Message>
  void handle_in_state(const Message& message, outbox& out) {
    state_->handle(message, out);
#if KVFERRY_CHECK_INVARIANTS
    state_->check_touched();
#endif
  }

  template <class Message>
  struct handler {
    bound_actor* self;
    void operator()(envelope<Message>& message) const { self->receive(message); }
  };

  actor_environment& environment_;
  const kvferry::address self_;
  std::unique_ptr<State> state_;
};

} // namespace kvferry
