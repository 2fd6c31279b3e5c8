// Hosts the actors and turns the engine's calls into messages: the only place where a caller waits.
//
// Under `stepped` a call delivers messages until none is left; under `threaded` it waits for its reply. Engine streams
// are touched only here, while the call that named them runs, and in the publisher while a publication runs.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "actors/actor_environment.hpp"
#include "actors/table_mirror.hpp"
#include "device/device.hpp"
#include "kvferry/runtime.hpp"
#include "runtime/actor_host.hpp"
#include "runtime/engine_port.hpp"
#include "runtime/held_router_events.hpp"
#include "runtime/message_recorder.hpp"
#include "runtime/request_record.hpp"
#include "runtime/stepped_delivery.hpp"
#include "runtime/trace/recording_device.hpp"

namespace kvferry {

class runtime_impl {
public:
  runtime_impl(const configuration& config, std::shared_ptr<device> target, std::vector<group_pools> pools,
               std::unique_ptr<message_recorder> recorder, delivery_strategy* strategy);
  ~runtime_impl();

  const configuration config;
  const std::vector<group_pools> pools;

  // -- calls of runtime (runtime_calls.cpp)
  // --------------------------------------------------------------------------------

  expected<opened> open(std::vector<token> prompt, const prefix_namespace& space);
  expected<void> reserve(request_id request, std::uint32_t capacity_tokens);
  expected<void> advance_history(const progress& made, stream_id written_on);
  expected<void> commit(request_id request);
  expected<decode_entry> enter_decode(request_id request);
  expected<void> suspend(request_id request, std::span<const stream_id> running);
  expected<resumed> resume(request_id request);
  expected<void> shrink(request_id request, std::uint32_t capacity_tokens, std::span<const stream_id> running);
  expected<void> drop(request_id request);
  expected<void> close(request_id request, std::span<const stream_id> running);
  void poll();
  std::vector<ready_request> take_ready();
  expected<page_storage> storage_of(request_id request);
  expected<std::vector<blocker>> why_on_gpu(request_id request, group_id group, block_ordinal ordinal);
  expected<void> dense_ready(request_id request, group_id group);
  statistics take_statistics();
  expected<std::vector<std::string>> check_quiet();
  leftovers shut_down();

  // -- calls of a router (router_calls.cpp)
  // ---------------------------------------------------------------------------------------------------

  expected<router_news> take_router_events();
  expected<router_news> list_router_events();

  // -- calls of batch (batch_calls.cpp)
  // ------------------------------------------------------------------------------------

  expected<batch_id> create_batch(const batch_config& batch);
  void close_batch(batch_id id);
  table_view tables(batch_id id) const;
  expected<row_id> add(batch_id id, request_id request);
  expected<void> remove(batch_id id, request_id request);
  expected<publication> publish(batch_id id, std::span<const request_id> order, stream_id stream);
  expected<version_number> change_read(batch_id id, stream_id stream, bool begins);
  expected<step_result> step(batch_id id, const step_input& input);

  // -- for tests (test_hooks.cpp)

  /// Ends an actor as a crash would.
  void kill(const address& who);
  void repeat_completion(fence submitted) { send(copy_completed{submitted, {}}); }

private:
  struct batch_state {
    batch_config config;
    std::unique_ptr<device_memory> memory;
    table_layout layout;
    stream_id stream = {}; // of the latest publication
    version_number version = 0;
    std::unordered_map<request_id, row_seq> seen = {}; // what callers were told of since the last publication
    std::vector<request_id> seen_order = {};           // the same, in order of arrival
    fence_set after = {};                              // what the next launch waits for
    std::optional<std::vector<request_id>> order = {}; // its publisher has it, of the latest publication; none: refused
    std::vector<request_id> failed = {};               // rows of the latest publication that are too long
    std::shared_ptr<const std::atomic<std::uint64_t>> sent = {}; // messages to its publisher
    std::uint64_t sent_before = 0;       // as many with the latest publication; 0: it was refused, or there is none
    std::vector<stream_id> reading = {}; // one for each open read
    bool read_elsewhere = false;         // there have been reads on another stream than the publications'
    std::uint64_t checked_at = 0;        // `members_changes_` when all of `order` were in this batch
    std::vector<request_record*> members = {};       // of `order` then; none of them has gone while that is so
    std::unique_ptr<recording_device> recorded = {}; // its publisher's, when there is a recorder
  };

  /// A call that has been sent and may have been answered.
  struct pending_call {
    request_id request; // none: of another actor
    std::optional<any_message> reply;
    enum class effect : std::uint8_t { none, suspends, resumes } on_success = effect::none; // on the request's status
  };

  /// Marks the pending entry of a registration, which has no call number.
  static constexpr std::uint64_t registration_bit = std::uint64_t{1} << 63;

  /// The end of an actor without which nothing goes on ends the runtime (rule 10).
  template <class Handle>
  void end_with(const Handle& handle, const address& who);

  // -- sending and waiting (runtime_impl.cpp)
  // ------------------------------------------------------------------------------

