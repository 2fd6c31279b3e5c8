#include "runtime/trace/block_events.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace kvferry {

namespace {

std::string page_on(const block_moment& b, tier on) {
  if (on == tier::gpu)
    return fmt::format("GPU slot {}", b.gpu.value());
  return on == tier::host ? fmt::format("host slot {}", b.host.value()) : "no page";
}

const block_moment::owned* owner_in(const block_moment& b, request_id request) {
  auto found = std::find_if(b.owners.begin(), b.owners.end(), [&](const auto& o) { return o.request == request; });
  return found == b.owners.end() ? nullptr : &*found;
}

/// Who keeps it on the GPU.
std::string blockers_of(const block_moment& b) {
  std::string names;
  for (const block_moment::owned& o : b.owners)
    if (o.needs_gpu)
      names += fmt::format("{}request {} ({})", names.empty() ? "" : ", ", o.request.value(),
                           o.decoding ? "not complete history for it" : "in prefill");
  return names;
}

void tell_owners(const block_moment& before, const block_moment& after, std::vector<block_event>& told) {
  for (const auto& now : after.owners) {
    const auto* then = owner_in(before, now.request);
    const std::string request = fmt::format("request {}", now.request.value());
    if (then == nullptr && before.owners.empty() && before.id.is_none())
      told.push_back({fmt::format("allocated for {}", request), page_on(after, now.bound), now.request});
    else if (then == nullptr)
      told.push_back({fmt::format("shared: {} binds to it", request), page_on(after, now.bound), now.request});
    else if (then->bound != now.bound)
      told.push_back(
          {fmt::format("rebound: {} (number {})", request, now.seq), page_on(after, now.bound), now.request});
  }
  const auto newly_complete = [&](const auto& now) {
    const auto* then = owner_in(before, now.request);
    return now.complete && (then == nullptr || !then->complete);
  };
  const bool was_complete = std::any_of(before.owners.begin(), before.owners.end(), [](auto& o) { return o.complete; });
  auto first = std::find_if(after.owners.begin(), after.owners.end(), newly_complete);
  if (first != after.owners.end() && !was_complete && !before.id.is_none())
    told.push_back(
        {fmt::format("ready: complete history of request {}, written behind {}", first->request.value(), after.written),
         ""});
  for (const auto& then : before.owners)
    if (owner_in(after, then.request) == nullptr)
      told.push_back({fmt::format("let go by request {}", then.request.value()), "", then.request});
}

void tell_copy(const block_moment& before, const block_moment& after, std::vector<block_event>& told) {
  const bool same = before.copy && after.copy && before.copy->move == after.copy->move;
  if (before.copy && !same) {
    const bool to_gpu = goes_to_gpu(before.copy->kind);
    const bool there = to_gpu ? before.loading && !after.loading && !after.gpu.is_none() : !after.host.is_none();
    if (after.failures > before.failures || (!there && !after.id.is_none() && after.copy))
      told.push_back({"the copy failed", fmt::format("move {}", before.copy->move.value())});
    else if (there)
      told.push_back({fmt::format("copied: {} is done", to_string(before.copy->kind)),
                      page_on(after, to_gpu ? tier::gpu : tier::host)});
    else
      told.push_back({fmt::format("the {} was of no use any more", to_string(before.copy->kind)),
                      fmt::format("move {}", before.copy->move.value())});
  }
  if (after.copy && !same)
    told.push_back({fmt::format("queued: {} to the {}", to_string(after.copy->kind),
                                goes_to_gpu(after.copy->kind) ? "GPU" : "host"),
                    fmt::format("slot {}, move {}", after.copy->target, after.copy->move.value())});
  const bool was_submitted = same && before.copy->submitted.sequence != 0;
  if (after.copy && after.copy->submitted.sequence != 0 && !was_submitted)
    told.push_back({fmt::format("submitted: the copy ends with fence {}", words(after.copy->submitted)), ""});
}

} // namespace

std::string words(const fence_set& fences) {
  std::string text;
  fences.for_each(
      [&](fence f) { text += fmt::format("{}{}:{}", text.empty() ? "" : ", ", f.stream.value(), f.sequence); });
  return text.empty() ? "nothing" : text;
}

block_moment moment_of(const block& b, block_id id, const configuration& config) {
  block_moment now;
  if (b.id != id)
    return now;
  now.id = id;
  now.group = b.group;
  now.gpu = b.gpu;
  now.host = b.host;
  const bool sparse = config.groups[b.group.value()].kind == group_kind::sparse;
  for (const owner& o : b.owners) {
    const claim& c = *o.request;
    const bool complete = o.ordinal < c.complete;
    const bool decoding = c.stage == phase::decode;
    now.owners.push_back({c.id, o.ordinal, c.seq, c.tables[b.group.value()][o.ordinal].bound,
                          c.active && (!decoding || !complete || !sparse), complete, decoding});
  }
  now.copy = b.copy ? std::optional{*b.copy} : std::nullopt;
  now.written = words(b.written);
  now.failures = b.failures;
  now.in_index = b.node != nullptr;
  now.idle = b.idle_since != 0;
  now.loading = b.loading;
  now.deferred = b.deferred_at != 0;
  now.waits_for_host = b.wait_ticket != 0;
  return now;
}

std::vector<block_event> events_between(const block_moment& before, const block_moment& after) {
  std::vector<block_event> told;
  tell_copy(before, after, told);
  tell_owners(before, after, told);
  if (after.in_index != before.in_index && !after.id.is_none())
    told.push_back({after.in_index ? "committed: it is in the prefix index" : "out of the prefix index", ""});
  const std::string blockers = blockers_of(after);
  if (after.deferred && (!before.deferred || blockers != blockers_of(before)))
    told.push_back({fmt::format("{} by {}", before.deferred ? "still deferred" : "deferred",
                                blockers.empty() ? "nobody any more" : blockers),
                    ""});
  if (after.waits_for_host && !before.waits_for_host)
    told.push_back({"waits for a host slot: the pool is full", ""});
  if (after.idle && !before.idle)
    told.push_back({"idle: nobody owns it, it stays until its slot is needed", ""});
  if (!before.gpu.is_none() && after.gpu != before.gpu)
    told.push_back({"gives its GPU page up", page_on(before, tier::gpu)});
  if (!before.host.is_none() && after.host != before.host)
    told.push_back({"gives its host page up", page_on(before, tier::host)});
  if (!before.id.is_none() && after.id.is_none())
    told.push_back({"ends", ""});
  return told;
}

} // namespace kvferry
