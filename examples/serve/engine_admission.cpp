// Who is opened, suspended, resumed and closed, and when.

#include <algorithm>

#include <fmt/format.h>

#include "examples/serve/content.hpp"
#include "examples/serve/engine.hpp"

namespace serve {
namespace {

using kvferry::error_code;

constexpr std::uint64_t rest_steps = 8;          // of a suspended job: its pages are to go somewhere first
constexpr std::uint64_t relief_steps = 8;        // until the next measure: pages need time to move
constexpr std::uint32_t open_attempts_max = 64;  // with nothing else open
constexpr std::ptrdiff_t prefills_open_max = 32; // more would only hold the pages that they share

bool stalled(const job& j) { return j.stalled_on.has_value(); }

} // namespace

/// Closes what cannot go on, and takes from the young when an old one has waited for slots too long.
void engine::make_room() {
  for (std::uint32_t number : lost_)
    if (auto found = live_.find(number); found != live_.end())
      requeue(found->second);
  for (auto& [number, why] : hopeless_)
    if (auto found = live_.find(number); found != live_.end())
      abort(found->second, why);
  lost_.clear();
  hopeless_.clear();
  if (step_ < relief_at_step_)
    return;
  relief found = relief_for(live_);
  if (found.what == relief::action::none)
    return;
  relief_at_step_ = step_ + relief_steps;
  if (found.what == relief::action::suspend)
    suspend(*found.whom);
  else if (found.what == relief::action::requeue)
    requeue(*found.whom);
  else
    abort(*found.whom, "does not fit: " + found.whom->stalled_on->message);
}

/// One a step, the oldest first, and only while those that run have what they need.
kvferry::expected<void> engine::resume_suspended() {
  if (std::ranges::any_of(
          live_, [](auto& entry) { return entry.second.state == job_state::running && stalled(entry.second); }))
    return {};
  auto found = std::ranges::find_if(live_, [this](auto& entry) {
    return entry.second.state == job_state::suspended && entry.second.rests_until <= step_;
  });
  if (found == live_.end())
    return {};
  job& j = found->second;
  auto resumed = clock_.measure([&] { return runtime_.resume(j.request); });
  if (resumed) {
    j.state = resumed->loading ? job_state::loading : job_state::running;
    j.unstall();
  } else if (may_be_granted_later(resumed.error().code)) {
    j.stall(resumed.error());
  } else {
    return tl::unexpected(resumed.error());
  }
  return {};
}

/// Opens waiting requests, the oldest first, while there are rows and nobody else waits for slots.
kvferry::expected<void> engine::admit() {
  auto prefills = std::ranges::count_if(live_, [](auto& entry) { return !entry.second.decoding; });
  bool anyone_stalled = std::ranges::any_of(live_, [](auto& entry) { return stalled(entry.second); });
  for (; !waiting_.empty() && live_.size() < options_.rows && prefills < prefills_open_max && !anyone_stalled;
       ++prefills) {
    auto opened = open_oldest();
    if (!opened)
      return tl::unexpected(opened.error());
    if (!*opened)
      break;
  }
  return {};
}

/// False: it has to wait, or was given up.
kvferry::expected<bool> engine::open_oldest() {
  job& j = waiting_.begin()->second;
  std::vector<kvferry::token> tokens = prompt_of(requests_.requests[j.number], j.number);
  while (tokens.size() < j.known) // what it had computed before it was closed to make room
    tokens.push_back(generated_token(j.number, static_cast<std::uint32_t>(tokens.size())));
  if (!j.chain) {
    j.chain = std::make_shared<pages::token_chain>();
    j.chain->append(tokens);
  }
  auto opened = clock_.measure([&] { return runtime_.open(std::move(tokens)); });
  if (!opened) {
    const kvferry::error& why = opened.error();
    if (why.code == error_code::prompt_exceeds_gpu_pool)
      give_up_waiting(why.message);
    else if (!may_be_granted_later(why.code))
      return tl::unexpected(why);
    else if (j.stall(why); live_.empty() && j.stalled_steps >= open_attempts_max)
      give_up_waiting("does not fit: " + why.message);
    return false;
  }
  j.state = opened->loading ? job_state::loading : job_state::running;
  j.request = opened->request;
  j.decoding = false;
  j.last_step = 0;
  j.prefill_end = j.told = j.known;
  j.matched = j.written = j.reported = j.capacity = opened->matched_tokens;
  j.unstall();
  live_.insert(waiting_.extract(waiting_.begin()));
  return true;
}

void engine::give_up_waiting(const std::string& reason) {
  ++counts_.aborted;
  ++counts_.abort_reasons[reason];
  waiting_.erase(waiting_.begin());
}

void engine::suspend(job& which) {
  ++counts_.suspended;
  control_.suspend(which, step_ + rest_steps);
}

/// Its pages go, its tokens stay: it will be opened again with all of them as its prompt.
void engine::requeue(job& which) {
  ++counts_.requeued;
  control_.close(which);
  which.state = job_state::waiting;
  which.unstall();
  waiting_.insert(live_.extract(which.number));
}

void engine::abort(job& which, const std::string& reason) {
  ++counts_.aborted;
  ++counts_.abort_reasons[reason];
  close(which);
}

void engine::close(job& which) {
  control_.close(which);
  live_.erase(which.number);
}

} // namespace serve
