// What one step does on the device, fixed when it is launched: the rows in batch order, and which tokens' KV each
// writes. Kernels take slots from the published tables, nothing else; this is what the engine passes beside them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "examples/pages/token_chain.hpp"
#include "kvferry/batch.hpp"

namespace pages {

struct planned_row {
  kvferry::request_id request;
  std::shared_ptr<const token_chain> chain; ///< outlives the request: steps in flight still look at it
  bool decoding = false;
  std::uint32_t history_tokens = 0; ///< reported to kvferry before this step
  std::uint32_t written_tokens = 0; ///< this step writes the KV of [history_tokens, written_tokens)
  std::uint32_t capacity_tokens = 0;
};

struct step_plan {
  std::uint64_t step = 0;
  kvferry::version_number version = 0;      ///< published for this step
  std::vector<planned_row> rows;            ///< as the step's `order`
  std::vector<kvferry::request_id> resting; ///< sorted; in a row, but not in this step
};

} // namespace pages
