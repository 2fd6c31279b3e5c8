#include "examples/serve/engine.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "examples/pages/mixing.hpp"
#include "examples/serve/content.hpp"
#include "examples/terminal/progress_bar.hpp"

namespace serve {
namespace {

using kvferry::error_code;

constexpr std::uint64_t stuck_steps = 20'000; // no engine waits so long for a page
constexpr int quiet_rounds_max = 64;

} // namespace

engine::engine(const serve_options& options, const workload& requests, const pages::page_layout& layout,
               kvferry::runtime& runtime, kvferry::batch& batch, kvferry::stream_id stream, device_steps& steps,
               pages::mismatch_log& log)
    : options_(options), requests_(requests), layout_(layout), runtime_(runtime), batch_(batch), steps_(steps),
      log_(log), clock_(steps), control_(layout, stream), arrivals_(requests) {}

kvferry::expected<void> engine::run() {
  terminal::progress_bar progress(requests_.requests.size());
  while (!done()) {
    if (auto ran = run_step(); !ran)
      return ran;
    progress.show(counts_.completed + counts_.aborted, [this] {
      return fmt::format("step {}, {} running, {} waiting", step_, live_.size(), waiting_.size());
    });
  }
  drain();
  return {};
}

bool engine::done() const { return live_.empty() && waiting_.empty() && !arrivals_.next_us(); }

kvferry::expected<void> engine::run_step() {
  advance_time();
  steps_.retire_to(options_.steps_in_flight - 1);
  clock_.measure([&] { runtime_.poll(); });
  note_ready(clock_.measure([&] { return runtime_.take_ready(); }));

  control_.begin();
  close_finished();
  disturb();
  make_room();
  if (auto resumed = resume_suspended(); !resumed)
    return resumed;
  if (auto admitted = admit(); !admitted)
    return admitted;
  control_.plan(live_, options_.prefill_tokens);

  auto result = clock_.measure([&] { return batch_.step(control_.input()); });
  if (!result)
    return tl::unexpected(result.error());
  if (auto taken = take(*result); !taken)
    return taken;
  clock_.note_publication(result->publish_us);
  launch(result->version);
  produce_tokens();
  check_when_quiet();

  clock_.end_step();
  ++counts_.steps;
  if (step_ - progress_step_ > stuck_steps)
    return kvferry::fail(error_code::runtime_stopped,
                         fmt::format("stuck: nothing was computed for {} steps; {} requests are open and {} wait",
                                     stuck_steps, live_.size(), waiting_.size()));
  return {};
}

void engine::advance_time() {
  ++step_;
  std::int64_t step_us = std::int64_t{options_.step_ms} * 1000;
  auto next_us = arrivals_.next_us();
  if (live_.empty() && waiting_.empty() && next_us) {
    step_ = std::max(step_, static_cast<std::uint64_t>((*next_us + step_us - 1) / step_us));
    progress_step_ = step_;
  }
  arrivals_.take_until(static_cast<std::int64_t>(step_) * step_us, waiting_);
}

/// Requests whose pages are back on the GPU may run.
void engine::note_ready(const std::vector<kvferry::ready_request>& ready) {
  for (const kvferry::ready_request& loaded : ready) {
    auto found = std::ranges::find_if(live_, [&](auto& entry) { return entry.second.request == loaded.request; });
    if (found == live_.end() || found->second.state != job_state::loading)
      continue; // suspended or closed meanwhile
    job& j = found->second;
    j.state = job_state::running;
    if (loaded.load_failed && j.written == j.matched) // nothing was computed yet: begin with less
      j.matched = j.written = j.reported = j.capacity = loaded.matched_tokens;
    else if (loaded.load_failed)
      lost_.push_back(j.number);
  }
}

/// The KV of the last output token is never needed, so a request ends when that token is there.
void engine::close_finished() {
  for (auto next = live_.begin(); next != live_.end();) {
    job& j = (next++)->second;
    if (!j.finished() || j.state != job_state::running)
      continue;
    ++counts_.completed;
    close(j);
  }
}

/// Aborts and suspends by chance, as users and schedulers do.
void engine::disturb() {
  for (auto next = live_.begin(); next != live_.end();) {
    job& j = (next++)->second;
    if (j.state != job_state::running)
      continue;
    std::uint64_t word = pages::mix(pages::mix(options_.seed, step_), j.number);
    if (pages::happens(options_.abort, word))
      abort(j, "by chance");
    else if (pages::happens(options_.suspend, pages::mix(word)))
      suspend(j);
  }
}

kvferry::expected<void> engine::take(const kvferry::step_result& result) {
  if (result.not_published)
    return tl::unexpected(*result.not_published);
  for (const kvferry::refused_call& refused : result.refused)
    if (!may_be_granted_later(refused.why.code) && refused.why.code != error_code::prompt_exceeds_gpu_pool)
      return tl::unexpected(refused.why);
  if (!result.failed_rows.empty())
    return kvferry::fail(error_code::invalid_configuration,
                         fmt::format("request {} does not fit a row", result.failed_rows.front().value()));
  for (auto& [which, why] : control_.take(result))
    hopeless_.emplace_back(which->number, why.message);
  note_ready(result.ready);
  return {};
}

void engine::launch(kvferry::version_number version) {
  pages::step_plan plan = control_.launch(step_, version, live_);
  bool computes = std::ranges::any_of(
      plan.rows, [](const pages::planned_row& row) { return row.written_tokens > row.history_tokens; });
  steps_.launch(std::move(plan));
  if (computes)
    progress_step_ = step_;
  else
    steps_.finish(); // a step in which nothing is computed is long enough for every copy
}

/// Whoever's KV is complete up to its last known token has computed the next one.
void engine::produce_tokens() {
  for (auto& [number, j] : live_) {
    if (j.last_step != step_ || j.written != j.known)
      continue;
    j.chain->append(generated_token(number, j.known));
    ++j.known;
    --j.outputs_left;
    ++counts_.tokens_decoded;
  }
}

/// Between steps no message is on its way under `stepped`: what spans actors must hold then.
void engine::check_when_quiet() {
  constexpr std::uint64_t stride = 64;
  if (options_.scheduler != kvferry::scheduler_kind::stepped || options_.verify == verify_mode::off ||
      counts_.steps % stride != 0)
    return;
  if (auto findings = runtime_.check_quiet())
    for (const std::string& finding : *findings)
      log_.add("step {}: {}", step_, finding);
}

/// Lets the device and the actors finish what is under way, until nobody has anything more to say.
void engine::drain() {
  steps_.retire_to(0);
  std::uint64_t messages = 0;
  for (int round = 0; round < quiet_rounds_max; ++round) {
    steps_.finish();
    runtime_.poll();
    std::uint64_t now = runtime_.take_statistics().messages;
    if (std::exchange(messages, now) == now)
      return;
  }
}

} // namespace serve
