#include "tests/properties/random_engine.hpp"

#include <algorithm>

#include "kvferry/contract.hpp"

namespace kvferry::test {
namespace {

constexpr std::uint32_t requests_max = 8;

const prefix_namespace& space_of(std::uint32_t number) {
  static const std::array<prefix_namespace, 2> spaces{{{"x", ""}, {"", "x"}}};
  return spaces[number];
}

/// Prompts share their first `common` tokens, where they have them, and differ by `variant` behind.
kv_sequence prompt_of(std::uint32_t space, std::uint32_t common, std::uint32_t length, std::uint32_t variant) {
  kv_sequence prompt{space};
  for (std::uint32_t i = 0; i < length; ++i)
    prompt.push(static_cast<token>(i < common ? 10 + i % 3 : 20 + variant));
  return prompt;
}

} // namespace

random_engine::random_engine(const test_case& which)
    : case_(which), config_(which.setup.configuration()), gpu_(host_device::create(which.setup.device())),
      model_(config_, which.setup.large != 0) {
  batches_[0].stream = gpu_->create_stream("compute 0");
  batches_[1].stream = gpu_->create_stream("compute 1");
  batches_[0].reader = gpu_->create_stream("reader 0");
  batches_[1].reader = gpu_->create_stream("reader 1");
  auto made = runtime::create(config_, gpu_->interface());
  KVFERRY_REQUIRE(made, "{}", made.error().message);
  runtime_ = std::move(*made);
  for (batch_side& b : batches_)
    b.of = runtime_->create_batch(which.setup.batch()).value();
  counts_ = runtime_->take_statistics();
}

sentences random_engine::run() {
  for (const command& done : case_.commands) {
    execute(done);
    after_command();
    if (!wrong_.empty())
      return wrong_;
  }
  end();
  return wrong_;
}

void random_engine::execute(const command& done) {
  const std::uint64_t told = told_;
  batch_side& b = batches_[done.a % batches_.size()];
  model_request* r = pick(done);
  refused_ = false;
  const bool changes = done.kind != command_kind::settle && done.kind != command_kind::misuse;
  switch (done.kind) {
  case command_kind::open: open(done); break;
  case command_kind::join: r ? join(*r, done.b % 4 == 3 ? 1 : 0) : void(); break;
  case command_kind::reserve: r ? reserve(*r, done) : void(); break;
  case command_kind::launch:
    if (publish_on(b, done))
      launch(b, 1 + done.c % 9);
    break;
  case command_kind::report: r ? report(*r, done) : void(); break;
  case command_kind::step: step(b, done); break;
  case command_kind::enter_decode: r ? enter_decode(*r) : void(); break;
  case command_kind::suspend: r ? suspend(*r) : void(); break;
  case command_kind::resume: r ? resume(*r) : void(); break;
  case command_kind::close: r ? close(*r) : void(); break;
  case command_kind::commit: r ? commit(*r) : void(); break;
  case command_kind::leave: r ? leave(*r) : void(); break;
  case command_kind::publish: publish_on(b, done); break;
  case command_kind::begin_read: begin_read(b); break;
  case command_kind::end_read: end_read(b); break;
  case command_kind::poll: poll(); break;
  case command_kind::run_some:
    for (std::uint32_t i = 0; i <= done.a % 8u; ++i)
      gpu_->run_one();
    tell("the device runs {} operations", done.a % 8u + 1);
    break;
  case command_kind::run_all:
    gpu_->run_all();
    tell("the device runs all that it can");
    break;
  case command_kind::hold: hold(done.a % streams, true); break;
  case command_kind::let_go:
    if (!held_.empty())
      hold(*std::next(held_.begin(), done.a % held_.size()), false);
    break;
  case command_kind::fail_copies:
    for (std::uint32_t i = 0; i <= done.b % 4u; ++i)
      gpu_->fail_copy(done.a % 3 + i);
    model_.note_failures();
    tell("copies {} to {} from now will fail", done.a % 3, done.a % 3 + done.b % 4);
    break;
  case command_kind::settle:
    if (done.a % 2 == 1)
      let_go_of_all();
    settle();
    break;
  case command_kind::misuse: misuse(done); break;
  }
  if (changes && told_ != told)
    settled_ = false;
}

// -- requests
// ---------------------------------------------------------------------------------------------------------

/// Mostly one for which the call makes sense.
model_request* random_engine::pick(const command& done) {
  auto sensible = [&](const model_request& r) {
    const bool active = r.status == model_status::active;
    switch (done.kind) {
    case command_kind::join: return !r.batch;
    case command_kind::leave: return r.batch.has_value();
    case command_kind::reserve:
    case command_kind::commit: return active;
    case command_kind::report: return active && r.written > r.history;
    case command_kind::enter_decode: return active && !r.decoding && r.history > 0;
    case command_kind::suspend: return r.status != model_status::suspended;
    case command_kind::resume: return r.status == model_status::suspended;
    default: return true;
    }
  };
  std::vector<model_request*> choice;
  for (auto& [id, r] : model_.requests)
    if (done.b % 8 == 6 || sensible(r))
      choice.push_back(&r);
  return choice.empty() ? nullptr : choice[done.a % choice.size()];
}

void random_engine::open(const command& done) {
  if (model_.requests.size() >= requests_max)
    return;
  const std::uint32_t space = done.c % 8 == 7 ? 1 : 0;
  const std::uint32_t length = 1 + done.b % 26, common = done.a % 3 == 0 ? done.a % 27 : length;
  kv_sequence prompt = prompt_of(space, common, length, done.c % 2);
  auto opened = runtime_->open(prompt.tokens(), space_of(space));
  const std::string words = fmt::format("open a prompt of {} tokens, {} of them shared, variant {}, namespace {}",
                                        prompt.size(), std::min(common, length), done.c % 2, space);
  if (!opened) {
    tell("{}: refused, {}", words, opened.error().message);
    return refused("open", nullptr, opened.error(), model_.blocks_of(prompt.size()));
  }
  tell("{}: request {}, {} tokens matched{}", words, opened->request.value(), opened->matched_tokens,
       opened->loading ? ", loading" : "");
  model_.check_match(prompt, opened->matched_tokens, wrong_);
  model_request r;
  r.id = opened->request;
  r.prompt = r.told = prompt.size();
  r.kv = std::move(prompt);
  r.history = r.written = opened->matched_tokens;
  r.blocks = model_.blocks_of(r.history);
  r.awaits_loads = opened->loading;
  r.status = opened->loading ? model_status::loading : model_status::active;
  if (!model_.requests.emplace(r.id, r).second)
    wrong(fmt::format("request {} was open already", r.id.value()));
}

std::uint32_t random_engine::wanted_capacity(const model_request& r, std::uint8_t how, std::uint8_t tokens) const {
  switch (how % 4) {
  case 0: return r.written + 1;
  case 1: return r.kv.size();
  case 2: return r.written + 1 + tokens % 12;
  default: return std::min(r.kv.size(), r.written + 4 + tokens % 8);
  }
}

void random_engine::reserve(model_request& r, const command& done) {
  const std::uint32_t capacity = wanted_capacity(r, done.b, done.c);
  auto granted = runtime_->reserve(r.id, capacity);
  tell("reserve slots for {} tokens of request {}{}", capacity, r.id.value(),
       granted ? "" : ": refused, " + granted.error().message);
  const std::uint32_t blocks = model_.blocks_of(capacity);
  if (!granted)
    return refused("reserve", &r, granted.error(), blocks);
  if (blocks > r.blocks)
    model_.check_granted("reserve", &r, wrong_);
  r.blocks = std::max(r.blocks, blocks);
}

progress random_engine::progress_to(const model_request& r, std::uint32_t history, bool commit) const {
  progress made{r.id, history, {}, commit};
  for (std::uint32_t i = r.told; i < std::min(r.kv.size(), history + 1); ++i)
    made.accepted.push_back(r.kv.tokens()[i]);
  return made;
}

void random_engine::took_progress(model_request& r, const progress& made) {
  r.told += static_cast<std::uint32_t>(made.accepted.size());
  r.history = made.history_tokens;
  if (made.commit)
    model_.note_commit(r);
}

void random_engine::report(model_request& r, const command& done) {
  const std::uint32_t history = done.b % 4 == 3 ? r.history + (r.written - r.history) / 2 : r.written;
  const progress made = progress_to(r, history, done.c % 4 != 0);
  auto taken = runtime_->advance(made, r.last_stream.is_none() ? batches_[0].stream : r.last_stream);
  tell("report {} tokens of request {}{}{}", history, r.id.value(), made.commit ? ", with commit" : "",
       taken ? "" : ": refused, " + taken.error().message);
  if (!taken)
    return refused("advance", &r, taken.error());
  model_.check_granted("advance", &r, wrong_);
  took_progress(r, made);
}

void random_engine::commit(model_request& r) {
  auto done = runtime_->commit(r.id);
  tell("commit request {}{}", r.id.value(), done ? "" : ": refused, " + done.error().message);
  if (!done)
    return refused("commit", &r, done.error());
  model_.check_granted("commit", &r, wrong_);
  model_.note_commit(r);
}

void random_engine::enter_decode(model_request& r) {
  auto entry = runtime_->enter_decode(r.id);
  if (!entry) {
    tell("request {} enters decode: refused, {}", r.id.value(), entry.error().message);
    return refused("enter_decode", &r, entry.error());
  }
  tell("request {} enters decode: {} moving, {} rebound, {} deferred", r.id.value(), entry->moving, entry->rebound,
       entry->deferred);
  model_.check_granted("enter_decode", &r, wrong_);
  r.decoding = true;
}

void random_engine::suspend(model_request& r) {
  auto done = runtime_->suspend(r.id);
  tell("suspend request {}{}", r.id.value(), done ? "" : ": refused, " + done.error().message);
  if (!done)
    return refused("suspend", &r, done.error());
  model_.check_granted("suspend", &r, wrong_);
  r.status = model_status::suspended;
  r.written = r.history; // what was not reported is lost
}

void random_engine::resume(model_request& r) {
  auto done = runtime_->resume(r.id);
  tell("resume request {}{}", r.id.value(),
       done ? done->loading ? ": loading" : "" : ": refused, " + done.error().message);
  if (!done)
    return refused("resume", &r, done.error(), r.blocks);
  model_.check_granted("resume", &r, wrong_);
  r.awaits_loads = done->loading;
  r.status = done->loading ? model_status::loading : model_status::active;
}

void random_engine::close(model_request& r) {
  const request_id id = r.id;
  auto done = runtime_->close(id);
  tell("close request {}{}", id.value(), done ? "" : ": refused, " + done.error().message);
  if (!done)
    return wrong(fmt::format("close of request {} was refused: {}", id.value(), done.error().message));
  forget(id);
}

void random_engine::forget(request_id id) {
  left(model_.requests.at(id));
  model_.requests.erase(id);
  closed_.push_back(id);
}

} // namespace kvferry::test
