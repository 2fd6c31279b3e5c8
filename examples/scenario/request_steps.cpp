// Steps on single requests.
#include <algorithm>

#include "examples/scenario/took.hpp"

namespace scenarios {

using state = request_record::state;

void world::run(const open_step& step) {
  if (!runtime_)
    return;
  std::vector<kvferry::token> prompt = tokens_of(step.prompt);
  auto opened = patiently(step.refused, [&] { return runtime_->open(prompt, {step.adapter, step.salt}); });
  if (!took(opened, step.refused))
    return;
  must_be("matched_tokens", step.matched, opened->matched_tokens);
  must_be("loading", step.loading, opened->loading);
  request_record r;
  r.id = opened->request;
  r.status = opened->loading ? state::loading : state::active;
  r.chain = std::make_shared<pages::token_chain>();
  r.chain->append(prompt);
  r.told = static_cast<std::uint32_t>(prompt.size());
  r.tokens = std::move(prompt);
  r.written = r.reported = r.capacity = opened->matched_tokens;
  request_names_[r.id.value()] = step.request.text;
  requests_[step.request.text] = std::move(r);
}

void world::run(const reserve_step& step) {
  if (request_record* r = running(step.request))
    if (took(patiently(step.refused, [&] { return runtime_->reserve(r->id, step.tokens); }), step.refused))
      note_capacity(*r, step.tokens);
}

void world::run(const run_step& step) {
  request_record* r = running(step.request);
  batch_record* b = known(step.batch);
  if (r == nullptr || b == nullptr ||
      !took(patiently(step.refused, [&] { return runtime_->reserve(r->id, step.until); }), step.refused))
    return;
  note_capacity(*r, step.until);
  if (r->batch.empty() && !add_to(*r, step.request.text, *b, step.batch.text, {}))
    return;
  const kvferry::stream_id on = stream(step.stream);
  if (!publish(*b, {r->id}, on, {}) || !launch_write(*r, step.until, on))
    return;
  if (took(runtime_->advance(progress_of(*r, step.until, step.commit), on), {}))
    note_reported(*r, step.until);
}

void world::run(const write_step& step) {
  if (request_record* r = running(step.request))
    launch_write(*r, step.until, stream(step.stream));
}

void world::run(const progress_step& step) {
  request_record* r = running(step.request);
  if (r == nullptr)
    return;
  const kvferry::stream_id on = stream(step.stream);
  const std::vector<kvferry::token> accepted = tokens_of(step.accepted);
  if (step.refused) { // nothing is written, and nothing remembered
    took(runtime_->advance({r->id, step.history, accepted, step.commit}, on), step.refused);
    return;
  }
  r->tokens.insert(r->tokens.end(), accepted.begin(), accepted.end());
  r->chain->append(accepted);
  know_tokens(*r, step.history);
  if (step.history > r->written && !launch_write(*r, step.history, on))
    return;
  if (took(runtime_->advance(progress_of(*r, step.history, step.commit), on), {}))
    note_reported(*r, step.history);
}

void world::run(const commit_step& step) {
  if (request_record* r = running(step.request))
    took(runtime_->commit(r->id), step.refused);
}

void world::run(const enter_decode_step& step) {
  request_record* r = running(step.request);
  if (r == nullptr)
    return;
  auto entered = patiently(step.refused, [&] { return runtime_->enter_decode(r->id); });
  if (!took(entered, step.refused))
    return;
  r->decoding = true;
  must_be("moving", step.moving, entered->moving);
  must_be("rebound", step.rebound, entered->rebound);
  must_be("deferred", step.deferred, entered->deferred);
}

void world::run(const suspend_step& step) {
  if (request_record* r = known(step.request))
    if (took(runtime_->suspend(r->id, streams(step.running)), step.refused))
      become(*r, state::suspended);
}

void world::run(const resume_step& step) {
  request_record* r = known(step.request);
  if (r == nullptr)
    return;
  auto resumed = patiently(step.refused, [&] { return runtime_->resume(r->id); });
  if (!took(resumed, step.refused))
    return;
  must_be("loading", step.loading, resumed->loading);
  become(*r, resumed->loading ? state::loading : state::active);
}

void world::run(const shrink_step& step) {
  request_record* r = running(step.request);
  if (r == nullptr || !took(runtime_->shrink(r->id, step.tokens, streams(step.running)), step.refused))
    return;
  const std::uint32_t kept = layout_.blocks_of(std::max(step.tokens, r->reported)) * layout_.tokens_per_block;
  r->capacity = std::min(r->capacity, kept);
  r->written = std::min(r->written, r->capacity);
}

void world::run(const drop_step& step) {
  if (request_record* r = known(step.request))
    if (took(runtime_->drop(r->id), step.refused))
      become(*r, state::dropped);
}

void world::run(const close_step& step) {
  request_record* r = known(step.request);
  if (r == nullptr || !took(runtime_->close(r->id, streams(step.running)), step.refused))
    return;
  r->status = state::closed;
  note_left(*r, step.request.text);
}

} // namespace scenarios
