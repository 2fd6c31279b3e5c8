// Steps on batches: rows, publications, reads, and a whole step in one call.
#include <algorithm>

#include <fmt/ranges.h>

#include "examples/scenario/took.hpp"

namespace scenarios {

using state = request_record::state;

void world::create_batch(const std::string& name, const kvferry::batch_config& config,
                         const std::optional<refusal>& refused) {
  if (batches_.contains(name))
    return find(fmt::format("batch \"{}\" is there already", name));
  auto made = runtime_->create_batch(config);
  if (!took(made, refused))
    return;
  batch_record b;
  b.batch = std::move(*made);
  b.tables = b.batch->tables();
  batches_.emplace(name, std::move(b));
}

void world::close_batch(const std::string& name) {
  batch_record& b = batches_.at(name);
  *b.open = false; // kernels in flight must not look at its tables any more
  for (const std::string& member : b.members)
    requests_.at(member).batch.clear();
  batches_.erase(name);
}

bool world::add_to(request_record& r, const std::string& name, batch_record& b, const std::string& batch,
                   const std::optional<refusal>& refused) {
  if (!took(b.batch->add(r.id), refused))
    return false;
  if (r.batch != batch)
    b.members.push_back(name);
  r.batch = batch;
  return true;
}

/// True when it was published.
bool world::publish(batch_record& b, const std::vector<kvferry::request_id>& order, kvferry::stream_id on,
                    const publish_step& wanted) {
  const kvferry::version_number before = b.version;
  auto published = b.batch->publish(order, on);
  if (!took(published, wanted.refused))
    return false;
  must_be("entries", wanted.entries, published->entries);
  must_be("changed", wanted.changed, published->version != before);
  note_published(b, published->version, published->failed, on);
  if (wanted.failed) {
    std::set<std::string> should;
    for (const request_name& failed : *wanted.failed)
      should.insert(failed.text);
    if (should != b.failed)
      find(fmt::format("failed are {}, but should be {}", b.failed, should));
  }
  std::optional<std::set<std::uint64_t>> rows;
  if (wanted.rows) {
    rows.emplace();
    for (kvferry::request_id id : ids(*wanted.rows))
      rows->insert(id.value());
  }
  launch_check(b, on, std::move(rows));
  return true;
}

void world::note_published(batch_record& b, kvferry::version_number version,
                           const std::vector<kvferry::request_id>& failed, kvferry::stream_id on) {
  b.version = version;
  b.stream = on;
  b.failed.clear();
  for (kvferry::request_id id : failed)
    b.failed.insert(name_of(id));
  b.shown = plan_of(b);
}

void world::run(const create_batch_step& step) {
  if (runtime_)
    create_batch(step.batch.text, {step.rows, step.max_blocks, 1}, step.refused);
}

void world::run(const close_batch_step& step) {
  if (known(step.batch) != nullptr)
    close_batch(step.batch.text);
}

void world::run(const add_step& step) {
  request_record* r = known(step.request);
  batch_record* b = known(step.batch);
  if (r == nullptr || b == nullptr)
    return;
  auto row = b->batch->add(r->id);
  if (!took(row, step.refused))
    return;
  must_be("row", step.row, row->value());
  if (r->batch != step.batch.text)
    b->members.push_back(step.request.text);
  r->batch = step.batch.text;
}

void world::run(const remove_step& step) {
  request_record* r = known(step.request);
  batch_record* b = known(step.batch);
  if (r != nullptr && b != nullptr && took(b->batch->remove(r->id), step.refused) && r->batch == step.batch.text)
    note_left(*r, step.request.text);
}

void world::run(const publish_step& step) {
  batch_record* b = known(step.batch);
  if (b == nullptr)
    return;
  std::vector<kvferry::request_id> order;
  if (step.order)
    order = ids(*step.order);
  else
    for (const std::string& name : b->members)
      if (requests_.at(name).status == state::active)
        order.push_back(requests_.at(name).id);
  publish(*b, order, stream(step.stream), step);
}

void world::run(const begin_read_step& step) {
  batch_record* b = known(step.batch);
  if (b == nullptr)
    return;
  const kvferry::stream_id on = stream(step.stream);
  auto began = b->batch->begin_read(on);
  if (!took(began, step.refused))
    return;
  if (*began != b->version)
    find(fmt::format("reads version {}, but {} was published last", *began, b->version));
  b->reads.push_back(on);
  launch_check(*b, on);
}

/// What is read at the end is what was there at the beginning.
void world::run(const end_read_step& step) {
  batch_record* b = known(step.batch);
  if (b == nullptr)
    return;
  const kvferry::stream_id on = stream(step.stream);
  const auto open = std::find(b->reads.begin(), b->reads.end(), on);
  if (open != b->reads.end())
    launch_check(*b, on);
  if (took(b->batch->end_read(on), step.refused) && open != b->reads.end())
    b->reads.erase(open);
}

namespace {

std::string_view word_of(kvferry::step_call call) {
  switch (call) {
  case kvferry::step_call::advance: return "advance";
  case kvferry::step_call::enter_decode: return "enter_decode";
  case kvferry::step_call::suspend: return "suspend";
  case kvferry::step_call::close: return "close";
  case kvferry::step_call::reserve: return "reserve";
  case kvferry::step_call::add: return "add";
  }
  return "?";
}

} // namespace

/// Under any_order: without the requests that cannot do what the step wants of them, now.
step_step world::without_unable(step_step step) {
  if (!options_.any_order)
    return step;
  auto unable = [&](const request_name& name, bool also_loading) {
    auto found = requests_.find(name.text);
    const bool able = found != requests_.end() && (found->second.status == state::active ||
                                                   (also_loading && found->second.status == state::loading));
    skipped_ = skipped_ || !able;
    return !able;
  };
  std::erase_if(step.run, [&](const run_in_step& run) { return unable(run.request, false); });
  std::erase_if(step.enter_decode, [&](const request_name& name) { return unable(name, false); });
  std::erase_if(step.suspend, [&](const request_name& name) { return unable(name, true); });
  return step;
}

void world::run(const step_step& given) {
  const step_step step = without_unable(given);
  batch_record* b = known(step.batch);
  if (b == nullptr)
    return;
  for (const run_in_step& run : step.run)
    if (known(run.request) == nullptr)
      return;
  for (const auto* names : {&step.enter_decode, &step.suspend, &step.close})
    if (ids(*names).size() != names->size())
      return;
  kvferry::step_input input;
  input.stream = stream(step.stream);
  input.enter_decode = ids(step.enter_decode);
  input.suspend = ids(step.suspend);
  input.close = ids(step.close);
  for (auto& [name, r] : requests_)
    if (r.status == state::active && r.written > r.reported)
      input.advance.push_back(progress_of(r, r.written, true));
  for (const run_in_step& run : step.run) {
    const kvferry::request_id id = known(run.request)->id;
    input.reserve.push_back({id, run.until});
    input.order.push_back(id);
  }
  auto done = b->batch->step(input);
  if (!took(done, {}))
    return;
  if (done->not_published && done_without(*done->not_published))
    skipped_ = true;
  else if (done->not_published)
    find(fmt::format("the publication was refused with {}: {}", to_string(done->not_published->code),
                     done->not_published->message));

  std::set<std::pair<std::string, std::string_view>> refused;
  for (const kvferry::refused_call& call : done->refused) {
    const auto wanted = std::find_if(step.refused.begin(), step.refused.end(), [&](const refused_in_step& w) {
      return w.request.text == name_of(call.request) && w.call == word_of(call.call);
    });
    refused.emplace(name_of(call.request), word_of(call.call));
    const bool next_step_helps =
        call.why.code == kvferry::error_code::copies_in_flight || call.why.code == kvferry::error_code::publish_first;
    if (wanted == step.refused.end() && ((options_.any_order && next_step_helps) || done_without(call.why)))
      skipped_ = true;
    else if (wanted == step.refused.end())
      find(fmt::format("{} of \"{}\" was refused with {}: {}", word_of(call.call), name_of(call.request),
                       to_string(call.why.code), call.why.message));
    else
      compare(wanted->why, call.why);
  }
  for (const refused_in_step& wanted : step.refused)
    if (as_planned() && !refused.contains({wanted.request.text, wanted.call}))
      find(fmt::format("{} of \"{}\" was not refused, but should be with {}", wanted.call, wanted.request.text,
                       to_string(wanted.why.code)));

  for (const kvferry::progress& made : input.advance)
    if (const std::string name = name_of(made.request); !refused.contains({name, "advance"}))
      note_reported(requests_.at(name), made.history_tokens);
  for (const request_name& name : step.enter_decode)
    if (!refused.contains({name.text, "enter_decode"}))
      requests_.at(name.text).decoding = true;
  for (const request_name& name : step.suspend)
    if (!refused.contains({name.text, "suspend"}))
      become(requests_.at(name.text), state::suspended);
  for (const request_name& name : step.close)
    if (!refused.contains({name.text, "close"})) {
      requests_.at(name.text).status = state::closed;
      note_left(requests_.at(name.text), name.text);
    }
  for (const run_in_step& run : step.run)
    if (request_record& r = requests_.at(run.request.text); !refused.contains({run.request.text, "add"})) {
      if (r.batch != step.batch.text)
        b->members.push_back(run.request.text);
      r.batch = step.batch.text;
      if (!refused.contains({run.request.text, "reserve"}))
        note_capacity(r, run.until);
    }
  note_ready(done->ready);
  check_ready(step.ready, {});
  if (done->not_published && !as_planned())
    return; // nothing new can be read or written
  note_published(*b, done->version, done->failed_rows, input.stream);
  launch_check(*b, input.stream);
  for (const run_in_step& run : step.run)
    if (request_record& r = requests_.at(run.request.text);
        r.batch == step.batch.text && !refused.contains({run.request.text, "reserve"}) && run.until > r.written)
      launch_write(r, run.until, input.stream);
}

} // namespace scenarios
