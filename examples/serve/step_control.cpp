#include "examples/serve/step_control.hpp"

#include <algorithm>
#include <map>
#include <ranges>

#include "examples/serve/content.hpp"

namespace serve {

using kvferry::error_code;

bool may_be_granted_later(error_code code) {
  return code == error_code::gpu_full || code == error_code::host_full || code == error_code::copies_in_flight ||
         code == error_code::publish_first;
}

void step_control::begin() {
  input_ = {};
  input_.stream = stream_;
  work_.clear();
}

void step_control::close(job& which) {
  report(which); // its last blocks may serve another request
  input_.close.push_back(which.request);
}

void step_control::suspend(job& which, std::uint64_t rests_until) {
  report(which);
  input_.suspend.push_back(which.request);
  which.state = job_state::suspended;
  which.rests_until = rests_until;
  which.unstall();
}

void step_control::plan(job_map& live, std::uint32_t prefill_tokens) {
  bool decoder_stalled = false;
  for (auto& [number, j] : live) {
    if (j.state != job_state::running)
      continue;
    report(j);
    if (!j.prefilling())
      plan_decode(j);
    decoder_stalled = decoder_stalled || (j.stalled_on && !j.prefilling());
  }
  if (!decoder_stalled) // else what becomes free is for those that decode: they end sooner
    plan_prefills(live, prefill_tokens);
}

/// KV of the launched steps is submitted: kvferry may copy and share it, behind the stream that writes it.
void step_control::report(job& which) {
  if (which.written == which.reported)
    return;
  kvferry::progress made{which.request, which.written, {}, false};
  for (; which.told < which.written; ++which.told)
    made.accepted.push_back(generated_token(which.number, which.told));
  std::uint32_t T = layout_.tokens_per_block;
  made.commit = which.written / T != which.reported / T;
  which.reported = which.written;
  input_.advance.push_back(std::move(made));
}

void step_control::plan_decode(job& which) {
  bool enters = !which.decoding;
  if (enters)
    input_.enter_decode.push_back(which.request);
  add_work(which, which.known, enters);
}

void step_control::plan_prefills(job_map& live, std::uint32_t prefill_tokens) {
  // The oldest first, up to the first that waits for slots: overtaken by the young it would wait for ever, and stopping
  // the old it would wait for those that it stops.
  std::vector<job*> ready;
  for (auto& [number, j] : live) {
    if (!j.prefilling())
      continue;
    ready.push_back(&j);
    if (j.stalled_on)
      break;
  }
  // Equal shares of whole blocks; what the short ones leave over goes to the oldest.
  const auto left = [](const job& j) { return j.prefill_end - j.written; };
  const std::uint32_t T = layout_.tokens_per_block;
  const auto count = static_cast<std::uint32_t>(ready.size());
  const std::uint32_t share = count == 0 ? 0 : std::max(T, prefill_tokens / count / T * T);
  std::vector<std::uint32_t> chunks;
  for (job* j : ready) {
    chunks.push_back(std::min({share, left(*j), prefill_tokens}));
    prefill_tokens -= chunks.back();
  }
  for (std::size_t i = 0; i < ready.size(); ++i) {
    const std::uint32_t more = std::min(prefill_tokens, left(*ready[i]) - chunks[i]);
    prefill_tokens -= more;
    if (chunks[i] + more > 0)
      add_work(*ready[i], ready[i]->written + chunks[i] + more, false);
  }
}

void step_control::add_work(job& which, std::uint32_t until, bool asks_decode) {
  std::uint32_t capacity = until > which.capacity ? layout_.blocks_of(until) * layout_.tokens_per_block : 0;
  if (capacity != 0)
    input_.reserve.push_back({which.request, capacity});
  input_.order.push_back(which.request);
  work_.push_back({&which, until, capacity, asks_decode});
}

std::vector<std::pair<job*, kvferry::error>> step_control::take(const kvferry::step_result& result) {
  using kvferry::step_call;
  std::map<std::pair<kvferry::request_id, step_call>, kvferry::error> refused;
  for (const kvferry::refused_call& call : result.refused)
    refused.emplace(std::pair{call.request, call.call}, call.why);
  auto why_not = [&](const job& j, step_call call) {
    auto found = refused.find({j.request, call});
    return found == refused.end() ? nullptr : &found->second;
  };
  auto granted = [&](const job& j) { return std::ranges::find(result.granted, j.request) != result.granted.end(); };
  std::vector<std::pair<job*, kvferry::error>> hopeless;
  for (step_work& work : work_) {
    job& j = *work.of;
    const bool has_slots = work.asked_capacity == 0 || granted(j);
    if (has_slots && work.asked_capacity != 0)
      j.capacity = work.asked_capacity;
    const kvferry::error* no_entry = work.asked_decode ? why_not(j, step_call::enter_decode) : nullptr;
    if (work.asked_decode && no_entry == nullptr)
      j.decoding = true;
    if (has_slots && no_entry == nullptr) {
      j.unstall();
      continue;
    }
    work.until = j.written;
    const kvferry::error* no_slots = why_not(j, step_call::reserve);
    const kvferry::error why = no_entry != nullptr   ? *no_entry
                               : no_slots != nullptr ? *no_slots
                                                     : kvferry::error{error_code::gpu_full, "not granted", {}};
    j.stall(why);
    if (!may_be_granted_later(why.code))
      hopeless.emplace_back(&j, why);
  }
  return hopeless;
}

pages::step_plan step_control::launch(std::uint64_t step, kvferry::version_number version, const job_map& live) {
  pages::step_plan plan{step, version, {}, {}};
  for (const step_work& work : work_) {
    job& j = *work.of;
    plan.rows.push_back({j.request, j.chain, j.decoding, j.written, work.until, j.capacity});
    j.written = work.until;
    j.last_step = step;
  }
  for (const auto& [number, j] : live)
    if (j.last_step != 0 && j.last_step != step)
      plan.resting.push_back(j.request);
  std::ranges::sort(plan.resting);
  return plan;
}

} // namespace serve
