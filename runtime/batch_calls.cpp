// The calls on batches: rows, publications, and a step's control work in one call.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <type_traits>

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
      batches_.emplace(id, batch_state{.config = batch, .memory = std::move(*memory), .layout = std::move(layout)});
  batch_state& state = place->second;
  auto publisher = spawn_batch_publisher(host_->system, environment_, config, batch, id,
                                         device_of(address_of(id), state.recorded), *state.memory);
  end_with(publisher, address_of(id));
  state.sent = environment_.add(id, std::move(publisher));
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
        record.leave_batch(state.stream);
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
  auto left = batches_.find(id);
  (*record)->leave_batch(left == batches_.end() ? stream_id::none() : left->second.stream);
  ++members_changes_;
  return {};
}

/// The publisher has it: it need not be sent again.
bool runtime_impl::has_order(const batch_state& state, std::span<const request_id> order) {
  static_assert(std::has_unique_object_representations_v<request_id>); // in one sweep: each step does it
  return state.order && state.order->size() == order.size() &&
         (order.empty() || std::memcmp(state.order->data(), order.data(), order.size_bytes()) == 0);
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
  const std::uint64_t sent = state.sent->load(std::memory_order_acquire);
  // Whatever the caller was told of was told to the publisher before: whoever answers sends `row_changed` first. So
  // nothing can have changed, and nothing that was granted waits, when it was sent nothing.
  if (same_order && stream == state.stream && sent == state.sent_before && state.after.empty()) {
    send(published_unchanged{id});
    run();
    settle_arrivals();
    return publication{state.version, 0, state.failed};
  }
  state.sent_before = 0;
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
  state.failed = done->failed;
  state.sent_before = sent + 1;
  return publication{done->version, done->entries, std::move(done->failed)};
}

expected<version_number> runtime_impl::change_read(batch_id id, stream_id stream, bool begins) {
  auto state = find(id);
  if (!state)
    return tl::unexpected<error>{state.error()};
  std::vector<stream_id> touched{stream};
  if (begins && stream != (*state)->stream && !(*state)->read_elsewhere)
    touched.push_back((*state)->stream); // from now on publications leave the place that such reads wait for
  if (auto allowed = require_no_capture(touched); !allowed)
    return tl::unexpected<error>{allowed.error()};
  auto changed = wait_for<read_changed>(begins ? call(request_id::none(), begin_read{call_id::none(), stream}, id)
                                               : call(request_id::none(), end_read{call_id::none(), stream}, id));
  if (!changed)
    return tl::unexpected<error>{changed.error()};
  if (changed->refused)
    return tl::unexpected<error>{error_of(*changed->refused)};
  (*state)->read_elsewhere = (*state)->read_elsewhere || (begins && stream != (*state)->stream);
  std::vector<stream_id>& reading = (*state)->reading;
  if (begins)
    reading.push_back(stream);
  else
    reading.erase(std::find(reading.begin(), reading.end(), stream));
  return changed->version;
}

/// Calls of one kind go out together; what frees slots is done before what wants them. A request that comes to the end
/// of its blocks asks for the next one with the same message, which it gets from slots that are free.
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
    auto record = find_record(request);
    if (!record)
      refuse(request, call, record.error());
    return record ? *record : nullptr;
  };
  using sent_call = std::pair<request_id, call_id>;
  std::vector<sent_call> advances, entries, suspensions, reservations;

  auto known_at = [&](std::size_t place, request_id request, step_call call) {
    request_record* const member = member_at(**state, place, request);
    return member != nullptr ? member : known(request, call);
  };
  auto wanted_at = [&](std::size_t place, request_id request) -> std::uint32_t {
    const bool named = place < input.reserve.size() && input.reserve[place].request == request;
    return named ? input.reserve[place].capacity_tokens : 0;
  };
  for (std::size_t place = 0; place < input.advance.size(); ++place) {
    const progress& made = input.advance[place];
    request_record* const record = known_at(place, made.request, step_call::advance);
    if (record == nullptr)
      continue;
    if (auto right = check_progress(*record, made); !right)
      refuse(made.request, step_call::advance, right.error());
    else if (auto sent = send_advance(*record, made, input.stream, wanted_at(place, made.request)))
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

  settle_arrivals();
  result.granted.reserve(input.reserve.size());
  std::size_t place = 0;
  for (const reservation& wanted : input.reserve)
    if (request_record* record = known_at(place++, wanted.request, step_call::reserve)) {
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
  std::optional<std::vector<request_record*>> members; // of an order that was looked through
  if (!same_order || checked_at != members_changes_) {
    const std::size_t refused = result.refused.size();
    std::uint64_t changes = members_changes_; // when nobody but these comes, and nobody is lost
    members.emplace();
    for (request_id request : input.order) {
      request_record* const record = known(request, step_call::add);
      if (record != nullptr && record->batch != id) {
        ++changes;
        if (auto row = add(id, request); !row)
          refuse(request, step_call::add, row.error());
      }
      members->push_back(record);
    }
    checked_at = result.refused.size() == refused && changes == members_changes_ ? members_changes_ : 0;
  }
  const auto begin = std::chrono::steady_clock::now();
  auto done = publish(id, input.order, same_order, input.stream);
  result.ready = take_ready();
  if (!done) { // the rest was done, and the caller has to know of it
    result.version = (*state)->version;
    result.not_published = done.error();
    return result;
  }
  (*state)->checked_at = checked_at; // now the order is the batch's, and its members with it
  if (members)
    (*state)->members = std::move(*members);
  result.version = done->version;
  result.publish_us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
  result.failed_rows = std::move(done->failed);
  return result;
}

} // namespace kvferry
