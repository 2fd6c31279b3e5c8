// What must hold: places of blocks, tables, blockers, counts.
#include <algorithm>

#include <fmt/ranges.h>

#include "examples/pages/table_rows.hpp"
#include "examples/scenario/page_words.hpp"
#include "examples/scenario/took.hpp"

namespace scenarios {

std::vector<place> world::places_of(const kvferry::group_storage& group) const {
  std::vector<place> places;
  for (const kvferry::block_place& block : group.blocks)
    places.push_back(block.tier == kvferry::tier::none   ? place::none
                     : block.tier == kvferry::tier::host ? place::host
                     : block.ready                       ? place::gpu
                                                         : place::loading);
  return places;
}

void world::run(const pages_step& step) {
  request_record* r = known(step.request);
  if (r == nullptr)
    return;
  auto storage = runtime_->storage_of(r->id);
  if (!took(storage, {}))
    return;
  const kvferry::group_storage& group = storage->groups.at(step.group.index);
  if (const auto is = places_of(group); is != step.places)
    find(fmt::format("the blocks are {}, but should be {}", words_of(is), words_of(step.places)));
  must_be("history", step.history, group.history_blocks);
}

void world::run(const published_step& step) {
  request_record* r = known(step.request);
  batch_record* b = known(step.batch);
  if (r == nullptr || b == nullptr)
    return;
  const auto* end = b->tables.row_request + b->tables.rows;
  const auto* row = std::find(b->tables.row_request, end, r->id.value());
  if ((row != end) != step.row)
    return find(step.row ? "no row is the request's" : "a row is still the request's");
  if (row == end)
    return;
  pages::row_entries entries(b->tables, step.group.index, static_cast<std::uint32_t>(row - b->tables.row_request));
  std::vector<place> is;
  for (std::uint32_t o = 0; o < b->tables.max_blocks; ++o)
    is.push_back(entries.tier[o] == pages::host_tier  ? place::host
                 : entries.tier[o] == pages::gpu_tier ? place::gpu
                                                      : place::none);
  while (is.size() > step.places.size() && is.back() == place::none)
    is.pop_back();
  if (is != step.places)
    find(fmt::format("the row shows {}, but should show {}", words_of(is), words_of(step.places)));
  must_be("num_blocks", std::optional{step.history}, static_cast<std::uint32_t>(entries.num_blocks));
}

std::optional<world::found_page> world::page_of(const block_or_place& which, group_ref group) {
  if (const auto* name = std::get_if<place_name>(&which)) {
    auto found = places_.find(name->text);
    if (found == places_.end()) {
      find(fmt::format("\"{}\" was not remembered", name->text));
      return std::nullopt;
    }
    return found_page{found->second, name->text};
  }
  const auto& block = std::get<owned_block>(which);
  request_record* r = known(block.request);
  if (r == nullptr)
    return std::nullopt;
  auto storage = runtime_->storage_of(r->id);
  if (!took(storage, {}))
    return std::nullopt;
  const auto& blocks = storage->groups.at(group.index).blocks;
  if (block.ordinal >= blocks.size()) {
    find(
        fmt::format("\"{}\" has {} blocks, so there is no block {}", block.request.text, blocks.size(), block.ordinal));
    return std::nullopt;
  }
  return found_page{blocks[block.ordinal], fmt::format("block {} of \"{}\"", block.ordinal, block.request.text)};
}

void world::run(const remember_step& step) {
  if (auto page = page_of(step.block, step.group))
    places_[step.as.text] = page->at;
}

void world::run(const same_page_step& step) {
  std::vector<found_page> all;
  for (const block_or_place& which : step.blocks)
    if (auto page = page_of(which, step.group))
      all.push_back(std::move(*page));
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (const bool same = all[i].at.tier == all[j].at.tier && all[i].at.slot == all[j].at.slot; same != step.same)
        find(fmt::format("{} is {} and {} is {}, which should {}be one page", all[j].where, words_of(all[j].at),
                         all[i].where, words_of(all[i].at), step.same ? "" : "not "));
}

void world::run(const blockers_step& step) {
  request_record* r = known(step.request);
  if (r == nullptr)
    return;
  auto blockers = runtime_->why_on_gpu(r->id, kvferry::group_id{step.group.index}, step.ordinal);
  if (!took(blockers, {}))
    return;
  std::set<std::string> is, should;
  for (const request_name& name : step.requests)
    should.insert(fmt::format("\"{}\"", name.text));
  should.insert(step.causes.begin(), step.causes.end());
  for (const kvferry::blocker& b : *blockers)
    switch (b.why) {
    case kvferry::blocker::cause::owner: is.insert(fmt::format("\"{}\"", name_of(b.request))); break;
    case kvferry::blocker::cause::host_full: is.insert("host_full"); break;
    case kvferry::blocker::cause::copy_failed: is.insert("copy_failed"); break;
    case kvferry::blocker::cause::copy_under_way: is.insert("copy_under_way"); break;
    }
  if (is != should)
    find(fmt::format("the blockers are [{}], but should be [{}]", fmt::join(is, ", "), fmt::join(should, ", ")));
}

void world::run(const dense_ready_step& step) {
  if (request_record* r = known(step.request))
    took(runtime_->dense_ready(r->id, kvferry::group_id{step.group.index}), step.refused);
}

void world::run(const mark_step&) {
  if (runtime_)
    mark_ = runtime_->take_statistics();
}

void world::run(const counted_step& step) {
  if (!runtime_)
    return;
  const kvferry::statistics now = runtime_->take_statistics();
  const auto since = [&](std::uint64_t kvferry::statistics::*counter) { return now.*counter - mark_.*counter; };
  using s = kvferry::statistics;
  const std::map<std::string_view, std::uint64_t> counts{{"allocated", since(&s::pages_allocated)},
                                                         {"offloaded", since(&s::pages_offloaded)},
                                                         {"spilled", since(&s::pages_spilled)},
                                                         {"demoted", since(&s::pages_demoted)},
                                                         {"rebound", since(&s::pages_rebound_without_copy)},
                                                         {"deferred", since(&s::pages_deferred)},
                                                         {"retried", since(&s::pages_retried)},
                                                         {"loaded", since(&s::pages_loaded)},
                                                         {"branched", since(&s::pages_branched)},
                                                         {"evicted", since(&s::pages_evicted)},
                                                         {"failed", since(&s::copies_failed)},
                                                         {"hit", since(&s::prefix_blocks_hit)},
                                                         {"publications", since(&s::publications)},
                                                         {"entries", since(&s::entries_published)}};
  for (const auto& [name, wanted] : step.counts)
    must_be(name, std::optional{wanted}, counts.at(name));
}

} // namespace scenarios
