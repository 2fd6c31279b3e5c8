#include "actors/page_registry.hpp"

#include <algorithm>
#include <bit>
#include <iterator>

#include "actors/planted_fault.hpp"
#include "kvferry/contract.hpp"
#include "kvferry/statistics.hpp"

namespace kvferry {

page_registry::page_registry(const configuration& config)
    : config_(config), ledger_(config.groups), index_(config.groups.size()), idle_(config.groups.size()),
      waiting_(config.groups.size()), gpu_pages_(config.groups.size()), host_pages_(config.groups.size()) {
  promised_host_.resize(groups());
  counters_.pages_by_host_run.resize(statistics{}.pages_by_host_run.size());
  for (std::size_t g = 0; g < groups(); ++g) {
    gpu_pages_[g].resize(config.groups[g].gpu_slots);
    host_pages_[g].resize(config.groups[g].host_slots);
  }
}

void page_registry::begin(claim* caller) {
  caller_ = caller;
  reply_ = std::monostate{};
  touched_.clear();
}

/// Nothing may overtake a reply that is parked: what happens to its request meanwhile becomes part of it.
page_registry::parked_reply* page_registry::parked_for(request_id request) {
  auto found = std::ranges::find(parked_, request, &parked_reply::to);
  return found == parked_.end() ? nullptr : &*found;
}

void page_registry::add_to_parked(parked_reply& parked, claim& c) {
  grant& held = *grant_of(parked.what);
  std::ranges::move(std::exchange(c.changes, {}), std::back_inserter(held.changes));
  held.seq = c.seq;
  held.blocks = c.blocks;
  std::erase_if(held.changes, [&](const page_change& change) { return change.ordinal >= held.blocks; });
}

/// A row shows nothing while its request's pages are loaded; that it does again is a change with a number of its own,
/// else a publication could not wait for it.
void page_registry::number_ended_loads() {
  std::erase_if(loads_ended_, [&](request_id request) {
    const claim* c = live_claim(request);
    if (c == nullptr || parked_for(request) != nullptr)
      return c == nullptr;
    const bool ended = c->loads == 0 || planted(fault::ready_before_loads);
    return !ended || !(c->active || c->load_lost);
  });
  for (request_id request : loads_ended_)
    if (parked_for(request) == nullptr)
      number(*live_claim(request));
}

void page_registry::finish(outbox& out) {
  serve_waiting();
  number_ended_loads();

  grant* granted = grant_of(reply_);
  for (claim* c : std::exchange(changed_, {})) {
    c->numbered = false;
    if (c == caller_ && granted != nullptr) {
      granted->changes = std::exchange(c->changes, {});
    } else if (parked_reply* parked = parked_for(c->id)) {
      add_to_parked(*parked, *c);
    } else if (!c->changes.empty() && std::ranges::find(loads_ended_, c->id) == loads_ended_.end()) {
      out.send(c->id, owners_rebound{c->seq, std::exchange(c->changes, {})});
    }
  }
  if (granted != nullptr) {
    granted->seq = caller_->seq;
    granted->blocks = caller_->blocks;
    granted->after.remove_covered(passed_);
    if (auto* accepted = std::get_if<offload_accepted>(&reply_))
      fill_counts(*accepted, *caller_);
  }

  if (!copies_.empty()) {
    count_host_runs();
    for (fence_set* before : {&before_to_host_, &before_to_gpu_})
      before->remove_covered(passed_);
    out.send(copy_pages{std::exchange(copies_, {}), std::exchange(before_to_host_, {}),
                        std::exchange(before_to_gpu_, {}), !reply_waits_for_.empty()});
    unsubmitted_ = reply_waits_for_.empty();
  } else if (!reply_waits_for_.empty()) { // for a copy that was decided earlier
    submit(out);
  }
  if (!cancels_.empty())
    out.send(cancel_copies{std::exchange(cancels_, {})});
  if (!std::holds_alternative<std::monostate>(reply_)) {
    if (reply_waits_for_.empty() || planted(fault::grant_before_submission))
      send_reply(out, caller_->id, std::move(reply_));
    else // rule 5: a fence is named only after it was enqueued
      parked_.push_back({caller_->id, std::exchange(reply_waits_for_, {}), std::move(reply_)});
  }
  reply_waits_for_.clear();
  reply_ = std::monostate{};

  std::erase_if(loads_ended_, [&](request_id request) {
    if (parked_for(request) != nullptr)
      return false;
    claim& c = *live_claim(request);
    out.send(request, loads_done{c.seq, std::exchange(c.changes, {}), c.blocks, std::exchange(c.load_lost, false)});
    return true;
  });
  if (!watching_ && ledger_.any_fenced()) {
    watching_ = true;
    out.send(watch_fences{ledger_.awaited()});
  }
  if (routers_listen())
    tell_routers(out);
  caller_ = nullptr;
}

void page_registry::count_host_runs() {
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    const page_move& move = copies_[i];
    if (goes_to_gpu(move.kind))
      continue;
    ++length;
    const page_move* next = i + 1 < copies_.size() ? &copies_[i + 1] : nullptr;
    if (next != nullptr && next->kind == move.kind && next->group == move.group &&
        next->host.value() == move.host.value() + 1)
      continue;
    const auto magnitude = static_cast<std::size_t>(std::bit_width(length)) - 1;
    counters_.pages_by_host_run[std::min(magnitude, counters_.pages_by_host_run.size() - 1)] += length;
    length = 0;
  }
}

