// What the random engine checks after every command, and the two ways to come to rest: with nothing pending, and with
// nothing left.
#include <algorithm>

#include "kvferry/contract.hpp"
#include "tests/properties/random_engine.hpp"

namespace kvferry::test {
namespace {

bool same_places(const group_storage& a, const group_storage& b) {
  return a.blocks == b.blocks && a.history_blocks == b.history_blocks;
}

/// What a refused call leaves as it was. Spills that it starts may evict, and messages are sent.
bool same_counts(const statistics& a, const statistics& b) {
  auto all = [](const statistics& s) {
    return std::array{
        s.pages_allocated, s.pages_offloaded, s.pages_spilled, s.pages_demoted,    s.pages_rebound_without_copy,
        s.pages_deferred,  s.pages_retried,   s.pages_loaded,  s.copies_failed,    s.prefix_blocks_hit,
        s.bytes_to_host,   s.bytes_to_gpu,    s.publications,  s.entries_published};
  };
  return all(a) == all(b);
}

} // namespace

storages random_engine::look() {
  storages now;
  for (const auto& [id, r] : model_.requests)
    if (auto storage = runtime_->storage_of(id))
      now.emplace(id, std::move(*storage));
    else
      wrong(fmt::format("where the pages of request {} are was not told: {}", id.value(), storage.error().message));
  return now;
}

void random_engine::refused(std::string_view call, const model_request* who, const error& why,
                            std::uint32_t wanted_blocks) {
  refused_ = true;
  model_.check_refusal({call, who, why, wanted_blocks, settled_}, places_, wrong_);
}

void random_engine::take(const std::vector<ready_request>& ready) {
  for (const ready_request& told : ready) {
    auto found = model_.requests.find(told.request);
    if (found == model_.requests.end())
      continue; // closed in the same call
    model_request& r = found->second;
    tell("  request {} is ready{}", r.id.value(),
         told.load_failed ? fmt::format(", cut to {} tokens", told.matched_tokens) : "");
    r.awaits_loads = false;
    const bool lost_while_suspended = told.load_failed && r.status == model_status::suspended;
    if (r.status != model_status::loading && !lost_while_suspended)
      wrong(fmt::format("request {} is said to be ready, and was not loading", r.id.value()));
    if (told.load_failed ? told.matched_tokens > r.history : told.matched_tokens != r.history)
      wrong(fmt::format("request {} is ready with {} tokens, it had {}", r.id.value(), told.matched_tokens, r.history));
    if (!lost_while_suspended)
      r.status = model_status::active;
    if (told.load_failed) {
      r.history = r.written = told.matched_tokens;
      // How much capacity is left is not told: no more than before, no less than those tokens take.
      if (auto storage = runtime_->storage_of(r.id); storage && !storage->groups.empty())
        r.blocks = std::clamp(static_cast<std::uint32_t>(storage->groups[0].blocks.size()),
                              model_.blocks_of(told.matched_tokens), r.blocks);
    }
  }
}

/// A refused call still carries the history, behind which a window may have passed.
void random_engine::check_unchanged(const model_request& r, page_storage before, const page_storage& now) {
  bool same_rows = before.change == now.change && before.version == now.version;
  for (std::size_t g = 0; g < config_.groups.size(); ++g) {
    auto& blocks = before.groups[g].blocks;
    for (block_ordinal o = 0; o < std::min<std::size_t>(model_.first_needed(g, r.history), blocks.size()); ++o)
      if (blocks[o].tier != tier::none && now.groups[g].blocks[o].tier == tier::none) {
        blocks[o] = {};
        same_rows = true;
      }
    same_rows = same_rows && same_places(before.groups[g], now.groups[g]);
  }
  if (!same_rows)
    wrong(fmt::format("the refused call changed request {}", r.id.value()));
}

void random_engine::after_command() {
  take(runtime_->take_ready());
  storages now = look();
  const statistics counts = runtime_->take_statistics();
  if (refused_) {
    for (const auto& [id, storage] : now)
      if (auto before = places_.find(id); before != places_.end())
        check_unchanged(model_.requests.at(id), before->second, storage);
    if (!same_counts(counts, counts_))
      wrong("the refused call changed the counters");
  }
  if (wrong_.empty())
    model_.check_places(now, wrong_);
  if (gpu_->unordered_accesses() != 0)
    wrong("unordered: " + gpu_->first_unordered().front().description);
  places_ = std::move(now);
  counts_ = counts;
}

/// Runs the device and takes its completions until nothing happens any more. False: something is held.
bool random_engine::drain() {
  if (!held_.empty())
    return false;
  for (int rounds = 0; rounds < 200; ++rounds) {
    const std::uint64_t before = runtime_->take_statistics().messages;
    const std::uint64_t cost = runtime_->take_statistics().messages - before;
    runtime_->poll(); // submits what is queued
    gpu_->run_all();
    const std::uint64_t between = runtime_->take_statistics().messages;
    runtime_->poll();
    // A poll that finds nothing costs the message that asks for what is queued.
    if (runtime_->take_statistics().messages - between == cost + 1) {
      take(runtime_->take_ready());
      return true;
    }
    take(runtime_->take_ready());
  }
  wrong("the device never comes to rest");
  return true;
}

/// Until nothing is pending: no copy, no fence, no change that is not published.
void random_engine::settle() {
  if (!held_.empty())
    return;
  tell("settle");
  settling_ = true;
  for (batch_side& b : batches_)
    while (b.open_reads != 0)
      end_read(b);
  for (int rounds = 0; rounds < 50 && wrong_.empty(); ++rounds) {
    drain();
    bool news = false;
    for (batch_side& b : batches_) {
      const version_number last = b.shown ? b.shown->version : 0;
      places_ = look();
      if (!publish(b, b.stream))
        return;
      news = news || b.shown->version != last;
    }
    drain();
    if (!news && rounds > 4) { // a deferred block may wait for some publications
      refused_ = settling_ = false;
      settled_ = true;
      return check_settled();
    }
  }
  if (wrong_.empty())
    wrong("there is always something new to publish");
}

void random_engine::check_settled() {
  if (!wrong_.empty())
    return;
  const storages now = look();
  const bool published = std::any_of(batches_.begin(), batches_.end(), // by `settle`, more often than any bound
                                     [](const batch_side& b) { return b.shown && b.shown->version != 0; });
  auto findings = runtime_->check_quiet();
  if (!findings)
    return wrong("the quiet check was refused: " + findings.error().message);
  for (const std::string& finding : *findings)
    wrong("nothing is pending, but " + finding);
  for (const auto& [id, r] : model_.requests) {
    if (r.status == model_status::loading)
      wrong(fmt::format("nothing is pending, and request {} is still loading", id.value()));
    if (r.status != model_status::active || !r.decoding)
      continue;
    for (std::size_t g = 0; g < config_.groups.size(); ++g) {
      if (config_.groups[g].kind != group_kind::sparse)
        continue;
      for (block_ordinal o = 0; o < model_.complete(r); ++o) {
        if (now.at(id).groups[g].blocks[o].tier == tier::host)
          continue;
        auto reasons = runtime_->why_on_gpu(id, group_id{static_cast<std::uint8_t>(g)}, o);
        if (!reasons)
          wrong("why a block is on the GPU was not told: " + reasons.error().message);
        else
          model_.check_reasons(r, group_id{static_cast<std::uint8_t>(g)}, o, *reasons, published, now, wrong_);
      }
    }
    for (std::size_t g = 0; g < config_.groups.size(); ++g) {
      const auto& blocks = now.at(id).groups[g].blocks;
      const bool host =
          std::any_of(blocks.begin(), blocks.end(), [](const block_place& place) { return place.tier == tier::host; });
      auto ready = runtime_->dense_ready(id, group_id{static_cast<std::uint8_t>(g)});
      if (ready.has_value() == host || (!ready && ready.error().code != error_code::bound_to_host))
        wrong(fmt::format("request {}, group {}: dense_ready is wrong", id.value(), config_.groups[g].name));
    }
  }
  check_bytes(now);
}

/// All pages as they lie in memory, of suspended requests too.
void random_engine::check_bytes(const storages& now) {
  const std::uint32_t t = config_.tokens_per_block;
  for (const auto& [id, r] : model_.requests)
    for (std::size_t g = 0; g < config_.groups.size(); ++g) {
      const group_pools& pools = runtime_->pools()[g];
      for (std::uint32_t position = 0; position < r.history; ++position) {
        const block_place& place = now.at(id).groups[g].blocks[position / t];
        if (place.tier == tier::none)
          continue;
        std::uint64_t blob = 0;
        for (std::uint32_t b = 0; b < pools.buffers.size(); ++b) {
          const gpu_buffer& buffer = pools.buffers[b];
          const std::uint64_t width = buffer.bytes_per_slot / t;
          const std::byte* page = place.tier == tier::gpu ? buffer.base + place.slot * buffer.slot_stride_bytes
                                                          : pools.host_base + place.slot * pools.host_slot_bytes + blob;
          blob += buffer.bytes_per_slot;
          for (std::uint64_t i = 0; i < width; ++i)
            if (page[(position % t) * width + i] !=
                kv_byte(r.kv.words()[position], static_cast<std::uint32_t>(g), b, i))
              return wrong(fmt::format("request {}, group {}, token {}: its page on tier {} in slot {} has other bytes",
                                       id.value(), config_.groups[g].name, position, static_cast<int>(place.tier),
                                       place.slot));
        }
      }
    }
}

} // namespace kvferry::test
