// The published tables as a kernel reads them: one row of one group, and what the contract allows an entry to be.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "examples/pages/page_layout.hpp"
#include "examples/pages/step_plan.hpp"
#include "kvferry/batch.hpp"

namespace pages {

inline constexpr std::uint64_t no_request = ~std::uint64_t{0}; // row_request of a hole
inline constexpr std::int32_t no_slot = -1;
inline constexpr auto gpu_tier = static_cast<std::uint8_t>(kvferry::tier::gpu);
inline constexpr auto host_tier = static_cast<std::uint8_t>(kvferry::tier::host);
inline constexpr auto no_tier = static_cast<std::uint8_t>(kvferry::tier::none);

/// One row of a group's tables.
struct row_entries {
  const std::int32_t* slot = nullptr;
  const std::uint8_t* tier = nullptr;
  std::int32_t num_blocks = 0;

  row_entries(const kvferry::table_view& tables, std::uint32_t group, std::uint32_t row) {
    std::size_t first = std::size_t{row} * tables.max_blocks;
    slot = tables.groups[group].page_index + first;
    tier = tables.groups[group].page_tier + first;
    num_blocks = tables.groups[group].num_blocks[row];
  }
};

/// What a row's entries may be in a step (design section 5 and invariants 7 and 8). In ordinals.
struct row_rules {
  std::uint32_t window_begin = 0; ///< blocks before may be gone: attention looks at none of their tokens
  std::uint32_t host_end = 0;     ///< blocks before may be on the host: complete history of a decoding request, sparse
  std::uint32_t written_end = 0;  ///< blocks before hold tokens
  std::uint32_t capacity_end = 0; ///< blocks from here on have no page

  static row_rules of(const planned_row& row, const group_layout& group, const page_layout& layout) {
    row_rules rules;
    std::uint32_t T = layout.tokens_per_block;
    rules.written_end = layout.blocks_of(row.written_tokens);
    rules.capacity_end = std::max(rules.written_end, layout.blocks_of(row.capacity_tokens));
    if (group.kind == kvferry::group_kind::sparse && row.decoding)
      rules.host_end = row.history_tokens / T;
    // The next token, number history_tokens, sees itself and window_tokens - 1 before it.
    if (group.window_tokens != 0 && row.history_tokens + 1 > group.window_tokens)
      rules.window_begin = (row.history_tokens + 1 - group.window_tokens) / T;
    return rules;
  }
};

} // namespace pages
