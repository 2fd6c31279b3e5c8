#include "examples/scenario/world.hpp"

#include <algorithm>

#include "examples/scenario/took.hpp"

namespace scenarios {

world::world(run_options options)
    : options_(std::move(options)), device_(kvferry::host_device::create(options_.device)),
      layout_(pages::layout_of(options_.config)) {
  step_text_ = "the start";
  auto made = kvferry::runtime::create(options_.config, device_->interface(), options_.deliver_by);
  if (!made) {
    find(fmt::format("no runtime: {}", made.error().message));
    return;
  }
  runtime_ = std::move(*made);
  stream({standard_stream});
  create_batch(standard_batch, {8, 32, 1}, {});
  mark_ = runtime_->take_statistics();
}

world::~world() {
  for (auto& [name, b] : batches_)
    *b.open = false;
}

void world::begin_step(std::size_t number, std::string text) {
  step_ = number;
  step_text_ = std::move(text);
}

/// What must hold after every step.
void world::end_step() {
  for (; told_of_log_ < log_.first().size(); ++told_of_log_)
    find(log_.first()[told_of_log_]);
  if (device_->unordered_accesses() != told_of_unordered_) {
    const auto first = device_->first_unordered();
    for (std::size_t i = std::min<std::size_t>(told_of_unordered_, first.size()); i < first.size(); ++i)
      find("unordered access: " + first[i].description);
    told_of_unordered_ = device_->unordered_accesses();
  }
  if (options_.check_quiet && alive() && (!options_.quiet || options_.quiet()))
    if (auto broken = runtime_->check_quiet())
      for (const std::string& what : *broken)
        find(what);
}

// -- the engine's records
// ------------------------------------------------------------------------------------------------

request_record* world::known(const request_name& name) {
  if (!runtime_)
    return nullptr;
  auto found = requests_.find(name.text);
  const bool there = found != requests_.end();
  if (!there && !skipped_)
    find(fmt::format("\"{}\" was never opened with success", name.text));
  return there ? &found->second : nullptr;
}

/// One that can be worked on. Under any_order its loads are waited for.
request_record* world::running(const request_name& name) {
  request_record* r = known(name);
  if (r == nullptr || !options_.any_order)
    return r;
  wait_for_loads(*r);
  if (r->status == request_record::state::loading && alive())
    find(fmt::format("\"{}\" is still loading, and the device has nothing left to do", name.text));
  if (r->status == request_record::state::active)
    return r;
  skipped_ = true;
  return nullptr;
}

std::vector<std::string> world::living() const {
  std::vector<std::string> names;
  for (const auto& [name, r] : requests_)
    if (r.status != request_record::state::closed && r.status != request_record::state::lost)
      names.push_back(name);
  return names;
}

batch_record* world::known(const batch_name& name) {
  if (!runtime_)
    return nullptr;
  auto found = batches_.find(name.text);
  if (found == batches_.end())
    find(fmt::format("batch \"{}\" is not there", name.text));
  return found == batches_.end() ? nullptr : &found->second;
}

kvferry::stream_id world::stream(const stream_name& name) {
  if (auto found = streams_.find(name.text); found != streams_.end())
    return found->second;
  const auto there = device_->find_stream(name.text); // the runtime's own
  return streams_.emplace(name.text, there ? *there : device_->create_stream(name.text)).first->second;
}

std::vector<kvferry::stream_id> world::streams(const std::vector<stream_name>& names) {
  std::vector<kvferry::stream_id> found;
  for (const stream_name& name : names)
    found.push_back(stream(name));
  return found;
}

std::vector<kvferry::request_id> world::ids(const std::vector<request_name>& names) {
  std::vector<kvferry::request_id> found;
  for (const request_name& name : names)
    if (const request_record* r = known(name))
      found.push_back(r->id);
  return found;
}

/// Tokens behind the known ones are made up, other ones for each request and position.
void world::know_tokens(request_record& r, std::uint32_t count) {
  while (r.tokens.size() < count) {
    const auto position = static_cast<kvferry::token>(r.tokens.size());
    r.tokens.push_back(1'000'000'000 + static_cast<kvferry::token>(r.id.value() % 10'000) * 100'000 + position);
    r.chain->append(r.tokens.back());
  }
}

kvferry::progress world::progress_of(request_record& r, std::uint32_t history, bool commit) const {
  kvferry::progress made{r.id, history, {r.tokens.begin() + r.told, r.tokens.end()}, commit};
  return made;
}

void world::note_reported(request_record& r, std::uint32_t history) {
  r.reported = history;
  r.written = std::max(r.written, history);
  r.told = static_cast<std::uint32_t>(r.tokens.size());
}

void world::note_capacity(request_record& r, std::uint32_t tokens) {
  r.capacity = std::max(r.capacity, layout_.blocks_of(tokens) * layout_.tokens_per_block);
}

void world::note_left(request_record& r, const std::string& name) {
  if (auto b = batches_.find(r.batch); b != batches_.end())
    std::erase(b->second.members, name);
  r.batch.clear();
}

void world::note_ready(const std::vector<kvferry::ready_request>& ready) {
  for (const kvferry::ready_request& loaded : ready) {
    const std::string name = name_of(loaded.request);
    auto found = requests_.find(name);
    if (found == requests_.end() || found->second.id != loaded.request)
      continue;
    request_record& r = found->second;
    become(r, request_record::state::active);
    if (loaded.load_failed) {
      r.written = r.reported = std::min(r.reported, loaded.matched_tokens);
      r.capacity = loaded.matched_tokens;
      lost_[name] = loaded.matched_tokens;
    }
    ready_.insert(name);
  }
}

/// A request whose actor was ended stays lost, whatever its last calls were granted.
void world::become(request_record& r, request_record::state status) {
  if (r.status != request_record::state::lost)
    r.status = status;
}

void world::publish_all() {
  for (auto& [name, b] : batches_)
    if (b.reads.empty())
      publish(b, {}, b.stream.is_none() ? stream({standard_stream}) : b.stream, {});
}

// -- the end
// ---------------------------------------------------------------------------------------------------------

void world::finish() {
  if (!runtime_)
    return;
  for (kvferry::stream_id held : std::exchange(held_, {}))
    device_->release_stream(held);
  for (kvferry::stream_id captured : std::exchange(captured_, {}))
    device_->end_capture(captured);
  if (alive()) {
    for (auto& [name, b] : batches_)
      for (kvferry::stream_id on : std::exchange(b.reads, {}))
        (void)b.batch->end_read(on);
    settle();
    end_step();
  }
  for (int round = 0; round < 2 && alive(); ++round) { // all rows once more, then none
    publish_all();
    settle();
    end_step();
    for (auto& [name, r] : requests_)
      if (round == 0 && r.status != request_record::state::closed) {
        if (auto closed = runtime_->close(r.id); !closed)
          find(fmt::format("\"{}\" cannot be closed: {}", name, closed.error().message));
        r.status = request_record::state::closed;
        note_left(r, name);
      }
  }
  while (!batches_.empty())
    close_batch(batches_.begin()->first);
  if (!stopped_) {
    settle();
    end_step();
    const kvferry::leftovers left = runtime_->shut_down();
    if (left.slots + left.owners + left.copies + left.requests != 0)
      find(fmt::format("left behind: {} slots, {} owners, {} copies, {} requests", left.slots, left.owners, left.copies,
                       left.requests));
    stopped_ = true;
  } else {
    runtime_->shut_down();
    device_->run_all();
  }
  end_step();
}

} // namespace scenarios
