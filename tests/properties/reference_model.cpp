#include "tests/properties/reference_model.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace kvferry::test {
namespace {

bool wants_gpu_slots(std::string_view call) { return call == "open" || call == "reserve" || call == "resume"; }

bool wants_host_slots(std::string_view call) { return call == "enter_decode" || call == "resume"; }

} // namespace

bool reference_model::windowed() const {
  return std::any_of(config_.groups.begin(), config_.groups.end(),
                     [](const group_config& group) { return group.window_tokens != 0; });
}

block_ordinal reference_model::first_needed(std::size_t group, std::uint32_t history) const {
  const std::uint32_t window = config_.groups[group].window_tokens;
  return window == 0 || history + 1 <= window ? 0 : (history + 1 - window) / config_.tokens_per_block;
}

// -- the prefix index
// -------------------------------------------------------------------------------------------------

void reference_model::note_commit(const model_request& r) {
  kv_sequence whole{r.kv.space()};
  for (std::uint32_t i = 0; i < complete(r) * config_.tokens_per_block; ++i)
    whole.push(r.kv.tokens()[i]);
  if (whole.size() != 0)
    committed_.push_back(std::move(whole));
}

void reference_model::check_match(const kv_sequence& prompt, std::uint32_t matched, sentences& wrong) const {
  std::uint32_t longest = 0;
  for (const kv_sequence& there : committed_)
    longest = std::max(longest, prompt.common_with(there));
  longest = std::min(longest, prompt.size() - 1); // the last token is always computed
  if (matched > longest)
    wrong.push_back(fmt::format("{} tokens matched, but no more than {} were ever committed", matched, longest));
  const bool all_there =
      large_ && !failures_ && !windowed() && config_.on_host_hit == host_hit_policy::load; // nothing was evicted
  if (all_there && matched < longest)
    wrong.push_back(fmt::format("{} tokens matched, but {} are there", matched, longest));
}

// -- refusals
// ---------------------------------------------------------------------------------------------------------

void reference_model::check_granted(std::string_view call, const model_request* who, sentences& wrong) const {
  if (who == nullptr) {
    if (call != "close")
      wrong.push_back(fmt::format("{} of a request that is not open succeeded", call));
    return;
  }
  const bool right = call == "resume"    ? who->status == model_status::suspended
                     : call == "suspend" ? who->status != model_status::suspended
                     : call == "close"   ? true
                                         : who->status == model_status::active;
  if (!right)
    wrong.push_back(fmt::format("{} of request {} succeeded, its status forbids it", call, who->id.value()));
}

void reference_model::check_refusal(const refusal_seen& refused, const storages& before, sentences& wrong) const {
  const error& why = refused.why;
  auto unjust = [&](std::string_view because) {
    wrong.push_back(
        fmt::format("{} was refused with {} ({}), but {}", refused.call, to_string(why.code), why.message, because));
  };
  const model_request* who = refused.who;
  switch (why.code) {
  case error_code::unknown_request:
    if (who != nullptr || refused.call == "open")
      unjust("the request is open");
    return;
  case error_code::wrong_status:
    if (sentences none; who == nullptr || (check_granted(refused.call, who, none), none.empty()))
      unjust("its status allows it");
    return;
  case error_code::prompt_exceeds_gpu_pool:
    if (std::none_of(config_.groups.begin(), config_.groups.end(),
                     [&](const group_config& group) { return refused.wanted_blocks > group.gpu_slots; }))
      unjust(fmt::format("{} blocks fit into every pool", refused.wanted_blocks));
    return;
  case error_code::gpu_full:
  case error_code::copies_in_flight:
  case error_code::publish_first:
  case error_code::host_full:
    if (why.code == error_code::host_full || (why.numbers && why.numbers->on == tier::host)) {
      if (!wants_host_slots(refused.call) || config_.on_host_full == host_full_policy::defer)
        unjust("it is never refused for that");
      else if (large_)
        unjust("the pools are large");
      else if (refused.settled && host_suffices(*who, before))
        unjust("nothing is pending, and there are enough host slots");
    } else if (!wants_gpu_slots(refused.call)) {
      unjust("it needs no slots");
    } else if (large_) {
      unjust("the pools are large");
    } else if (refused.settled && gpu_suffices(refused, before)) {
      unjust("nothing is pending, and there are enough slots that no open request is bound to");
    }
    break;
  default: unjust("that is no reason"); return;
  }
  if (!why.numbers)
    unjust("it comes without numbers");
  else if (why.code != error_code::publish_first && why.code != error_code::copies_in_flight &&
           why.numbers->needed <= why.numbers->free)
    unjust(fmt::format("its numbers say that {} are needed and {} free", why.numbers->needed, why.numbers->free));
}

