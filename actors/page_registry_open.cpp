// Opening: the longest prefix that is there, bound on the GPU, loaded where it is on the host only (4.4, 4.5).
#include <algorithm>
#include <span>
#include <tuple>

#include "actors/page_registry.hpp"
#include "actors/planted_fault.hpp"
#include "kvferry/contract.hpp"

namespace kvferry {

namespace {

/// A page is copied for this part of a block at least: prompts that share no more than their first token are not worth
/// the copy, and the wait for it.
constexpr std::uint32_t worth_a_copy = 8;

} // namespace

bool page_registry::can_match(const block* b) const {
  return b != nullptr && (b->has_gpu() || config_.on_host_hit == host_hit_policy::load);
}

/// A match holds when every sparse and full dense group has all blocks before its end, and each window group those that
/// its window covers there; the longest that holds wins. It may leave a block half way, or end in it.
page_registry::matched_prefix page_registry::longest_match(const match_prefix& message) {
  const std::uint32_t t = config_.tokens_per_block;
  matched_prefix match;
  std::vector<prefix_node*>& path = match.nodes;
  std::vector<std::uint32_t> run_from(groups(), 0); // [group] blocks from here to the end of the path are all there
  auto holds_at = [&](std::uint32_t tokens) {
    for (std::size_t g = 0; g < groups(); ++g)
      if (run_from[g] > first_in_window(group_at(g), tokens))
        return false;
    return true;
  };
  prefix_node& root = index_.root(message.adapter, message.salt);
  const std::uint32_t at_most = (std::max(message.prompt_tokens, 1u) - 1) / t; // the last token is always computed
  for (bool goes_on = true; goes_on && path.size() < at_most;) {
    const auto depth = static_cast<std::uint32_t>(path.size());
    prefix_node* node = index_.find(path.empty() ? root : *path.back(), message.keys.hashes[depth],
                                    std::span{message.keys.tokens}.subspan(std::size_t{depth} * t, t));
    if (node == nullptr)
      break;
    path.push_back(node);
    for (std::size_t g = 0; g < groups(); ++g)
      if (!can_match(node->blocks[g])) {
        run_from[g] = depth + 1;
        goes_on = goes_on && config_.groups[g].window_tokens != 0;
      }
    if (holds_at((depth + 1) * t))
      match.whole_blocks = match.blocks = depth + 1;
  }
  const auto deepest = static_cast<std::uint32_t>(path.size());
  find_branch(match, deepest, deepest == 0 ? root : *path.back(), message);
  if (match.branch != nullptr && holds_at(deepest * t + match.branch_tokens)) {
    match.blocks = deepest;
  } else if (match.branch != nullptr || deepest != match.blocks) { // what holds for the whole blocks holds behind them
    find_branch(match, match.blocks, match.blocks == 0 ? root : *path[match.blocks - 1], message);
  }
  return match;
}

/// What an owner of the match is bound to, but for the branch.
page_registry::wanted_blocks page_registry::blocks_of(const matched_prefix& match) const {
  wanted_blocks wanted;
  const std::uint32_t tokens = match.blocks * config_.tokens_per_block + match.branch_tokens;
  for (std::size_t g = 0; g < groups(); ++g)
    for (block_ordinal o = first_in_window(group_at(g), tokens); o < match.blocks; ++o)
      wanted.emplace_back(match.nodes[o]->blocks[g], o);
  return wanted;
}

/// The child of `end`, `depth` blocks from the root, whose first tokens are the prompt's. All groups must have it.
void page_registry::find_branch(matched_prefix& match, std::uint32_t depth, const prefix_node& end,
                                const match_prefix& message) {
  const std::uint32_t t = config_.tokens_per_block, begin = depth * t;
  const std::uint32_t left = message.prompt_tokens > begin + 1 ? message.prompt_tokens - 1 - begin : 0;
  std::tie(match.branch, match.branch_tokens) = index_.longest_start(
      end, std::span{message.keys.tokens}.subspan(begin, std::min(t, left)), [&](const prefix_node& child) {
        return std::ranges::all_of(child.blocks, [&](const block* b) { return can_match(b); });
      });
  if (match.branch_tokens * worth_a_copy < t) {
    match.branch = nullptr;
    match.branch_tokens = 0;
  }
}

/// Slots for the loads of `wanted` and for a branch, all or nothing.
std::optional<refusal> page_registry::plan_match(const matched_prefix& match, const wanted_blocks& wanted) const {
  std::vector<std::uint32_t> needed;
  std::vector<kept_pages> kept;
  count_loads(wanted, needed, kept);
  if (match.branch != nullptr)
    for (const block* source : match.branch->blocks) {
      const std::size_t g = source->group.value();
      ++needed[g];
      idle_[g].count_kept(*source, kept[g].gpu, kept[g].gpu_named);
    }
  return plan_gpu(needed, slot_use::copy, batch_id::none(), kept);
}

void page_registry::handle(const match_prefix& message, outbox& out) {
  claim* c = live_claim(message.request);
  if (c == nullptr)
    return;
  begin(c);
  const std::uint32_t t = config_.tokens_per_block;
  for (std::size_t g = 0; g < groups(); ++g) {
    const std::uint32_t whole = config_.groups[g].window_tokens == 0 ? (message.prompt_tokens + t - 1) / t : 0;
    if (whole > ledger_.total(group_at(g), tier::gpu)) {
      refuse(message.call, gpu_shortage(group_at(g), whole, 0));
      finish(out);
      return;
    }
  }

  matched_prefix match = longest_match(message);
  wanted_blocks wanted = blocks_of(match);
  auto why = plan_match(match, wanted);
  if (why && match.branch != nullptr) { // the whole blocks alone may find room
    match = {match.whole_blocks, match.whole_blocks, std::move(match.nodes), nullptr, 0};
    wanted = blocks_of(match);
    why = plan_match(match, wanted);
  }
  if (why) {
    refuse_gpu(*c, message.call, std::move(*why));
    finish(out);
    return;
  }

  c->active = true;
  c->blocks = c->complete = c->committed = match.blocks;
  c->history_tokens = match.blocks * t + match.branch_tokens;
  c->last_node = match.blocks == 0 ? &index_.root(message.adapter, message.salt) : match.nodes[match.blocks - 1];
  index_.add_reference(*c->last_node);
  for (std::size_t g = 0; g < groups(); ++g) {
    c->tables[g].resize(match.blocks);
    c->first_held[g] = first_in_window(group_at(g), c->history_tokens);
  }
  pages_granted granted{message.call, {}, c->history_tokens, false};
  if (match.branch != nullptr) // before anything is taken from the idle blocks
    for (block* source : match.branch->blocks) {
      if (source->is_idle())
        leave_idle(*source);
      source->idle_since = 0; // it has just been used
      ++source->pins;
    }
  load_and_bind(*c, wanted, granted.granted);
  if (match.branch != nullptr)
    branch_off(*c, match);
  number(*c);
  granted.loading = c->loads > 0;
  counters_.prefix_blocks_hit += match.blocks;
  reply_ = std::move(granted);
  finish(out);
}

/// The block behind the match: private pages that begin as copies of the shared ones. REQUIRES: planned, and the
/// sources are pinned.
void page_registry::branch_off(claim& c, const matched_prefix& match) {
  const block_ordinal ordinal = c.blocks++;
  for (std::size_t g = 0; g < groups(); ++g) {
    c.tables[g].resize(c.blocks);
    grant from; // what stands before the copy is the copy's to wait for
    const gpu_slot slot = take_gpu(group_at(g), slot_use::copy, batch_id::none(), from);
    block& b = new_block(group_at(g));
    b.gpu = slot;
    b.loading = true;
    gpu_pages_[g][slot.value()] = &b;
    own(b, c, ordinal, tier::gpu);
    note_change(c, group_at(g), ordinal, tier::gpu, slot.value(), false);
    start_copy(b, move_kind::branch, slot.value(), match.branch->blocks[g]);
    ++counters_.pages_allocated;
  }
}

/// How many GPU slots binding `wanted` on the GPU takes, and which idle pages it keeps from being taken.
void page_registry::count_loads(const wanted_blocks& wanted, std::vector<std::uint32_t>& needed,
                                std::vector<kept_pages>& kept) const {
  needed.assign(groups(), 0);
  kept.assign(groups(), {});
  for (const auto& [b, ordinal] : wanted) {
    const std::size_t g = b->group.value();
    needed[g] += b->has_gpu() ? 0u : 1u;
    idle_[g].count_kept(*b, kept[g].gpu, kept[g].gpu_named);
  }
}

/// Binds each (block, ordinal) to its GPU page, loading those that are on the host only, once for all who need them.
/// REQUIRES: planned.
void page_registry::load_and_bind(claim& c, const wanted_blocks& wanted, grant& granted) {
  for (auto [b, ordinal] : wanted) // first out of the idle lists, so that no slot is taken from what is wanted
    if (b->is_idle())
      leave_idle(*b);
  for (auto [b, ordinal] : wanted) {
    if (!b->has_gpu()) {
      grant from; // what stands before the load is the load's to wait for
      gpu_slot slot = take_gpu(b->group, slot_use::copy, batch_id::none(), from);
      b->failures = 0;
      start_copy(*b, move_kind::load, slot.value());
      if (planted(fault::host_page_under_load))
        ledger_.give_back(key_of(b->group, b->host));
      b->gpu = slot;
      b->loading = true;
      gpu_pages_[b->group.value()][slot.value()] = b;
    }
    claim_entry& entry = c.tables[b->group.value()][ordinal];
    if (entry.held == nullptr) {
      own(*b, c, ordinal, tier::gpu);
      note_change(c, b->group, ordinal, tier::gpu, b->gpu.value(), !b->loading);
    } else {
      rebind(*b, {&c, ordinal}, tier::gpu);
    }
    granted.after.add(b->written);
    settle(*b); // a copy to the host that waited is blocked now
  }
}

} // namespace kvferry
