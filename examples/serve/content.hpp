// The tokens of a workload. A trace has no text, only lengths and the names of blocks, so tokens are made up: equal
// blocks get equal tokens, everything else differs.
#pragma once

#include <cstdint>
#include <vector>

#include "examples/serve/workload.hpp"
#include "kvferry/ids.hpp"

namespace serve {

/// Token `position` of a trace's block, position in 0 … 511.
kvferry::token block_token(std::uint64_t block, std::uint32_t position);

/// The token that request number `request` generates at `position` of its sequence (prompt and output).
kvferry::token generated_token(std::uint64_t request, std::uint32_t position);

/// The prompt of request number `request`: its blocks cut to its length, or tokens of its own when the trace names no
/// blocks.
std::vector<kvferry::token> prompt_of(const workload_request& row, std::uint64_t request);

} // namespace serve