std::uint32_t reference_model::spare_gpu(std::size_t group, const storages& now) const {
  std::set<std::uint32_t> bound;
  for (const auto& [id, storage] : now)
    for (const block_place& place : storage.groups[group].blocks)
      if (place.tier == tier::gpu)
        bound.insert(place.slot);
  return config_.groups[group].gpu_slots - static_cast<std::uint32_t>(bound.size());
}

/// A complete block may keep a host page beside the GPU page that its owners are bound to; those are not had for sure.
std::uint32_t reference_model::spare_host(std::size_t group, const storages& now) const {
  std::set<std::uint32_t> bound, with_gpu_page;
  for (const auto& [id, storage] : now) {
    const auto& blocks = storage.groups[group].blocks;
    for (block_ordinal o = 0; o < blocks.size(); ++o) {
      if (blocks[o].tier == tier::host)
        bound.insert(blocks[o].slot);
      else if (blocks[o].tier == tier::gpu && o < complete(requests.at(id)))
        with_gpu_page.insert(blocks[o].slot);
    }
  }
  const auto taken = static_cast<std::uint32_t>(bound.size() + with_gpu_page.size());
  const std::uint32_t all = config_.groups[group].host_slots;
  return all - std::min(all, taken);
}

bool reference_model::gpu_suffices(const refusal_seen& refused, const storages& before) const {
  for (std::size_t g = 0; g < config_.groups.size(); ++g) {
    std::uint32_t needed = refused.wanted_blocks;
    if (refused.call == "reserve")
      needed -= std::min(needed, refused.who->blocks);
    if (refused.call == "resume") {
      const auto& blocks = before.at(refused.who->id).groups[g].blocks;
      needed = static_cast<std::uint32_t>(std::count_if(
          blocks.begin(), blocks.end(), [](const block_place& place) { return place.tier == tier::host; }));
    }
    if (needed > spare_gpu(g, before))
      return false;
  }
  return true;
}

bool reference_model::host_suffices(const model_request& r, const storages& before) const {
  for (std::size_t g = 0; g < config_.groups.size(); ++g)
    if (config_.groups[g].kind == group_kind::sparse) {
      // What is on the GPU and complete is counted as taken already: its move takes no more.
      const std::uint32_t all = config_.groups[g].host_slots;
      if (spare_host(g, before) == 0 && all != 0)
        return false;
    }
  return r.history > 0;
}

// -- places
// -----------------------------------------------------------------------------------------------------------

void reference_model::check_places(const storages& now, sentences& wrong) const {
  for (const auto& [id, storage] : now)
    check_request(requests.at(id), storage, wrong);
  if (wrong.empty())
    check_sharing(now, wrong);
}

void reference_model::check_request(const model_request& r, const page_storage& storage, sentences& wrong) const {
  if (storage.groups.size() != config_.groups.size()) {
    wrong.push_back(
        fmt::format("request {}: {} groups of {}", r.id.value(), storage.groups.size(), config_.groups.size()));
    return;
  }
  for (std::size_t g = 0; g < config_.groups.size(); ++g) {
    const group_storage& group = storage.groups[g];
    const std::string name = fmt::format("request {}, group {}", r.id.value(), config_.groups[g].name);
    if (group.blocks.size() != r.blocks) {
      wrong.push_back(fmt::format("{}: it shows {} blocks, it was granted {}", name, group.blocks.size(), r.blocks));
      continue;
    }
    for (block_ordinal o = 0; o < r.blocks; ++o)
      check_place(r, g, o, group.blocks[o], wrong);
    std::uint32_t on_host = 0;
    if (r.decoding && r.status == model_status::active && config_.groups[g].kind == group_kind::sparse)
      while (on_host < std::min(complete(r), r.blocks) && group.blocks[on_host].tier == tier::host)
        ++on_host;
    if (group.history_blocks != on_host)
      wrong.push_back(fmt::format("{}: history_blocks is {}, should be {}", name, group.history_blocks, on_host));
  }
}

