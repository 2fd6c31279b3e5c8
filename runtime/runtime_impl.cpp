#include "runtime/runtime_impl.hpp"

#include <fmt/format.h>

#include "actors/spawn.hpp"

namespace kvferry {

runtime_impl::runtime_impl(const configuration& configured, std::shared_ptr<device> target,
                           std::vector<group_pools> memory, std::unique_ptr<message_recorder> recorder,
                           delivery_strategy* strategy)
    : config(configured), pools(std::move(memory)), host_(make_actor_host(configured)), device_(std::move(target)),
      recorder_(std::move(recorder)), router_events_(config.router_events_max) {
  environment_.observer = recorder_.get();
  environment_.strategy = strategy;
  environment_.to_engine = [this](address from, std::uint64_t cause, any_message body) {
    port_.push({from, cause, std::move(body)});
  };
  if (config.scheduler == scheduler_kind::stepped) {
    stepped_ = std::make_unique<stepped_delivery>(environment_, host_->system.stepped(), config, strategy);
    environment_.hold = [this](caf_bridge::held_message message) { stepped_->hold(std::move(message)); };
  }
  environment_.registry = spawn_page_registry(host_->system, environment_, config);
  environment_.storage =
      spawn_storage(host_->system, environment_, device_of(address{actor_kind::storage, 0}, recorded_for_storage_));
  environment_.completions = spawn_completions(host_->system, environment_);
  end_with(environment_.registry, {actor_kind::page_registry, 0});
  end_with(environment_.storage, {actor_kind::storage, 0});
  end_with(environment_.completions, {actor_kind::completions, 0});
}

runtime_impl::~runtime_impl() { shut_down(); }

device& runtime_impl::device_of(const address& who, std::unique_ptr<recording_device>& place) {
  if (!recorder_ && environment_.strategy == nullptr)
    return *device_;
  place = std::make_unique<recording_device>(*device_, recorder_.get(), environment_.strategy, who);
  return *place;
}

/// Under `stepped` everything happens here; under `threaded` it happens elsewhere.
void runtime_impl::run() {
  if (stepped_)
    stepped_->run();
}

/// Every message, whatever a strategy would leave for later.
void runtime_impl::run_dry() {
  if (stepped_)
    while (stepped_->run_one()) {
    }
}

/// Of what a strategy leaves for later, only what the answer needs.
void runtime_impl::run_until_answered(call_id id) {
  if (environment_.strategy != nullptr)
    for (settle_arrivals(); !pending_.at(id).reply && stepped_->run_one();)
      settle_arrivals();
  run();
  settle_arrivals();
}

void runtime_impl::settle_arrivals() {
  while (auto message = port_.try_pop())
    arrive(std::move(*message));
}

void runtime_impl::arrive(engine_port::arrival message) {
  if (recorder_)
    recorder_->arrived(message.from, message.cause, message.body);
  if (const auto* ready = message.body.get_if<request_ready>()) {
    request_became_ready(*ready);
  } else if (const auto* lost = message.body.get_if<request_lost>()) {
    request_was_lost(lost->request);
  } else if (const auto* changed = message.body.get_if<index_changed>()) {
    router_events_.add(*changed);
  } else {
    const auto* registered = message.body.get_if<request_registered>();
    const call_id id = registered ? call_id{registered->request.value() | registration_bit} : call_of(message.body);
    auto pending = pending_.find(id);
    if (pending == pending_.end())
      return;
    // In the order of arrival: what comes behind an answer may change what it said.
    if (const auto* opened = message.body.get_if<request_opened>())
      request_was_opened(*opened);
    else if (const auto* done = message.body.get_if<call_done>())
      call_was_done(*done, pending->second.on_success);
    pending->second.reply = std::move(message.body);
  }
}

void runtime_impl::request_was_opened(const request_opened& done) {
  if (done.refused)
    return; // its record goes with the call
  request_record& record = requests_.at(done.request);
  const std::uint32_t t = config.tokens_per_block;
  record.status = done.loading ? request_record::state::loading : request_record::state::active;
  record.history = record.reported = done.matched_tokens;
  record.capacity = (done.matched_tokens + t - 1) / t * t;
  record.committed = done.matched_tokens / t;
  note_grant(done.request, 0, done.after, done.unnames);
}

void runtime_impl::call_was_done(const call_done& done, pending_call::effect effect) {
  auto found = requests_.find(done.request);
  if (found == requests_.end())
    return;
  request_record& record = found->second;
  if (done.capacity_tokens > 0)
    record.capacity = done.capacity_tokens;
  note_grant(done.request, done.seq, done.after, done.unnames);
  if (done.refused || effect == pending_call::effect::none)
    return;
  record.status = effect == pending_call::effect::suspends ? request_record::state::suspended
                  : done.loading                           ? request_record::state::loading
                                                           : request_record::state::active;
}

void runtime_impl::request_became_ready(const request_ready& ready) {
  auto found = requests_.find(ready.request);
  if (found == requests_.end())
    return;
  request_record& record = found->second;
  if (ready.runs)
    record.status = request_record::state::active;
  record.capacity = ready.capacity_tokens;
  record.history = record.reported = std::min(record.history, ready.history_tokens);
  record.committed = std::min(record.committed, record.history / config.tokens_per_block);
  ready_.push_back({ready.request, record.history, ready.load_failed});
  note_grant(ready.request, ready.seq, {}, {});
}

/// Invariant 13: every call gets a reply, also when the actor asked has died.
void runtime_impl::request_was_lost(request_id request) {
  ++members_changes_;
  if (auto found = requests_.find(request); found != requests_.end())
    found->second.lost = true;
  for (auto& [id, pending] : pending_)
    if (pending.request == request && !pending.reply)
      pending.reply = any_message{request_lost{request}};
}

expected<any_message> runtime_impl::take_reply(call_id id) {
  run_until_answered(id);
  while (!pending_.at(id).reply) {
    std::optional<engine_port::arrival> next;
    if (!stepped_ && !port_.failure())
      next = port_.wait_pop();
    if (!next) { // nothing will come any more
      pending_.erase(id);
      if (auto up = require_running(); !up)
        return tl::unexpected<error>{up.error()};
      return fail(error_code::runtime_stopped, "the call got no answer");
    }
    arrive(std::move(*next));
  }
  auto pending = pending_.find(id);
  any_message reply = std::move(*pending->second.reply);
  pending_.erase(pending);
  if (auto* lost = reply.get_if<request_lost>())
    return fail(error_code::actor_died, fmt::format("the actor of request {} has died", lost->request.value()));
  return reply;
}

/// E.g. the refusal of a call that was queued behind the request's end.
error runtime_impl::unexpected_reply(const any_message& reply) {
  if (const auto* done = reply.get_if<call_done>(); done != nullptr && done->refused)
    return error_of(*done->refused);
  return {error_code::runtime_stopped, fmt::format("unexpected answer: {}", name_of(reply)), {}};
}

expected<call_done> runtime_impl::wait_for_done(call_id id) {
  auto done = wait_for<call_done>(id);
  if (done && done->refused)
    return tl::unexpected<error>{error_of(*done->refused)};
  return done;
}

/// What a grant makes the next publication wait for.
void runtime_impl::note_grant(request_id request, row_seq seq, const fence_set& after,
                              const std::vector<row_number>& unnames) {
  auto found = requests_.find(request);
  if (found == requests_.end())
    return;
  request_record& record = found->second;
  auto batch = batches_.find(record.batch);
  if (batch == batches_.end()) {
    record.after.add(after);
    record.unnames.insert(record.unnames.end(), unnames.begin(), unnames.end());
    return;
  }
  batch_state& state = batch->second;
  auto told = [&](row_number number) {
    auto [place, fresh] = state.seen.emplace(number.request, number.seq);
    place->second = std::max(place->second, number.seq);
    if (fresh)
      state.seen_order.push_back(number.request);
  };
  if (seq != 0)
    told({request, seq});
  for (const row_number& unnamed : unnames)
    told(unnamed);
  state.after.add(after);
}

expected<void> runtime_impl::require_running() const {
  if (left_)
    return fail(error_code::runtime_stopped, "the runtime has been shut down");
  if (auto dead = port_.failure())
    return fail(error_code::actor_died, fmt::format("{} has died; the runtime has ended", *dead));
  if (device_lost_)
    return tl::unexpected<error>{*device_lost_};
  return {};
}

expected<request_record*> runtime_impl::find(request_id request) {
  if (auto up = require_running(); !up)
    return tl::unexpected<error>{up.error()};
  settle_arrivals();
  return find_record(request);
}

/// Where it is known that the runtime runs, and what has arrived was looked at.
expected<request_record*> runtime_impl::find_record(request_id request) {
  auto found = requests_.find(request);
  if (found == requests_.end())
    return fail(error_code::unknown_request, fmt::format("request {} is not open", request.value()));
  if (found->second.lost)
    return fail(error_code::actor_died, fmt::format("the actor of request {} has died", request.value()));
  return &found->second;
}

/// The record of a request that a step names where the batch's order has it, without a look-up; null: it has another
/// one there, or somebody has come or gone.
request_record* runtime_impl::member_at(const batch_state& state, std::size_t place, request_id request) const {
  if (!state.order || state.checked_at != members_changes_ || place >= state.members.size())
    return nullptr;
  return (*state.order)[place] == request ? state.members[place] : nullptr;
}

expected<runtime_impl::batch_state*> runtime_impl::find(batch_id id) {
  if (auto up = require_running(); !up)
    return tl::unexpected<error>{up.error()};
  auto found = batches_.find(id);
  if (found == batches_.end())
    return fail(error_code::runtime_stopped, fmt::format("batch {} is closed", id.value()));
  return &found->second;
}

/// One event per stream and call.
fence runtime_impl::fence_on(stream_id stream) {
  for (fence recorded : step_fences_)
    if (recorded.stream == stream)
      return recorded;
  return step_fences_.emplace_back(device_->record(stream));
}

/// Those named; none named: its batch's, and those that have written its history.
std::vector<stream_id> runtime_impl::running_streams(const request_record& record,
                                                     std::span<const stream_id> running) const {
  if (!running.empty())
    return {running.begin(), running.end()};
  std::vector<stream_id> streams = record.left;
  record.last_written.for_each([&](fence f) { streams.push_back(f.stream); });
  if (auto batch = batches_.find(record.batch); batch != batches_.end() && !batch->second.stream.is_none())
    streams.push_back(batch->second.stream);
  return streams;
}

fence_set runtime_impl::fences_on(std::span<const stream_id> streams) {
  fence_set fences;
  for (stream_id stream : streams)
    fences.add(fence_on(stream));
  return fences;
}

/// Design section 5: what cannot be captured is refused before anything is done.
expected<void> runtime_impl::require_no_capture(std::span<const stream_id> streams) const {
  for (stream_id stream : streams)
    if (!stream.is_none() && device_->capturing(stream))
      return fail(
          error_code::stream_capturing,
          fmt::format("stream {} is being captured into a graph: call before the capture begins or after it ends",
                      stream.value()));
  return {};
}

/// What the request's actor has not been told yet.
history_report runtime_impl::report(request_record& record, fence_set running) {
  record.reported = record.history;
  return {record.history, std::exchange(record.written, {}), std::move(running)};
}

void runtime_impl::forget(request_id request) {
  auto found = requests_.find(request);
  if (found == requests_.end())
    return;
  if (auto batch = batches_.find(found->second.batch); batch != batches_.end())
    batch->second.after.add(found->second.after);
  ++members_changes_;
  requests_.erase(found);
}

void runtime_impl::kill(const address& who) {
  actor_environment::current_route() = {who, who}; // no message of anybody's: it may overtake all
  const auto end = [](const auto& handle) {
    if (handle)
      caf_bridge::kill(handle);
  };
  switch (who.kind) {
  case actor_kind::engine:
  case actor_kind::device: break; // no actors
  case actor_kind::page_registry: end(environment_.registry); break;
  case actor_kind::storage: end(environment_.storage); break;
  case actor_kind::completions: end(environment_.completions); break;
  case actor_kind::request_cache: end(environment_.find(request_id{who.number})); break;
  case actor_kind::batch_publisher: end(environment_.find(batch_id{static_cast<std::uint32_t>(who.number)})); break;
  }
  run();
}

leftovers runtime_impl::shut_down() {
  if (left_)
    return *left_;
  leftovers left;
  run_dry();
  settle_arrivals();
  if (!port_.failure())
    if (auto told = wait_for<counters_told>(call(request_id::none(), query_counters{}))) {
      left.slots = told->slots_in_use;
      left.owners = told->owners;
      left.copies = told->copies;
    }
  left.requests = requests_.size();
  if (left.slots + left.owners + left.copies + left.requests > 0)
    left.description =
        fmt::format("{} slots, {} owners, {} copies, {} requests", left.slots, left.owners, left.copies, left.requests);
  if (recorder_)
    recorder_->input(address{actor_kind::engine, 0}, end_of_run{});
  stopping_ = true;
  environment_.stop_all();
  run_dry();
  host_->system.await_all_actors_done(); // until then actors read the handles
  environment_.clear();
  run_dry();
  if (recorder_)
    recorder_->flush();
  left_ = left;
  return left;
}

} // namespace kvferry