  template <class... Where, class Message>
  void send(Message message, Where... where);
  template <class... Where, class Message>
  call_id call(request_id about, Message message, Where... where);
  void run();
  void run_dry();
  void run_until_answered(call_id id);
  void settle_arrivals();
  void arrive(engine_port::arrival message);
  void request_was_opened(const request_opened& done);
  void call_was_done(const call_done& done, pending_call::effect effect);
  void request_became_ready(const request_ready& ready);
  void request_was_lost(request_id request);
  expected<any_message> take_reply(call_id id);
  static error unexpected_reply(const any_message& reply);
  template <class Reply>
  expected<Reply> wait_for(call_id id);
  expected<call_done> wait_for_done(call_id id);

  /// The device as the actor `who` sees it; `place` holds it when calls are recorded.
  device& device_of(const address& who, std::unique_ptr<recording_device>& place);

  // -- requests
  // ------------------------------------------------------------------------------------------------------------

  expected<void> require_running() const;
  expected<void> require_router_events() const;
  expected<request_record*> find(request_id request);
  expected<batch_state*> find(batch_id id);
  expected<request_record*> find_record(request_id request);
  request_record* member_at(const batch_state& state, std::size_t place, request_id request) const;
  static bool has_order(const batch_state& state, std::span<const request_id> order);
  expected<publication> publish(batch_id id, std::span<const request_id> order, bool same_order, stream_id stream);
  history_report report(request_record& record, fence_set running = {});
  fence fence_on(stream_id stream);
  std::vector<stream_id> running_streams(const request_record& record, std::span<const stream_id> running) const;
  fence_set fences_on(std::span<const stream_id> streams);
  expected<void> require_no_capture(std::span<const stream_id> streams) const;
  void note_progress(request_record& record, const progress& made, stream_id written_on);
  expected<void> check_progress(const request_record& record, const progress& made) const;
  std::optional<call_id> send_advance(request_record& record, const progress& made, stream_id written_on,
                                      std::uint32_t capacity_tokens);
  call_id send_enter_decode(request_id request);
  expected<call_id> send_suspend(request_id request, std::span<const stream_id> running);
  expected<std::optional<call_id>> send_close(request_id request, std::span<const stream_id> running);
  std::optional<call_id> send_reserve(request_record& record, const reservation& wanted);
  expected<call_done> finish_suspend(request_id request, call_id id);
  expected<void> finish_close(request_id request, std::optional<call_id> id, std::span<const stream_id> running);
  expected<void> bury(request_id request, std::span<const stream_id> running);
  expected<decode_entry> finish_enter_decode(request_id request, call_id id);
  void note_grant(request_id request, row_seq seq, const fence_set& after, const std::vector<row_number>& unnames);
  void forget(request_id request);

  // Order matters: the actor system is declared before everything that holds handles.
  actor_host_ptr host_;
  std::shared_ptr<device> device_;
  std::unique_ptr<message_recorder> recorder_;
  std::unique_ptr<recording_device> recorded_for_storage_;
  engine_port port_;
  actor_environment environment_;
  std::unique_ptr<stepped_delivery> stepped_; // null: threaded

  std::unordered_map<request_id, request_record> requests_;
  std::unordered_map<batch_id, batch_state> batches_;
  std::unordered_map<call_id, pending_call> pending_;
  std::vector<fence> step_fences_; // of the current call, one for each stream
  std::vector<ready_request> ready_;
  held_router_events router_events_;

  struct closed_tables {
    std::unique_ptr<device_memory> memory;
    fence_set readers;
  };
  std::vector<closed_tables> closed_tables_; // freed when nothing reads them any more
  std::vector<batch_id> closing_;            // their streams are captured
  fence_set passed_;
  std::uint64_t last_call_ = 0;
  std::uint64_t last_request_ = 0;
  std::uint32_t last_batch_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t members_changes_ = 1; // times that a request came to a batch, left it, or was lost
  std::uint64_t publications_ = 0;
  std::uint64_t entries_ = 0;
  bool stopping_ = false;
  std::optional<leftovers> left_;
  std::optional<error> device_lost_; // what every call is told from then on
};

// -- sending, in terms of the outbox's rules about who receives what
// -------------------------------------------------------

template <class... Where, class Message>
void runtime_impl::send(Message message, Where... where) {
  outbox out;
  out.send(where..., std::move(message));
  environment_.post_all(address{actor_kind::engine, 0}, 0, out);
}

template <class... Where, class Message>
call_id runtime_impl::call(request_id about, Message message, Where... where) {
  message.call = call_id{++last_call_};
  const call_id id = message.call;
  pending_.emplace(id, pending_call{about, std::nullopt, pending_call::effect::none});
  send(std::move(message), where...);
  return id;
}

template <class Handle>
void runtime_impl::end_with(const Handle& handle, const address& who) {
  caf_bridge::when_ended(handle, [this, name = to_string(who)](bool normal) {
    if (!normal && !stopping_)
      port_.fail(name);
  });
}

template <class Reply>
expected<Reply> runtime_impl::wait_for(call_id id) {
  expected<any_message> reply = take_reply(id);
  if (!reply)
    return tl::unexpected<error>{reply.error()};
  if (auto* wanted = reply->get_if<Reply>())
    return std::move(*wanted);
  return tl::unexpected<error>{unexpected_reply(*reply)};
}

inline error error_of(const refusal& why) { return {why.code, why.message, why.numbers}; }

} // namespace kvferry
