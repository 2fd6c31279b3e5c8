#include "tests/properties/random_engine.hpp"

#include <algorithm>

#include "kvferry/contract.hpp"
#include "tests/properties/known_bugs.hpp"

namespace kvferry::test {
namespace {

constexpr std::uint32_t requests_max = 8;
constexpr std::uint32_t streams = 6; // engine's four, and storage's two behind them

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
  r.unpublished = r.unpublished || blocks > r.blocks;
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
  if (r.unpublished && !met_bugs.suspends_before_published)
    return;
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
  r.status = done->loading ? model_status::loading : model_status::active;
  r.unpublished = true;
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

// -- rows
// -------------------------------------------------------------------------------------------------------------

void random_engine::join(model_request& r, std::uint32_t number) {
  if (!met_bugs.suspended_decoders_join && r.status == model_status::suspended && r.decoding)
    return;
  batch_side& b = batches_[number];
  auto row = b.of->add(r.id);
  tell("request {} joins batch {}: {}", r.id.value(), number,
       row ? fmt::format("row {}", row->value()) : "refused, " + row.error().message);
  const batch_side& other = batches_[1 - number];
  const bool elsewhere = other.members.contains(r.id) || other.leaving.contains(r.id);
  const bool left_here = b.leaving.contains(r.id); // its old row is not gone yet
  if (!row) {
    const bool full = b.members.size() + b.leaving.size() >= case_.setup.batch().rows;
    if (!(row.error().code == error_code::in_other_batch && (elsewhere || left_here)) &&
        !(row.error().code == error_code::batch_full && full && !b.members.contains(r.id)))
      wrong(
          fmt::format("request {} may join batch {}, and was refused: {}", r.id.value(), number, row.error().message));
    refused_ = true;
    return;
  }
  const bool shown = other.shown && std::any_of(other.shown->rows.begin(), other.shown->rows.end(),
                                                [&](const auto& held) { return held && held->request == r.id; });
  if (other.members.contains(r.id) || (other.leaving.contains(r.id) && shown))
    wrong(fmt::format("request {} joined batch {} while the other one shows it", r.id.value(), number));
  for (const auto& [id, taken] : b.members)
    if ((taken == *row) != (id == r.id))
      wrong(fmt::format("request {} was given row {}, request {} has row {}", r.id.value(), row->value(), id.value(),
                        taken.value()));
  b.members[r.id] = *row;
  b.leaving.erase(r.id);
  r.batch = number;
}

/// Its row may be shown until the next publication.
void random_engine::left(model_request& r) {
  if (!r.batch)
    return;
  batches_[*r.batch].members.erase(r.id);
  batches_[*r.batch].leaving.insert(r.id);
  r.batch.reset();
}

void random_engine::leave(model_request& r) {
  if (!r.batch)
    return;
  auto done = batches_[*r.batch].of->remove(r.id);
  tell("request {} leaves batch {}{}", r.id.value(), *r.batch, done ? "" : ": refused, " + done.error().message);
  if (!done)
    return wrong("leaving is never refused: " + done.error().message);
  if (!met_bugs.members_leave)
    order_after_readers(batches_[*r.batch]);
  left(r);
}

/// In the place of the runtime, which does not do it for who leaves (known_bugs.hpp).
void random_engine::order_after_readers(const batch_side& b) {
  for (stream_id reader : {b.shown_on, b.reader})
    if (!reader.is_none())
      for (std::uint32_t other = 0; other < streams; ++other)
        if (stream_id{other} != reader)
          gpu_->wait(stream_id{other}, gpu_->record(reader));
}

// -- device
// -----------------------------------------------------------------------------------------------------------

void random_engine::poll() {
  runtime_->poll();
  tell("poll");
}

void random_engine::hold(std::uint32_t stream, bool holds) {
  static constexpr std::array<std::string_view, streams> names{"compute 0", "compute 1", "reader 0",
                                                               "reader 1",  "copies 0",  "copies 1"};
  if (held_.contains(stream) == holds)
    return;
  if (holds) {
    gpu_->hold_stream(stream_id{stream});
    held_.insert(stream);
  } else {
    gpu_->release_stream(stream_id{stream});
    held_.erase(stream);
  }
  tell("{} stream {}", holds ? "hold" : "let go of", names[stream]);
}

void random_engine::let_go_of_all() {
  for (std::uint32_t stream : std::set<std::uint32_t>(held_))
    hold(stream, false);
}

// -- calls that are wrong
// ---------------------------------------------------------------------------------------------

template <class T>
void random_engine::must_be(const expected<T>& answer, error_code code, std::string_view call) {
  tell("{}: {}", call, answer ? "granted" : "refused, " + answer.error().message);
  if (answer || answer.error().code != code)
    wrong(fmt::format("{} should be refused with {}", call, to_string(code)));
  refused_ = true;
}

void random_engine::misuse(const command& done) {
  const request_id unknown = closed_.empty() ? request_id{1000} : closed_[done.b % closed_.size()];
  model_request* r = pick({done.kind, done.b, 0, 0});
  batch_side& b = batches_[done.b % 2];
  switch (done.a % 10) {
  case 0: return must_be(runtime_->open({}), error_code::invalid_argument, "open an empty prompt");
  case 1: return must_be(runtime_->reserve(unknown, 4), error_code::unknown_request, "reserve for a closed request");
  case 2: return must_be(runtime_->resume(unknown), error_code::unknown_request, "resume a closed request");
  case 3:
    if (!closed_.empty()) {
      tell("close request {} again", unknown.value());
      if (auto again = runtime_->close(unknown); !again)
        wrong("closing again was refused: " + again.error().message);
    }
    return;
  case 4:
    return must_be(runtime_->close(request_id{1000}), error_code::unknown_request, "close a request that never was");
  case 5:
    if (r && r->status == model_status::active)
      must_be(runtime_->advance({r->id, r->blocks * config_.tokens_per_block + 1, std::vector<token>(40, 1), false},
                                b.stream),
              error_code::invalid_argument, "report more than there are slots for");
    return;
  case 6:
    if (r && r->status == model_status::active && r->history > 0)
      must_be(runtime_->advance({r->id, r->history - 1, {}, true}, b.stream), error_code::invalid_argument,
              "report less than before");
    return;
  case 7:
    if (b.open_reads == 0)
      must_be(b.of->end_read(b.reader), error_code::invalid_argument, "end a read that was not begun");
    return;
  case 8: return must_be(runtime_->storage_of(unknown), error_code::unknown_request, "ask where a closed request is");
  default:
    if (r)
      must_be(runtime_->why_on_gpu(r->id, group_id{0}, r->blocks), error_code::invalid_argument,
              "ask about a block past the end");
  }
}

} // namespace kvferry::test
