// The calls on requests: each is checked here, sent to the request's actor, and waited for.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "actors/spawn.hpp"
#include "runtime/runtime_impl.hpp"

namespace kvferry {

expected<opened> runtime_impl::open(std::vector<token> prompt, const prefix_namespace& space) {
  if (auto up = require_running(); !up)
    return tl::unexpected<error>{up.error()};
  if (prompt.empty())
    return fail(error_code::invalid_argument, "prompt: it has no tokens; at least one is needed");
  step_fences_.clear();
  settle_arrivals();
  const request_id id{++last_request_};
  environment_.add(id, spawn_request_cache(host_->system, environment_, config, id));
  // Registered before its first message (rule 10); different senders, so the answer is waited for.
  const call_id registration{id.value() | registration_bit};
  pending_.emplace(registration, pending_call{});
  send(register_request{id});
  if (auto registered = wait_for<request_registered>(registration); !registered)
    return tl::unexpected<error>{registered.error()};
  request_record record; // before the answer: what comes behind it finds it
  record.status = request_record::state::loading;
  record.tokens = static_cast<std::uint32_t>(prompt.size());
  requests_.emplace(id, std::move(record));
  auto reply = wait_for<request_opened>(
      call(id, open_request{call_id::none(), std::move(prompt), space.adapter, space.salt}, id));
  if (reply && !reply->refused)
    return opened{id, reply->matched_tokens, reply->loading};
  requests_.erase(id);
  if (reply)
    return tl::unexpected<error>{error_of(*reply->refused)};
  send(bury_request{id, {}}); // nobody was told of its pages
  run();
  return tl::unexpected<error>{reply.error()};
}

// -- progress
// ----------------------------------------------------------------------------------------------------------

expected<void> runtime_impl::check_progress(const request_record& record, const progress& made) const {
  auto wrong = [&](std::string why) {
    return fail(error_code::invalid_argument,
                fmt::format("request {}: history_tokens {}: {}", made.request.value(), made.history_tokens, why));
  };
  if (made.history_tokens < record.history)
    return wrong(fmt::format("history never shrinks, it is {}", record.history));
  if (made.history_tokens > record.capacity)
    return wrong(fmt::format("there are slots for {} tokens; reserve first", record.capacity));
  if (made.history_tokens > record.tokens + made.accepted.size())
    return wrong(fmt::format("only {} tokens are known", record.tokens + made.accepted.size()));
  if (record.status != request_record::state::active)
    return fail(error_code::wrong_status, fmt::format("request {} is not active", made.request.value()));
  return {};
}

void runtime_impl::note_progress(request_record& record, const progress& made, stream_id written_on) {
  if (record.accepted.capacity() == 0 && !made.accepted.empty())
    record.accepted.reserve(config.tokens_per_block); // what comes in between two reports
  record.accepted.insert(record.accepted.end(), made.accepted.begin(), made.accepted.end());
  record.tokens += static_cast<std::uint32_t>(made.accepted.size());
  if (made.history_tokens > record.history && !written_on.is_none()) {
    const fence written = fence_on(written_on);
    record.written.add(written);
    record.last_written.add(written);
  }
  record.history = made.history_tokens;
}

/// Nothing is sent when no block is crossed. What is sent also asks for slots for `capacity_tokens`, of those that are
/// free.
std::optional<call_id> runtime_impl::send_advance(request_record& record, const progress& made, stream_id written_on,
                                                  std::uint32_t capacity_tokens) {
  note_progress(record, made, written_on);
  const std::uint32_t complete = record.history / config.tokens_per_block;
  const bool commits = made.commit && complete > record.committed;
  if (complete == record.reported / config.tokens_per_block && !commits)
    return std::nullopt;
  if (commits)
    record.committed = complete;
  return call(
      made.request,
      advance{call_id::none(), report(record), std::exchange(record.accepted, {}), capacity_tokens, made.commit, true},
      made.request);
}

expected<void> runtime_impl::advance_history(const progress& made, stream_id written_on) {
  step_fences_.clear();
  auto record = find(made.request);
  if (!record)
    return tl::unexpected<error>{record.error()};
  if (auto right = check_progress(**record, made); !right)
    return right;
  if (auto allowed = require_no_capture({{written_on}}); !allowed)
    return allowed;
  if (auto sent = send_advance(**record, made, written_on, 0))
    if (auto done = wait_for_done(*sent); !done)
      return tl::unexpected<error>{done.error()};
  return {};
}

expected<void> runtime_impl::commit(request_id request) {
  auto record = find(request);
  if (!record)
    return tl::unexpected<error>{record.error()};
  return advance_history({request, (*record)->history, {}, true}, stream_id::none());
}

std::optional<call_id> runtime_impl::send_reserve(request_record& record, const reservation& wanted) {
  if (wanted.capacity_tokens <= record.capacity)
    return std::nullopt;
  return call(
      wanted.request,
      advance{call_id::none(), report(record), std::exchange(record.accepted, {}), wanted.capacity_tokens, false},
      wanted.request);
}

expected<void> runtime_impl::reserve(request_id request, std::uint32_t capacity_tokens) {
  auto record = find(request);
  if (!record)
    return tl::unexpected<error>{record.error()};
  if (auto sent = send_reserve(**record, {request, capacity_tokens}))
    if (auto done = wait_for_done(*sent); !done)
      return tl::unexpected<error>{done.error()};
  return {};
}

// -- phase and status
// --------------------------------------------------------------------------------------------------

call_id runtime_impl::send_enter_decode(request_id request) {
  request_record& record = requests_.at(request);
  return call(request, kvferry::enter_decode{call_id::none(), report(record), std::exchange(record.accepted, {})},
              request);
}

expected<decode_entry> runtime_impl::finish_enter_decode(request_id request, call_id id) {
  auto done = wait_for_done(id);
  if (!done)
    return tl::unexpected<error>{done.error()};
  requests_.at(request).decoding = true;
  return decode_entry{done->moving, done->rebound, done->deferred};
}

expected<decode_entry> runtime_impl::enter_decode(request_id request) {
  auto record = find(request);
  if (!record)
    return tl::unexpected<error>{record.error()};
  return finish_enter_decode(request, send_enter_decode(request));
}

expected<call_id> runtime_impl::send_suspend(request_id request, std::span<const stream_id> running) {
  request_record& record = requests_.at(request);
  const auto streams = running_streams(record, running);
  if (auto allowed = require_no_capture(streams); !allowed)
    return tl::unexpected<error>{allowed.error()};
  const call_id id = call(
      request, suspend_request{call_id::none(), report(record, fences_on(streams)), std::exchange(record.accepted, {})},
      request);
  pending_.at(id).on_success = pending_call::effect::suspends;
  return id;
}

expected<void> runtime_impl::suspend(request_id request, std::span<const stream_id> running) {
  step_fences_.clear();
  auto record = find(request);
  if (!record)
    return tl::unexpected<error>{record.error()};
  auto sent = send_suspend(request, running);
  if (!sent)
    return tl::unexpected<error>{sent.error()};
  if (auto done = wait_for_done(*sent); !done)
    return tl::unexpected<error>{done.error()};
  return {};
}

expected<resumed> runtime_impl::resume(request_id request) {
  if (auto record = find(request); !record)
    return tl::unexpected<error>{record.error()};
  const call_id id = call(request, resume_request{}, request);
  pending_.at(id).on_success = pending_call::effect::resumes;
  auto done = wait_for_done(id);
  if (!done)
    return tl::unexpected<error>{done.error()};
  return resumed{done->loading};
}

expected<void> runtime_impl::shrink(request_id request, std::uint32_t capacity_tokens,
                                    std::span<const stream_id> running) {
  step_fences_.clear();
  auto record = find(request);
  if (!record)
    return tl::unexpected<error>{record.error()};
  const auto streams = running_streams(**record, running);
  if (auto allowed = require_no_capture(streams); !allowed)
    return allowed;
  auto done = wait_for_done(
      call(request, shrink_request{call_id::none(), report(**record, fences_on(streams)), capacity_tokens}, request));
  if (!done)
    return tl::unexpected<error>{done.error()};
  (*record)->capacity = done->capacity_tokens;
  return {};
}

expected<void> runtime_impl::drop(request_id request) {
  auto record = find(request);
  if (!record)
    return tl::unexpected<error>{record.error()};
  if (auto done = wait_for_done(call(request, drop_request{}, request)); !done)
    return tl::unexpected<error>{done.error()};
  (*record)->capacity = 0;
  return {};
}

/// None: there is nothing to wait for. It was closed before, or its actor has died.
expected<std::optional<call_id>> runtime_impl::send_close(request_id request, std::span<const stream_id> running) {
  settle_arrivals();
  auto found = requests_.find(request);
  if (found == requests_.end()) {
    if (request.is_none() || request.value() == 0 || request.value() > last_request_)
      return fail(error_code::unknown_request, fmt::format("request {} was never opened", request.value()));
    return std::nullopt;
  }
  if (found->second.lost) {
    if (auto buried = bury(request, running); !buried)
      return tl::unexpected<error>{buried.error()};
    return std::nullopt;
  }
  const auto streams = running_streams(found->second, running);
  if (auto allowed = require_no_capture(streams); !allowed)
    return tl::unexpected<error>{allowed.error()};
  return call(request, close_request{call_id::none(), report(found->second, fences_on(streams))}, request);
}

expected<void> runtime_impl::finish_close(request_id request, std::optional<call_id> id,
                                          std::span<const stream_id> running) {
  if (!id)
    return {};
  auto closed = wait_for<request_closed>(*id);
  if (!closed && closed.error().code == error_code::actor_died && !port_.failure() && requests_.contains(request))
    return bury(request, running); // its actor has died meanwhile
  forget(request);
  if (!closed)
    return tl::unexpected<error>{closed.error()};
  return {};
}

/// The registry keeps the pages of a request whose actor has died until it hears what may still run it.
expected<void> runtime_impl::bury(request_id request, std::span<const stream_id> running) {
  request_record& record = requests_.at(request);
  const auto streams = running_streams(record, running);
  if (auto allowed = require_no_capture(streams); !allowed)
    return allowed;
  send(bury_request{request, report(record, fences_on(streams))});
  run();
  forget(request);
  return {};
}

expected<void> runtime_impl::close(request_id request, std::span<const stream_id> running) {
  step_fences_.clear();
  if (auto up = require_running(); !up)
    return tl::unexpected<error>{up.error()};
  auto sent = send_close(request, running);
  if (!sent)
    return tl::unexpected<error>{sent.error()};
  return finish_close(request, *sent, running);
}

// -- completions and questions
// -------------------------------------------------------------------------------------------

void runtime_impl::poll() {
  if (!require_running())
    return;
  for (batch_id id : std::exchange(closing_, {}))
    close_batch(id);
  device_progress progress = device_->poll();
  if (progress.lost)
    device_lost_ = std::move(progress.lost);
  if (!progress.passed.covered_by(passed_) || !progress.failed.empty()) {
    passed_.add(progress.passed);
    streams_progressed input{passed_, {}};
    for (auto& failed : progress.failed)
      input.failed.push_back({failed.submitted, std::move(failed.positions)});
    send(std::move(input));
  }
  send(flush_copies{}); // also what was decided since the last publication: whoever polls waits for it
  run();
  settle_arrivals();
  std::erase_if(closed_tables_, [&](const closed_tables& closed) { return closed.readers.covered_by(passed_); });
}

std::vector<ready_request> runtime_impl::take_ready() {
  settle_arrivals();
  return std::exchange(ready_, {});
}

expected<page_storage> runtime_impl::storage_of(request_id request) {
  auto record = find(request);
  if (!record)
    return tl::unexpected<error>{record.error()};
  auto told = wait_for<storage_told>(call(request, query_storage{}, request));
  if (!told)
    return tl::unexpected<error>{told.error()};
  page_storage storage;
  if (auto batch = batches_.find((*record)->batch); batch != batches_.end())
    storage.version = batch->second.version;
  storage.change = told->seq;
  storage.groups.resize(config.groups.size());
  for (group_storage& group : storage.groups)
    group.blocks.resize(told->blocks);
  for (const page_change& page : told->pages)
    storage.groups[page.group.value()].blocks[page.ordinal] = {page.on, page.slot, page.ready};
  for (const group_history& history : told->history)
    storage.groups[history.group.value()].history_blocks = history.blocks;
  return storage;
}

expected<std::vector<blocker>> runtime_impl::why_on_gpu(request_id request, group_id group, block_ordinal ordinal) {
  if (auto record = find(request); !record)
    return tl::unexpected<error>{record.error()};
  auto told =
      wait_for<blockers_told>(call(request_id::none(), query_blockers{call_id::none(), request, group, ordinal}));
  if (!told)
    return tl::unexpected<error>{told.error()};
  if (told->refused)
    return fail(told->refused->code,
                fmt::format("request {} has no block {} in group {}", request.value(), ordinal, group.value()));
  std::vector<blocker> blockers;
  for (const told_blocker& b : told->blockers)
    blockers.push_back({static_cast<blocker::cause>(b.cause), b.request, b.ordinal});
  return blockers;
}

expected<void> runtime_impl::dense_ready(request_id request, group_id group) {
  if (auto record = find(request); !record)
    return tl::unexpected<error>{record.error()};
  if (group.value() >= config.groups.size())
    return fail(error_code::invalid_argument,
                fmt::format("group {}: there are {}", group.value(), config.groups.size()));
  auto told = wait_for<host_pages_told>(call(request, query_host_pages{call_id::none(), group}, request));
  if (!told)
    return tl::unexpected<error>{told.error()};
  if (!told->ordinals.empty())
    return fail(error_code::bound_to_host,
                fmt::format("request {}, group \"{}\": blocks {} are bound to host pages", request.value(),
                            config.groups[group.value()].name, fmt::join(told->ordinals, ", ")));
  return {};
}

expected<std::vector<std::string>> runtime_impl::check_quiet() {
  if (auto up = require_running(); !up)
    return tl::unexpected<error>{up.error()};
  auto told = wait_for<quiet_told>(call(request_id::none(), query_quiet{}));
  if (!told)
    return tl::unexpected<error>{told.error()};
  std::vector<std::string> findings = std::move(told->findings);
  for (const auto& [id, state] : batches_) {
    check_rows check;
    for (const claim_pages& claim : told->claims)
      if (auto record = requests_.find(claim.request); record != requests_.end() && record->second.batch == id)
        check.claims.push_back(claim);
    auto checked = wait_for<rows_checked>(call(request_id::none(), std::move(check), id));
    if (!checked)
      return tl::unexpected<error>{checked.error()};
    findings.insert(findings.end(), checked->findings.begin(), checked->findings.end());
  }
  return findings;
}

statistics runtime_impl::take_statistics() {
  statistics s;
  s.publications = publications_;
  s.entries_published = entries_;
  s.messages = environment_.handled();
  if (!require_running())
    return s;
  auto told = wait_for<counters_told>(call(request_id::none(), query_counters{}));
  if (!told)
    return s;
  s.pages_allocated = told->pages_allocated;
  s.pages_offloaded = told->pages_offloaded;
  s.pages_spilled = told->pages_spilled;
  s.pages_demoted = told->pages_demoted;
  s.pages_rebound_without_copy = told->pages_rebound_without_copy;
  s.pages_deferred = told->pages_deferred;
  s.pages_retried = told->pages_retried;
  s.pages_loaded = told->pages_loaded;
  s.pages_branched = told->pages_branched;
  s.pages_evicted = told->pages_evicted;
  s.copies_failed = told->copies_failed;
  s.prefix_blocks_hit = told->prefix_blocks_hit;
  std::ranges::copy(told->pages_by_host_run, s.pages_by_host_run.begin());
  s.bytes_to_host = told->bytes_to_host;
  s.bytes_to_gpu = told->bytes_to_gpu;
  return s;
}

} // namespace kvferry
