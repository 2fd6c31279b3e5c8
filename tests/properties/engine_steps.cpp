// The random engine's publications: steps, what its kernels get, and reads on other streams.
#include <algorithm>

#include "tests/properties/random_engine.hpp"

namespace kvferry::test {

std::vector<request_id> random_engine::active_members(const batch_side& b) const {
  std::vector<request_id> active;
  for (const auto& [id, row] : b.members)
    if (model_.requests.at(id).status == model_status::active)
      active.push_back(id);
  return active;
}

/// The order of its own streams is an engine's business: a request's kernels on `stream` come after its earlier ones.
void random_engine::order_streams(const std::vector<request_id>& running, stream_id stream) {
  for (request_id id : running) {
    model_request& r = model_.requests.at(id);
    if (!r.last_stream.is_none() && r.last_stream != stream)
      gpu_->wait(stream, gpu_->record(r.last_stream));
    r.last_stream = stream;
  }
}

bool random_engine::publish_on(batch_side& b, const command& done) {
  const bool elsewhere = done.b % 8 == 7; // once in a while on the other batch's stream
  const std::size_t own = static_cast<std::size_t>(&b - batches_.data());
  return publish(b, batches_[elsewhere ? 1 - own : own].stream);
}

bool random_engine::publish(batch_side& b, stream_id stream) {
  const std::vector<request_id> order = active_members(b);
  order_streams(order, stream);
  auto done = b.of->publish(order, stream);
  const std::size_t number = static_cast<std::size_t>(&b - batches_.data());
  const bool news = !done || !b.shown || b.shown->version != done->version;
  if (news || !settling_)
    tell("publish batch {} on compute {}: {}", number, stream.value(),
         done ? fmt::format("version {}", done->version) : "refused, " + done.error().message);
  if (!done) {
    refused_ = true;
    if (done.error().code != error_code::read_open || b.open_reads == 0)
      wrong("no publication was to be refused: " + done.error().message);
    return false;
  }
  if (b.open_reads != 0)
    wrong("a publication was granted while a read is open");
  note_published(b, *done, order, stream);
  return wrong_.empty();
}

expected_row random_engine::expected_of(const model_request& r, const batch_side&) const {
  expected_row row;
  row.request = r.id;
  row.visible = r.status == model_status::active && fits(r);
  row.fits = fits(r) || r.status != model_status::active;
  row.kv = r.kv;
  row.written = r.written;
  for (const group_config& group : config_.groups)
    row.may_count.push_back(group.kind == group_kind::sparse && r.decoding ? model_.complete(r) : 0);
  return row;
}

void random_engine::note_published(batch_side& b, const publication& done, const std::vector<request_id>& order,
                                   stream_id stream) {
  const version_number last = b.shown ? b.shown->version : 0;
  if (done.version < last)
    wrong(fmt::format("version {} was published after version {}", done.version, last));
  for (request_id id : done.failed)
    if (!b.members.contains(id) || fits(model_.requests.at(id)))
      wrong(fmt::format("request {} is said not to fit its row", id.value()));
  const storages now = look();
  auto expected = std::make_shared<expected_tables>();
  expected->config = config_;
  expected->tables = b.of->tables();
  expected->version = done.version;
  expected->rows.resize(expected->tables.rows);
  for (const auto& [id, row] : b.members) {
    model_request& r = model_.requests.at(id);
    if (r.status == model_status::active && !fits(r) &&
        std::find(done.failed.begin(), done.failed.end(), id) == done.failed.end())
      wrong(fmt::format("request {} does not fit its row, and is not named", id.value()));
    expected_row shown = expected_of(r, b);
    if (auto found = now.find(id); found != now.end())
      shown.before = shown.after = found->second;
    if (auto found = places_.find(id); found != places_.end())
      shown.before = found->second;
    // A publication without a change does no device work, so reads come after the one that made the version. What was
    // lost since then, not having been reported, is written again.
    shown.ordered = r.written;
    if (b.shown && b.shown->version == done.version && b.shown->rows[row.value()])
      shown.ordered = std::min(r.written, b.shown->rows[row.value()]->ordered);
    expected->rows[row.value()] = std::move(shown);
  }
  for (request_id id : order)
    if (auto member = b.members.find(id); member != b.members.end() && fits(model_.requests.at(id)))
      expected->active.push_back(static_cast<std::int32_t>(member->second.value()));
  b.leaving.clear();
  b.shown = expected;
  b.shown_on = stream;
  if (done.version != 0) // else nothing was published yet
    gpu_->launch(stream, "entries", [expected, this](kernel&) { check_entries(*expected, wrong_); });
}

/// New tokens of every request that has slots for them, and attention over all of them.
void random_engine::launch(batch_side& b, std::uint32_t tokens) {
  std::vector<row_write> writes;
  std::string words;
  for (const auto& [id, row] : b.members) {
    model_request& r = model_.requests.at(id);
    if (r.status != model_status::active || !fits(r))
      continue;
    const std::uint32_t until = std::min({r.blocks * config_.tokens_per_block, r.kv.size(), r.written + tokens});
    if (until <= r.written)
      continue;
    writes.push_back({row.value(), r.written, until});
    words += fmt::format(", request {} tokens {} to {}", id.value(), r.written, until - 1);
    r.written = until;
    if (until == r.kv.size()) // the last known token has been computed: it gives the next one
      r.kv.push(static_cast<token>(until % 5 == 4 ? 20 : 10 + until % 3));
  }
  tell("  launch kernels{}", words);
  auto expected = b.shown;
  gpu_->launch(b.shown_on, "write", [=, this](kernel& gpu) { write_tokens(gpu, *expected, writes, wrong_); });
  gpu_->launch(b.shown_on, "attention", [=, this](kernel& gpu) { read_tokens(gpu, *expected, writes, true, wrong_); });
}

// -- a step in one call
// -----------------------------------------------------------------------------------------------

void random_engine::step(batch_side& b, const command& done) {
  if (b.open_reads != 0)
    return;
  settled_ = false;
  step_input input;
  input.stream = b.stream;
  std::vector<request_id> running = active_members(b);
  order_streams(running, b.stream);
  const bool ends_one = done.b % 16 == 15, rests_one = done.b % 16 == 14, adds = done.b % 2 == 0;
  for (request_id id : running) {
    const model_request& r = model_.requests.at(id);
    if (r.written > r.history)
      input.advance.push_back(progress_to(r, r.written, true));
    const bool first = id == running.front();
    if (first && ends_one) {
      input.close.push_back(id);
    } else if (first && rests_one) {
      input.suspend.push_back(id);
    } else {
      if (!r.decoding && r.written >= r.prompt)
        input.enter_decode.push_back(id);
      input.reserve.push_back({id, std::min(r.kv.size(), r.written + 1 + done.c % 12)});
      input.order.push_back(id);
    }
  }
  if (adds)
    for (const auto& [id, r] : model_.requests)
      if (r.status == model_status::active && !r.batch)
        input.order.push_back(id);
  order_streams(input.order, b.stream);
  auto result = b.of->step(input);
  std::string words;
  if (!result)
    return wrong("a step was refused: " + result.error().message);
  std::map<std::pair<request_id, step_call>, error> refusals;
  for (const refused_call& call : result->refused) {
    words += fmt::format(", request {} is refused: {}", call.request.value(), call.why.message);
    refusals.emplace(std::pair{call.request, call.call}, call.why);
  }
  tell("step of batch {}: {} advance, {} enter decode, {} suspend, {} close, {} reserve, {} in order, version {}{}",
       &b - batches_.data(), input.advance.size(), input.enter_decode.size(), input.suspend.size(), input.close.size(),
       input.reserve.size(), input.order.size(), result->version, words);
  auto granted = [&](request_id id, step_call call, std::string_view name, std::uint32_t blocks = 0) {
    model_request& r = model_.requests.at(id);
    auto found = refusals.find({id, call});
    if (found != refusals.end())
      refused(name, &r, found->second, blocks);
    else if (call != step_call::reserve || blocks > r.blocks)
      model_.check_granted(name, &r, wrong_);
    return found == refusals.end();
  };
  for (const progress& made : input.advance)
    if (granted(made.request, step_call::advance, "advance"))
      took_progress(model_.requests.at(made.request), made);
  for (request_id id : input.enter_decode)
    if (granted(id, step_call::enter_decode, "enter_decode"))
      model_.requests.at(id).decoding = true;
  for (request_id id : input.suspend)
    if (granted(id, step_call::suspend, "suspend")) {
      model_.requests.at(id).status = model_status::suspended;
      model_.requests.at(id).written = model_.requests.at(id).history;
    }
  for (request_id id : input.close)
    if (granted(id, step_call::close, "close"))
      forget(id);
  for (const reservation& wanted : input.reserve) {
    const std::uint32_t blocks = model_.blocks_of(wanted.capacity_tokens);
    const bool named =
        std::find(result->granted.begin(), result->granted.end(), wanted.request) != result->granted.end();
    const bool has = granted(wanted.request, step_call::reserve, "reserve", blocks);
    if (has != named)
      wrong(fmt::format("the reservation of request {} is {} granted, and {} refused", wanted.request.value(),
                        named ? "" : "not", has ? "not" : ""));
    if (has)
      model_.requests.at(wanted.request).blocks = std::max(model_.requests.at(wanted.request).blocks, blocks);
  }
  take(result->ready);
  for (request_id id : input.order)
    if (model_request& r = model_.requests.at(id); !r.batch && !refusals.contains({id, step_call::add}))
      join(r, static_cast<std::uint32_t>(&b - batches_.data())); // again: tells its row
  order_streams(active_members(b), b.stream);
  note_published(b, {result->version, 0, result->failed_rows}, input.order, b.stream);
  refused_ = false;
  if (wrong_.empty())
    launch(b, 1 + done.c % 12);
}

// -- reads on another stream
// ------------------------------------------------------------------------------------------

void random_engine::begin_read(batch_side& b) {
  if (b.open_reads >= 2)
    return;
  auto version = b.of->begin_read(b.reader);
  tell("begin to read batch {}: {}", &b - batches_.data(),
       version ? fmt::format("version {}", *version) : "refused, " + version.error().message);
  if (!version) {
    refused_ = true;
    if (version.error().code != error_code::not_published || (b.shown && b.shown->version != 0))
      wrong("a read of a published batch was refused");
    return;
  }
  if (!b.shown || *version != b.shown->version)
    return wrong("a read was granted, of another version than was published");
  ++b.open_reads;
  auto expected = b.shown;
  gpu_->launch(b.reader, "reader", [=, this](kernel& gpu) {
    check_entries(*expected, wrong_);
    read_tokens(gpu, *expected, {}, false, wrong_);
  });
}

void random_engine::end_read(batch_side& b) {
  if (b.open_reads == 0)
    return;
  --b.open_reads;
  auto done = b.of->end_read(b.reader);
  tell("end the read of batch {}", &b - batches_.data());
  if (!done)
    wrong("the end of a read was refused: " + done.error().message);
}

} // namespace kvferry::test
