// Pools and published tables made by hand, with no kvferry behind them: what the kernels of kvferry-serve see.
#pragma once

#include <cstring>
#include <memory>
#include <vector>

#include "examples/pages/page_layout.hpp"
#include "examples/pages/page_writer.hpp"
#include "examples/pages/step_plan.hpp"
#include "examples/pages/table_rows.hpp"
#include "examples/serve/content.hpp"
#include "kvferry/host_device.hpp"

namespace serve::test {

using kvferry::group_id;
using kvferry::page_ref;
using kvferry::request_id;
using kvferry::tier;

class fake_pages : public kvferry::kernel {
public:
  static constexpr std::uint32_t rows = 4, max_blocks = 12, slots = 16;

  explicit fake_pages(kvferry::configuration config) : layout(pages::layout_of(config)) {
    for (const pages::group_layout& group : layout.groups) {
      groups_.emplace_back();
      for (const pages::fragment_pattern& buffer : group.buffers)
        for (auto* tier_buffers : {&groups_.back().gpu, &groups_.back().host})
          tier_buffers->emplace_back(buffer.bytes_per_slot() * slots, std::byte{0xcd});
      groups_.back().index.assign(rows * max_blocks, -1);
      groups_.back().tiers.assign(rows * max_blocks, 255);
      groups_.back().num_blocks.assign(rows, 0);
    }
  }

  std::span<const std::byte> read(page_ref page, std::uint32_t buffer, std::uint64_t offset,
                                  std::uint64_t size) override {
    ++reads;
    return bytes(page, buffer).subspan(offset, size);
  }

  std::span<std::byte> write(page_ref page, std::uint32_t buffer, std::uint64_t offset, std::uint64_t size) override {
    ++writes;
    return bytes(page, buffer).subspan(offset, size);
  }

  /// A slot's fragment in a buffer.
  std::span<std::byte> bytes(page_ref page, std::uint32_t buffer) {
    auto& tiers = page.tier == tier::gpu ? groups_[page.group.value()].gpu : groups_[page.group.value()].host;
    std::uint64_t size = layout.groups[page.group.value()].buffers[buffer].bytes_per_slot();
    return std::span(tiers[buffer]).subspan(page.slot * size, size);
  }

  void set(std::uint8_t group, std::uint32_t row, std::uint32_t ordinal, tier on, std::int32_t slot) {
    groups_[group].index[row * max_blocks + ordinal] = slot;
    groups_[group].tiers[row * max_blocks + ordinal] = static_cast<std::uint8_t>(on);
  }

  void set_num_blocks(std::uint8_t group, std::uint32_t row, std::int32_t count) {
    groups_[group].num_blocks[row] = count;
  }

  /// What a copy and the publication behind it do.
  void move_to_host(std::uint8_t group, std::uint32_t row, std::uint32_t ordinal, std::uint32_t host_slot) {
    auto from = static_cast<std::uint32_t>(groups_[group].index[row * max_blocks + ordinal]);
    for (std::uint32_t b = 0; b < layout.groups[group].buffers.size(); ++b) {
      auto source = bytes({group_id{group}, tier::gpu, from}, b);
      std::memcpy(bytes({group_id{group}, tier::host, host_slot}, b).data(), source.data(), source.size());
    }
    set(group, row, ordinal, tier::host, static_cast<std::int32_t>(host_slot));
  }

  kvferry::table_view tables() {
    kvferry::table_view view;
    for (const group_memory& group : groups_)
      view.groups.push_back({group.index.data(), group.tiers.data(), group.num_blocks.data()});
    view.row_request = row_request.data();
    view.row_version = row_version.data();
    view.active_rows = active_rows.data();
    view.num_active = &num_active;
    view.rows = rows;
    view.max_blocks = max_blocks;
    return view;
  }

  pages::page_layout layout;
  std::uint64_t reads = 0, writes = 0;
  std::vector<std::uint64_t> row_request = std::vector<std::uint64_t>(rows, pages::no_request);
  std::vector<std::uint64_t> row_version = std::vector<std::uint64_t>(rows, 1);
  std::vector<std::int32_t> active_rows = std::vector<std::int32_t>(rows, -1);
  std::int32_t num_active = 0;

private:
  struct group_memory {
    std::vector<std::vector<std::byte>> gpu, host; // by buffer
    std::vector<std::int32_t> index;
    std::vector<std::uint8_t> tiers;
    std::vector<std::int32_t> num_blocks;
  };
  std::vector<group_memory> groups_;
};

/// A sparse group of two buffers and a dense one with a window of two blocks; blocks of 16 tokens.
inline kvferry::configuration two_groups() {
  kvferry::configuration config;
  config.tokens_per_block = 16;
  config.groups.resize(2);
  config.groups[0].kind = kvferry::group_kind::sparse;
  config.groups[0].buffers = {{"k", 64}, {"v", 40}}; // four bytes a token; no whole number
  config.groups[1].kind = kvferry::group_kind::dense;
  config.groups[1].window_tokens = 32;
  config.groups[1].buffers = {{"kv", 128}};
  for (kvferry::group_config& group : config.groups)
    group.gpu_slots = group.host_slots = fake_pages::slots;
  return config;
}

} // namespace serve::test
