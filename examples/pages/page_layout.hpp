// The groups as kernels see them: which buffers a page has, what lies in them, how many slots there are.
#pragma once

#include <cstdint>
#include <vector>

#include "examples/pages/page_pattern.hpp"
#include "kvferry/configuration.hpp"

namespace pages {

struct group_layout {
  kvferry::group_kind kind = kvferry::group_kind::sparse;
  std::uint32_t window_tokens = 0; ///< 0: no window
  std::uint32_t gpu_slots = 0;
  std::uint32_t host_slots = 0;
  std::vector<fragment_pattern> buffers;
};

struct page_layout {
  std::uint32_t tokens_per_block = 0;
  std::vector<group_layout> groups;

  std::uint32_t blocks_of(std::uint32_t tokens) const { return (tokens + tokens_per_block - 1) / tokens_per_block; }
};

page_layout layout_of(const kvferry::configuration& config);

} // namespace pages
