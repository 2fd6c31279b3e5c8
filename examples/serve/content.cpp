#include "examples/serve/content.hpp"

#include "examples/pages/mixing.hpp"
#include "examples/serve/workload_rows.hpp"

namespace serve {
namespace {

/// Where a token comes from; keeps the three kinds apart.
enum class source : std::uint64_t { block = 1, generated = 2, own_prompt = 3 };

kvferry::token token_of(source from, std::uint64_t name, std::uint32_t position) {
  std::uint64_t word = pages::mix(name * 4 + static_cast<std::uint64_t>(from), position);
  return static_cast<kvferry::token>(word >> 33); // 31 bits: not negative
}

} // namespace

kvferry::token block_token(std::uint64_t block, std::uint32_t position) {
  return token_of(source::block, block, position);
}

kvferry::token generated_token(std::uint64_t request, std::uint32_t position) {
  return token_of(source::generated, request, position);
}

std::vector<kvferry::token> prompt_of(const workload_request& row, std::uint64_t request) {
  std::vector<kvferry::token> prompt(row.prompt_tokens);
  for (std::uint32_t position = 0; position < row.prompt_tokens; ++position)
    prompt[position] = row.blocks.empty()
                           ? token_of(source::own_prompt, request, position)
                           : block_token(row.blocks[position / trace_block_tokens], position % trace_block_tokens);
  return prompt;
}

} // namespace serve
