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

/// The youngest of the suspended jobs and the stalled one: what is closed to make room is never older than what gets
/// it.
relief requeue_for(job_map& live, job& stalled) {
  return {relief::action::requeue,
          youngest(live, [&](const job& j) { return j.state == job_state::suspended || &j == &stalled; })};
}

/// The host has no room, so suspending would not help: nobody's pages could go there.
relief for_host_full(job_map& live, job& stalled) {
  if (live.size() == 1)
    return {relief::action::give_up, &stalled};
  if (anyone_else_decodes(live, stalled))
    return {}; // its end frees host slots
  return {relief::action::requeue, youngest(live, [](const job&) { return true; })};
}

relief for_gpu_full(job_map& live, job& stalled) {
  if (live.size() == 1)
    return {relief::action::give_up, &stalled};
  bool suspended = std::ranges::any_of(live, [](auto& entry) { return entry.second.state == job_state::suspended; });
  bool held = stalled.stalled_on->numbers && stalled.stalled_on->numbers->held > 0;
  if (held && suspended) // pages that should have gone to the host found no room there
    return requeue_for(live, stalled);
  bool oldest =
      std::ranges::none_of(live, [&](auto& entry) { return active(entry.second) && entry.first < stalled.number; });
  bool may_stop_decoders = stalled.decoding || oldest;
  if (job* victim = youngest(live, [&](const job& j) {
        return active(j) && j.number > stalled.number && (may_stop_decoders || !j.decoding);
      }))
    return {relief::action::suspend, victim};
  return oldest ? requeue_for(live, stalled) : relief{}; // older ones will end
}

} // namespace

relief relief_for(job_map& live, const patience& limits) {
  bool anyone_active = std::ranges::any_of(live, [](auto& entry) { return active(entry.second); });
  for (auto& [number, j] : live) {
    if (!j.stalled_on)
      continue;
    if (j.state == job_state::suspended) {
      if (!anyone_active && j.stalled_steps >= limits.alone_steps) // nobody runs whose end would make room
        return requeue_for(live, j);
      continue;
    }
    bool alone = live.size() == 1;
    std::uint32_t wait = alone                                         ? limits.alone_steps
                         : j.decoding || !anyone_else_decodes(live, j) ? limits.decoding_steps
                                                                       : limits.prefilling_steps;
    if (j.stalled_steps < wait)
      continue;
    relief found = j.stalled_on->code == error_code::host_full ? for_host_full(live, j) : for_gpu_full(live, j);
    if (found.what != relief::action::none)
      return found;
  }
  return {};
}

} // namespace serve