void page_registry::refuse(call_id call, refusal why) { reply_ = transition_refused{call, std::move(why)}; }

grant* page_registry::grant_of(reply& r) {
  return std::visit(
      [](auto& what) -> grant* {
        if constexpr (requires { what.granted; })
          return &what.granted;
        else
          return nullptr;
      },
      r);
}

void page_registry::send_reply(outbox& out, request_id to, reply r) {
  std::visit(
      [&](auto& what) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(what)>, std::monostate>)
          out.send(to, std::move(what));
      },
      r);
}

void page_registry::fill_counts(offload_accepted& accepted, const claim& c) const {
  accepted.moving = accepted.rebound = accepted.deferred = 0;
  for (std::size_t g = 0; g < groups(); ++g)
    for (block_ordinal o = 0; is_sparse(group_at(g)) && o < c.complete; ++o) {
      const claim_entry& entry = c.tables[g][o];
      ++(entry.bound == tier::host ? accepted.rebound : entry.held->copy ? accepted.moving : accepted.deferred);
    }
}

// -- messages that are only noted
// ----------------------------------------------------------------------------------------

void page_registry::handle(const register_request& message, outbox& out) {
  begin(nullptr);
  auto c = std::make_unique<claim>();
  c->id = message.request;
  c->tables.resize(groups());
  c->first_held.resize(groups());
  claims_.emplace(message.request, std::move(c));
  out.send(request_registered{message.request});
}

void page_registry::handle(const fence_passed& message, outbox& out) {
  begin(nullptr);
  watching_ = false;
  passed_.add(message.passed);
  ledger_.note_passed(message.passed);
  for (block* b : std::exchange(unwritten_, {})) { // to be looked at again
    b->unwritten = false;
    touched_.push_back(b);
  }
  written_watched_.remove_covered(passed_);
  finish(out);
}

void page_registry::submit(outbox& out) {
  out.send(submit_copies{});
  unsubmitted_ = false;
}

void page_registry::handle(const flush_copies&, outbox& out) {
  begin(nullptr);
  if (unsubmitted_)
    submit(out);
}

void page_registry::handle(const published_unchanged&, outbox& out) {
  begin(nullptr);
  ++publications_;
  end_deferrals();
  finish(out);
  if (unsubmitted_)
    submit(out);
}

/// What has been deferred for so many publications is deferred no longer.
void page_registry::end_deferrals() {
  if (config_.defer_steps_max)
    deferrals_.take_due(publications_, *config_.defer_steps_max, [&](block& b) {
      b.bound_reached = true;
      settle(b);
    });
}

void page_registry::handle(const batch_changed& message, outbox&) {
  begin(nullptr);
  if (claim* c = live_claim(message.request))
    c->batch = message.batch;
}

void page_registry::handle(const row_acknowledged& message, outbox& out) {
  begin(nullptr);
  if (claim* c = live_claim(message.request); c != nullptr && c->shown)
    c->told_early = std::max(c->told_early, message.seq); // the publisher's word of who reads its pages is on its way
  else
    acknowledge(message.request, message.seq, {});
  finish(out);
}

