#include "examples/serve/relief.hpp"

#include <algorithm>
#include <ranges>

namespace serve {
namespace {

using kvferry::error_code;

bool active(const job& j) { return j.state == job_state::running || j.state == job_state::loading; }

/// The youngest job for which `fits` holds; null when there is none.
template <class Predicate>
job* youngest(job_map& live, Predicate fits) {
  for (auto& [number, j] : live | std::views::reverse)
    if (fits(j))
      return &j;
  return nullptr;
}

bool anyone_else_decodes(job_map& live, const job& stalled) {
  return youngest(live, [&](const job& j) { return &j != &stalled && j.state == job_state::running && j.decoding; }) !=
         nullptr;
}

relief requeue(job* whom, const patience& limits) {
  auto what = whom->requeued < limits.requeues_max ? relief::action::requeue : relief::action::give_up;
  return {what, whom};
}

/// The host has no room, so suspending would not help: nobody's pages could go there.
relief for_host_full(job_map& live, job& stalled, const patience& limits) {
  if (anyone_else_decodes(live, stalled))
    return {}; // its end frees host slots
  if (job* suspended = youngest(live, [](const job& j) { return j.state == job_state::suspended; }))
    return requeue(suspended, limits);
  if (job* other = youngest(live, [&](const job& j) { return &j != &stalled; }))
    return requeue(other, limits);
  return {relief::action::give_up, &stalled};
}

relief for_gpu_full(job_map& live, job& stalled, const patience& limits) {
  job* suspended = youngest(live, [](const job& j) { return j.state == job_state::suspended; });
  bool held = stalled.stalled_on->numbers && stalled.stalled_on->numbers->held > 0;
  if (held && suspended != nullptr) // pages that should have gone to the host and found no room there
    return requeue(suspended, limits);
  bool oldest =
      std::ranges::none_of(live, [&](auto& entry) { return active(entry.second) && entry.first < stalled.number; });
  bool may_stop_decoders = stalled.decoding || oldest;
  if (job* victim = youngest(live, [&](const job& j) {
        return active(j) && j.number > stalled.number && (may_stop_decoders || !j.decoding);
      }))
    return {relief::action::suspend, victim};
  if (!oldest)
    return {}; // older ones will end
  return suspended != nullptr ? requeue(suspended, limits) : relief{relief::action::give_up, &stalled};
}

/// The oldest suspended job cannot come back, and nobody runs whose end would make room.
relief for_resume(job_map& live, const patience& limits) {
  return requeue(youngest(live, [&](const job& j) { return j.state == job_state::suspended; }), limits);
}

} // namespace

relief relief_for(job_map& live, const patience& limits) {
  bool anyone_active = std::ranges::any_of(live, [](auto& entry) { return active(entry.second); });
  for (auto& [number, j] : live) {
    if (!j.stalled_on)
      continue;
    if (j.state == job_state::suspended) {
      if (!anyone_active && j.stalled_steps >= limits.alone_steps)
        return for_resume(live, limits);
      continue;
    }
    bool alone = live.size() == 1;
    std::uint32_t wait = alone                                         ? limits.alone_steps
                         : j.decoding || !anyone_else_decodes(live, j) ? limits.decoding_steps
                                                                       : limits.prefilling_steps;
    if (j.stalled_steps < wait)
      continue;
    relief found =
        j.stalled_on->code == error_code::host_full ? for_host_full(live, j, limits) : for_gpu_full(live, j, limits);
    if (found.what != relief::action::none)
      return found;
  }
  return {};
}

} // namespace serve