void reference_model::check_place(const model_request& r, std::size_t group, block_ordinal ordinal,
                                  const block_place& place, sentences& wrong) const {
  const group_config& config = config_.groups[group];
  auto complain = [&](std::string_view why) {
    wrong.push_back(fmt::format("request {}, group {}, block {} on tier {} in slot {}: {}", r.id.value(), config.name,
                                ordinal, static_cast<int>(place.tier), place.slot, why));
  };
  if (place.tier == tier::none) {
    const bool may_be_lost = failures_ && r.awaits_loads; // it is told when the last load has ended
    if (ordinal >= first_needed(group, r.history) && !may_be_lost)
      complain("there is no page, and attention needs it");
    return;
  }
  if (place.slot >= (place.tier == tier::gpu ? config.gpu_slots : config.host_slots))
    complain("there is no such slot");
  if (!place.ready && r.status == model_status::active)
    complain("it is not ready, and the request may run");
  const bool moves = config.kind == group_kind::sparse && r.decoding && ordinal < complete(r);
  if (place.tier == tier::host && r.status != model_status::suspended && !moves)
    complain("the request needs it on the GPU");
  if (ordinal + 1 < first_needed(group, r.history) && r.status == model_status::active)
    complain("the window has passed, it should be gone");
}

/// One slot, one block: whoever else shows the slot has the same complete block there.
void reference_model::check_sharing(const storages& now, sentences& wrong) const {
  struct shown {
    request_id by;
    block_ordinal ordinal;
  };
  std::map<std::tuple<std::size_t, tier, std::uint32_t>, shown> slots;
  const std::uint32_t t = config_.tokens_per_block;
  for (const auto& [id, storage] : now)
    for (std::size_t g = 0; g < storage.groups.size(); ++g)
      for (block_ordinal o = 0; o < storage.groups[g].blocks.size(); ++o) {
        const block_place& place = storage.groups[g].blocks[o];
        if (place.tier == tier::none)
          continue;
        auto [there, fresh] = slots.emplace(std::tuple{g, place.tier, place.slot}, shown{id, o});
        if (fresh)
          continue;
        const model_request& one = requests.at(there->second.by);
        const model_request& other = requests.at(id);
        const std::uint32_t end = (o + 1) * t;
        if (there->second.ordinal != o || one.history < end || other.history < end ||
            one.kv.common_with(other.kv) < end)
          wrong.push_back(fmt::format(
              "group {}, tier {}, slot {} holds block {} of request {} and block {} of request {}, which differ or are "
              "still written",
              config_.groups[g].name, static_cast<int>(place.tier), place.slot, there->second.ordinal, one.id.value(),
              o, other.id.value()));
      }
}

// -- why a block stays
// ------------------------------------------------------------------------------------------------

void reference_model::check_reasons(const model_request& r, group_id group, block_ordinal ordinal,
                                    const std::vector<blocker>& reasons, bool published, const storages& now,
                                    sentences& wrong) const {
  const std::size_t g = group.value();
  auto complain = [&](std::string_view why) {
    wrong.push_back(fmt::format("request {} decodes, group {}, block {} of its complete history is on the GPU: {}",
                                r.id.value(), config_.groups[g].name, ordinal, why));
  };
  if (reasons.empty())
    complain("nothing blocks it, and it does not move");
  if (published && config_.defer_steps_max &&
      std::all_of(reasons.begin(), reasons.end(), [](const blocker& b) { return b.why == blocker::cause::owner; }))
    complain(fmt::format("it has waited for others longer than {} publications", *config_.defer_steps_max));
  for (const blocker& reason : reasons)
    switch (reason.why) {
    case blocker::cause::owner: {
      auto found = requests.find(reason.request);
      if (found == requests.end())
        complain(fmt::format("request {} is said to block it and is not open", reason.request.value()));
      else if (const model_request& by = found->second;
               by.status == model_status::suspended ||
               (by.decoding && by.history >= (reason.ordinal + 1) * config_.tokens_per_block) || &by == &r)
        complain(fmt::format("request {} is said to block it and does not need it there", reason.request.value()));
      break;
    }
    case blocker::cause::host_full:
      if (large_)
        complain("host_full is said to block it, and the pools are large");
      else if (spare_host(g, now) > 0)
        complain(fmt::format("host_full is said to block it, and {} host slots are to be had", spare_host(g, now)));
      break;
    case blocker::cause::copy_failed:
      if (!failures_)
        complain("copy_failed is said to block it, and no copy failed");
      break;
    case blocker::cause::copy_under_way: complain("a copy is said to be under way, and nothing is pending"); break;
    }
}

} // namespace kvferry::test
