// The random engine's rows and streams, and the calls that it makes wrongly on purpose.
#include <algorithm>

#include "tests/properties/random_engine.hpp"

namespace kvferry::test {

// -- rows
// -------------------------------------------------------------------------------------------------------------

void random_engine::join(model_request& r, std::uint32_t number) {
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
  left(r);
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
