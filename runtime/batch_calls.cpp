// The calls on batches: rows, publications, and a step's control work in one call.
#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "actors/spawn.hpp"
#include "runtime/runtime_impl.hpp"

namespace kvferry {

expected<batch_id> runtime_impl::create_batch(const batch_config& batch) {
  if (auto up = require_running(); !up)
    return tl::unexpected<error>{up.error()};
  if (auto right = validate(batch); !right)
    return tl::unexpected<error>{right.error()};
  table_layout layout{config.groups.size(), batch};
  auto memory = device_->allocate_tables(layout.bytes, layout.ones_bytes);
  if (!memory)
    return tl::unexpected<error>{memory.error()};
  const batch_id id{++last_batch_};
  if (recorder_)
    recorder_->input(address_of(id), kvferry::create_batch{batch.rows, batch.max_blocks});
  auto [place, fresh] =
      batches_.emplace(id, batch_state{batch, std::move(*memory), std::move(layout), {}, 0, {}, {}, {}, {}, {}, 0, {}});
  batch_state& state = place->second;
  auto publisher = spawn_batch_publisher(host_->system, environment_, config, batch, id,
                                         device_of(address_of(id), state.recorded), *state.memory);
  end_with(publisher, address_of(id));
  environment_.add(id, std::move(publisher));
  return id;
}

void runtime_impl::close_batch(batch_id id) {
  auto found = batches_.find(id);
  if (found == batches_.end())
    return;
  batch_state& state = found->second;
  std::vector<stream_id> readers_on = state.reading;
  readers_on.push_back(state.stream);
  if (!left_ && require_running() && !require_no_capture(readers_on)) {
    closing_.push_back(id); // the last readers have no fence yet, and none can be recorded: poll tries again
    return;
  }
  if (!left_) {
    step_fences_.clear();
    fence_set readers;
    if (!state.stream.is_none())
      readers.add(fence_on(state.stream));
    auto closed = wait_for<batch_closed>(
        call(request_id::none(), kvferry::close_batch{call_id::none(), readers}, id)); // ends in any case
    closed_tables_.push_back({std::move(state.memory), closed ? closed->readers : readers});
    for (auto& [request, record] : requests_)
      if (record.batch == id) {
        record.batch = batch_id::none();
        record.after.add(state.after);
      }
    ++members_changes_;
  }
  batches_.erase(id);
}

table_view runtime_impl::tables(batch_id id) const {
  const batch_state& state = batches_.at(id);
  return state.layout.view(state.memory->data());
}

expected<row_id> runtime_impl::add(batch_id id, request_id request) {
  auto record = find(request);
  if (!record)
    return tl::unexpected<error>{record.error()};
  if (auto state = find(id); !state)
    return tl::unexpected<error>{state.error()};
  auto done = wait_for<call_done>(call(request, join_batch{call_id::none(), id}, request));
  if (!done)
    return tl::unexpected<error>{done.error()};
  if (done->refused)
    return tl::unexpected<error>{error_of(*done->refused)};
  (*record)->batch = id;
  ++members_changes_;
  fence_set after = std::exchange((*record)->after, {});
  after.add((*record)->last_written);
  note_grant(request, done->seq, after, std::exchange((*record)->unnames, {}));
  return done->row;
}

expected<void> runtime_impl::remove(batch_id id, request_id request) {
  auto record = find(request);
  if (!record)
    return tl::unexpected<error>{record.error()};
  if ((*record)->batch != id)
    return {};
  auto done = wait_for<call_done>(call(request, leave_batch{}, request));
  if (!done)
    return tl::unexpected<error>{done.error()};
  (*record)->batch = batch_id::none();
  ++members_changes_;
  return {};
}

/// The publisher has it: it need not be sent again.
bool runtime_impl::has_order(const batch_state& state, std::span<const request_id> order) {
  return state.order && std::ranges::equal(*state.order, order);
}

expected<publication> runtime_impl::publish(batch_id id, std::span<const request_id> order, stream_id stream) {
  auto state = find(id);
  if (!state)
    return tl::unexpected<error>{state.error()};
  return publish(id, order, has_order(**state, order), stream);
}

/// `same_order`: the publisher has it.
expected<publication> runtime_impl::publish(batch_id id, std::span<const request_id> order, bool same_order,
                                            stream_id stream) {
  auto found = find(id);
  if (!found)
    return tl::unexpected<error>{found.error()};
  batch_state& state = **found;
  if (auto allowed = require_no_capture({{stream, state.stream}}); !allowed)
    return tl::unexpected<error>{allowed.error()};
  settle_arrivals();
  kvferry::publish message{call_id::none(), {}, {}, stream, state.after, passed_};
  auto shown = std::exchange(state.order, {}); // none until it is known that it was not refused
  if (!same_order) {
    shown = message.order = std::vector<request_id>{order.begin(), order.end()};
    state.checked_at = 0;
  }
  for (request_id request : state.seen_order)
    message.seen.push_back({request, state.seen.at(request)});
  send(flush_copies{});
  auto done = wait_for<published>(call(request_id::none(), std::move(message), id));
  if (!done)
    return tl::unexpected<error>{done.error()};
  if (done->refused)
    return tl::unexpected<error>{error_of(*done->refused)};
  state.seen.clear();
  state.seen_order.clear();
  state.after = {};
  publications_ += done->version != state.version ? 1u : 0u;
  entries_ += done->entries;
  state.version = done->version;
  state.stream = stream;
  state.order = std::move(shown);
  return publication{done->version, done->entries, std::move(done->failed)};
}

expected<version_number> runtime_impl::change_read(batch_id id, stream_id stream, bool begins) {
  auto state = find(id);
  if (!state)
    return tl::unexpected<error>{state.error()};
  if (auto allowed = require_no_capture({{stream}}); !allowed)
    return tl::unexpected<error>{allowed.error()};
  auto changed = wait_for<read_changed>(begins ? call(request_id::none(), begin_read{call_id::none(), stream}, id)
                                               : call(request_id::none(), end_read{call_id::none(), stream}, id));
  if (!changed)
    return tl::unexpected<error>{changed.error()};
  if (changed->refused)
    return tl::unexpected<error>{error_of(*changed->refused)};
  std::vector<stream_id>& reading = (*state)->reading;
  if (begins)
    reading.push_back(stream);
  else
    reading.erase(std::find(reading.begin(), reading.end(), stream));
  return changed->version;
}

/// Calls of one kind go out together; what frees slots is done before what wants them.
expected<step_result> runtime_impl::step(batch_id id, const step_input& input) {
  auto state = find(id);
  if (!state)
    return tl::unexpected<error>{state.error()};
  if (auto allowed = require_no_capture({{input.stream, (*state)->stream}}); !allowed)
    return tl::unexpected<error>{allowed.error()};
  step_fences_.clear();
  ++steps_;
  if (recorder_)
    recorder_->set_step(steps_);
  settle_arrivals();
  step_result result;
  auto refuse = [&](request_id request, step_call call, error why) {
    result.refused.push_back({request, call, std::move(why)});
  };
  auto known = [&](request_id request, step_call call) {
    auto record = find(request);
    if (!record)
      refuse(request, call, record.error());
    return record ? *record : nullptr;
  };
  using sent_call = std::pair<request_id, call_id>;
  std::vector<sent_call> advances, entries, suspensions, reservations;

  for (const progress& made : input.advance)
    if (request_record* record = known(made.request, step_call::advance)) {
      if (auto right = check_progress(*record, made); !right)
        refuse(made.request, step_call::advance, right.error());
      else if (auto sent = send_advance(*record, made, input.stream))
        advances.emplace_back(made.request, *sent);
    }
  for (request_id request : input.enter_decode)
    if (known(request, step_call::enter_decode))
      entries.emplace_back(request, send_enter_decode(request));
  for (request_id request : input.suspend)
    if (known(request, step_call::suspend)) {
      if (auto sent = send_suspend(request, {}))
        suspensions.emplace_back(request, *sent);
      else
        refuse(request, step_call::suspend, sent.error());
    }
  std::vector<std::pair<request_id, std::optional<call_id>>> closes;
  for (request_id request : input.close)
    if (auto sent = send_close(request, {}))
      closes.emplace_back(request, *sent);
    else
      refuse(request, step_call::close, sent.error());
  for (auto [request, sent] : advances)
    if (auto done = wait_for_done(sent); !done)
      refuse(request, step_call::advance, done.error());
  for (auto [request, sent] : entries)
    if (auto entered = finish_enter_decode(request, sent); !entered)
      refuse(request, step_call::enter_decode, entered.error());
  for (auto [request, sent] : suspensions)
    if (auto done = wait_for_done(sent); !done)
      refuse(request, step_call::suspend, done.error());
  for (auto [request, sent] : closes)
    if (auto closed = finish_close(request, sent, {}); !closed)
      refuse(request, step_call::close, closed.error());

  result.granted.reserve(input.reserve.size());
  for (const reservation& wanted : input.reserve)
    if (request_record* record = known(wanted.request, step_call::reserve)) {
      if (auto sent = send_reserve(*record, wanted))
        reservations.emplace_back(wanted.request, *sent);
      else
        result.granted.push_back(wanted.request);
    }
  for (auto [request, sent] : reservations)
    if (auto done = wait_for_done(sent))
      result.granted.push_back(request);
    else
      refuse(request, step_call::reserve, done.error());

  settle_arrivals();
  std::uint64_t checked_at = (*state)->checked_at;
  const bool same_order = has_order(**state, input.order);
  if (!same_order || checked_at != members_changes_) {
    const std::size_t refused = result.refused.size();
    for (request_id request : input.order)
      if (request_record* record = known(request, step_call::add); record != nullptr && record->batch != id)
        if (auto row = add(id, request); !row)
          refuse(request, step_call::add, row.error());
    checked_at = result.refused.size() == refused ? members_changes_ : 0;
  }
  const auto begin = std::chrono::steady_clock::now();
  auto done = publish(id, input.order, same_order, input.stream);
  result.ready = take_ready();
  if (!done) { // the rest was done, and the caller has to know of it
    result.version = (*state)->version;
    result.not_published = done.error();
    return result;
  }
  (*state)->checked_at = checked_at;
  result.version = done->version;
  result.publish_us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
  result.failed_rows = std::move(done->failed);
  return result;
}

} // namespace kvferry