void page_registry::handle(const rows_published& message, outbox& out) {
  begin(nullptr);
  publications_ += message.version != 0 ? 1u : 0u;
  for (const row_number& shown : message.shown) {
    acknowledge(shown.request, shown.seq, message.readers);
    if (claim* c = live_claim(shown.request); c != nullptr && c->batch == message.batch)
      c->shown = true;
  }
  for (request_id request : message.left) // from now on it acknowledges its numbers itself, and knows no readers
    if (auto found = claims_.find(request); found != claims_.end()) {
      claim& c = *found->second;
      fence_bound_pages(c, message.readers);
      c.shown = false;
      acknowledge(request, std::exchange(c.told_early, 0), message.readers);
    }
  for (request_id request : message.gone) {
    acknowledge(request, slot_ledger::until_gone, planted(fault::close_ignores_steps) ? fence_set{} : message.readers);
    departed_.erase(request);
    claim* c = const_cast<claim*>(find_claim(request));
    if (c == nullptr)
      continue;
    if (c->ghost)
      release(*c, std::nullopt, history_report{c->history_tokens, {}, message.readers});
    else
      gone_[request] = message.readers; // its release_owners may still be on its way
  }
  end_deferrals();
  finish(out);
}

void page_registry::acknowledge(request_id request, row_seq seq, const fence_set& readers) {
  ledger_.acknowledge(request, seq, readers, [&](slot_key slot) {
    auto& pages = slot.on == tier::gpu ? gpu_pages_ : host_pages_;
    if (block* b = pages[slot.group.value()][slot.slot]; b != nullptr && b->is_idle()) {
      leave_idle(*b); // an idle page that nobody reads any more can be taken
      make_idle(*b);
    }
  });
}

void page_registry::handle(const request_down& message, outbox& out) {
  claim* c = live_claim(message.request);
  if (c == nullptr) {
    if (find_claim(message.request) == nullptr) // it had released its owners, perhaps without a word to who closes it
      out.send(request_lost{message.request});
    return;
  }
  begin(nullptr);
  std::erase_if(parked_, [&](const parked_reply& p) { return p.to == message.request; });
  std::erase(suspended_, message.request);
  change_claim(*c, [](claim& dead) { dead.active = planted(fault::ghost_blocks); });
  c->ghost = true;
  out.send(request_lost{message.request});
  if (gone_.contains(message.request)) {
    release(*c, std::nullopt, history_report{c->history_tokens, {}, gone_[message.request]});
  } else {
    if (!c->batch.is_none())
      out.send(c->batch, drop_row{message.request});
    settle_table(*c); // it blocks nobody; its pages stay until it is known what still runs it
  }
  finish(out);
}

void page_registry::handle(const query_blockers& message, outbox& out) {
  begin(nullptr);
  blockers_told told{message.call, {}, {}};
  const claim* c = find_claim(message.request);
  if (c == nullptr || message.group.value() >= groups() || message.ordinal >= c->blocks) {
    told.refused = refusal{c == nullptr ? error_code::unknown_request : error_code::invalid_argument, "", {}};
    out.send(std::move(told));
    return;
  }
  const claim_entry& entry = c->tables[message.group.value()][message.ordinal];
  if (entry.held != nullptr && entry.bound == tier::gpu && c->active &&
      !needs_gpu(*c, message.group, message.ordinal)) {
    const block& b = *entry.held;
    for (const owner& o : b.owners)
      if (needs_gpu(b, o))
        told.blockers.push_back({blocker_cause::owner, o.request->id, o.ordinal});
    if (b.copy)
      told.blockers.push_back({blocker_cause::copy_under_way, request_id::none(), 0});
    else if (b.wait_ticket != 0)
      told.blockers.push_back({blocker_cause::host_full, request_id::none(), 0});
    else if (b.failures > config_.copy_retries)
      told.blockers.push_back({blocker_cause::copy_failed, request_id::none(), 0});
  }
  out.send(std::move(told));
}

void page_registry::handle(const query_counters& message, outbox& out) {
  begin(nullptr);
  counters_told told = counters_;
  told.call = message.call;
  std::uint64_t taken = 0, idle_slots = 0, owners = 0;
  for (std::size_t g = 0; g < groups(); ++g)
    for (tier on : {tier::gpu, tier::host})
      taken += ledger_.taken_count(group_at(g), on);
  for (const block& b : blocks_)
    if (!b.id.is_none() && b.is_idle())
      idle_slots += (b.has_gpu() ? 1u : 0u) + (b.has_host() ? 1u : 0u);
  for (const auto& [request, c] : claims_)
    for (const auto& table : c->tables)
      owners += static_cast<std::uint64_t>(
          std::count_if(table.begin(), table.end(), [](const claim_entry& e) { return e.held != nullptr; }));
  told.slots_in_use = taken - idle_slots;
  told.owners = owners;
  told.copies = moves_.size();
  out.send(told);
}

} // namespace kvferry
