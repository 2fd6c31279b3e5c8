#include "tests/actors/registry_rig.hpp"

#include <cctype>

namespace kvferry::test {

namespace {

void apply(registry_rig::replica& r, const std::vector<page_change>& changes) {
  for (const page_change& change : changes)
    r.pages[change.group.value()][change.ordinal] = change;
}

} // namespace

void registry_rig::publish(fence_set readers, batch_id batch) {
  rows_published told{batch, ++versions, {}, {}, {}, std::move(readers)};
  for (auto& [id, r] : requests)
    if (r.batch == batch && (r.released || r.dead)) {
      told.gone.push_back(id);
      r.batch = batch_id::none();
    } else if (r.batch == batch && (!std::exchange(r.row_told, true) || r.acknowledged < r.seq)) {
      told.shown.push_back({id, r.acknowledged = r.seq});
    }
  send(std::move(told));
}

std::string registry_rig::tiers(request_id id, group_id group) const {
  std::string text;
  for (block_ordinal o = 0; o < requests.at(id).blocks; ++o)
    text += page(id, o, group).on == tier::gpu ? 'g' : page(id, o, group).on == tier::host ? 'h' : '-';
  return text;
}

std::vector<std::string> registry_rig::why_on_gpu(request_id id, block_ordinal ordinal, group_id group) {
  send(query_blockers{call_id{7}, id, group, ordinal});
  std::vector<std::string> told;
  for (const told_blocker& b : only<blockers_told>().blockers)
    told.push_back(b.cause == blocker_cause::owner         ? fmt::format("R{}.{}", b.request.value(), b.ordinal)
                   : b.cause == blocker_cause::host_full   ? "host_full"
                   : b.cause == blocker_cause::copy_failed ? "copy_failed"
                                                           : "copying");
  return told;
}

block_keys registry_rig::keys_of(const std::string& text, std::size_t first, std::size_t end) const {
  block_keys keys;
  keys.first = static_cast<block_ordinal>(first);
  std::uint64_t chain = 1;
  for (std::size_t o = 0; o < end; ++o) {
    chain = chain * 1000003 + static_cast<std::uint64_t>(text[o]);
    if (o < first)
      continue;
    keys.hashes.push_back(forced_hash ? *forced_hash : chain);
    for (std::uint32_t i = 0; i < block_tokens; ++i)
      keys.tokens.push_back(i < block_tokens / 2 ? std::toupper(text[o]) : text[o]);
  }
  return keys;
}

void registry_rig::take(const outgoing& each) {
  if (auto* copies = each.body.get_if<copy_pages>()) {
    unsubmitted.insert(unsubmitted.end(), copies->moves.begin(), copies->moves.end());
    under_way.insert(under_way.end(), copies->moves.begin(), copies->moves.end());
    last_copies = *copies;
    return;
  }
  if (auto* message = each.body.get_if<cancel_copies>())
    cancels.insert(cancels.end(), message->moves.begin(), message->moves.end());
  if (auto* message = each.body.get_if<request_lost>())
    lost.push_back(message->request);
  if (auto* message = each.body.get_if<drop_row>())
    dropped.push_back(message->request);
  if (each.to.kind != actor_kind::request_cache)
    return;
  const request_id id{each.to.number};
  replica& r = requests.at(id);
  answer& a = answers[id];
  auto granted = [&](const grant& g) {
    r.answered = true;
    a.granted = g;
    r.blocks = g.blocks;
    r.seq = g.seq;
    apply(r, g.changes);
  };
  if (auto* pages = each.body.get_if<pages_granted>()) {
    granted(pages->granted);
    a.matched_tokens = pages->matched_tokens;
    a.loading = pages->loading;
    r.history = std::max(r.history, pages->matched_tokens);
  } else if (auto* done = each.body.get_if<advanced>()) {
    granted(done->granted);
    a.committed_blocks = done->committed_blocks;
  } else if (auto* accepted = each.body.get_if<offload_accepted>()) {
    granted(accepted->granted);
    a.moving = accepted->moving;
    a.rebound = accepted->rebound;
    a.deferred = accepted->deferred;
  } else if (auto* refused = each.body.get_if<transition_refused>()) {
    r.answered = true;
    a.refused = true;
    a.why = refused->why;
  } else if (auto* rebound = each.body.get_if<owners_rebound>()) {
    REQUIRE(rebound->seq > r.seq); // rule 4: numbers grow
    r.seq = rebound->seq;
    ++r.rebounds;
    apply(r, rebound->changes);
  } else if (auto* loaded = each.body.get_if<loads_done>()) {
    REQUIRE(loaded->seq > r.seq); // its row shows its pages again: a publication must be able to wait for that
    r.seq = loaded->seq;
    apply(r, loaded->changes);
    r.blocks = loaded->blocks;
    r.history = std::min(r.history, loaded->blocks * block_tokens);
    r.loads.push_back(*loaded);
  }
}

/// Invariant 8, of requests instead of rows: each was told of every change.
void registry_rig::check_replicas() const {
  for (const auto& [id, r] : requests) {
    const claim* c = registry.find_claim(id);
    if (c == nullptr || c->ghost || r.released || c->load_lost) // what was lost is told with the last of its loads
      continue;
    REQUIRE(c->blocks == r.blocks);
    for (std::uint8_t g = 0; g < config.groups.size(); ++g)
      for (block_ordinal o = 0; o < r.blocks; ++o) {
        const claim_entry& entry = c->tables[g][o];
        const page_change told = page(id, o, group_id{g});
        INFO("request " << id.value() << " group " << int{g} << " ordinal " << o);
        REQUIRE(told.on == (entry.held == nullptr ? tier::none : entry.bound));
        if (told.on == tier::gpu)
          REQUIRE(told.slot == entry.held->gpu.value());
        if (told.on == tier::host)
          REQUIRE(told.slot == entry.held->host.value());
      }
  }
}

void registry_rig::acknowledge_rowless() {
  if (!rowless_acknowledge)
    return;
  std::vector<outgoing> kept = std::exchange(sent, {}); // tests look at what they caused themselves
  std::vector<row_number> numbers;
  for (auto& [id, r] : requests)
    if (r.batch.is_none() && r.acknowledged < r.seq && !r.released && !r.dead)
      numbers.push_back({id, r.acknowledged = r.seq});
  for (const row_number& n : numbers)
    send(row_acknowledged{n.request, n.seq});
  sent = std::move(kept);
}

} // namespace kvferry::test
