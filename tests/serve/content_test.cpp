// Tokens of a workload: equal blocks give equal tokens, everything else differs.
#include <algorithm>
#include <set>

#include "examples/pages/token_chain.hpp"
#include "examples/serve/content.hpp"
#include "tests/catch.hpp"

namespace serve::test {
namespace {

std::vector<std::uint64_t> chain_of(const std::vector<kvferry::token>& tokens) {
  pages::token_chain chain;
  chain.append(tokens);
  auto words = chain.words(0, chain.size());
  return {words.begin(), words.end()};
}

} // namespace

TEST_CASE("a prompt is its blocks one after the other, cut to its length") {
  workload_request row{0, 1100, 1, {40, 7, 40}};
  auto prompt = prompt_of(row, 3);
  REQUIRE(prompt.size() == 1100);
  for (std::uint32_t position : {0u, 1u, 511u, 512u, 513u, 1023u, 1024u, 1099u})
    REQUIRE(prompt[position] == block_token(row.blocks[position / 512], position % 512));
  REQUIRE(std::equal(prompt.begin(), prompt.begin() + 76, prompt.begin() + 1024));
}

TEST_CASE("two requests of the same blocks have the same prompt, whoever they are") {
  workload_request row{0, 700, 1, {5, 6}};
  REQUIRE(prompt_of(row, 1) == prompt_of(row, 2));
}

TEST_CASE("requests without blocks share nothing") {
  workload_request row{0, 64, 1, {}};
  auto one = prompt_of(row, 1), other = prompt_of(row, 2);
  REQUIRE(one.size() == 64);
  REQUIRE(one != other);
  REQUIRE(prompt_of(row, 1) == one);
}

TEST_CASE("tokens are not negative, and blocks, outputs and own prompts of the same number do not meet") {
  std::set<kvferry::token> seen;
  for (std::uint64_t number = 0; number < 16; ++number) {
    auto own = prompt_of({0, 64, 1, {}}, number);
    for (std::uint32_t position = 0; position < 64; ++position) {
      for (kvferry::token t : {own[position], block_token(number, position), generated_token(number, position)}) {
        REQUIRE(t >= 0);
        seen.insert(t);
      }
    }
  }
  REQUIRE(seen.size() > 16 * 64 * 3 - 10); // some may meet by chance among 2^31
}

TEST_CASE("a token's word depends on the token and on all before it, and on none behind") {
  std::vector<kvferry::token> tokens{9, 8, 7, 6, 5};
  auto words = chain_of(tokens);
  REQUIRE(std::set<std::uint64_t>(words.begin(), words.end()).size() == 5);
  auto other = tokens;
  other[2] = 0;
  auto changed = chain_of(other);
  REQUIRE(std::equal(words.begin(), words.begin() + 2, changed.begin()));
  for (std::size_t i = 2; i < 5; ++i)
    REQUIRE(words[i] != changed[i]);
}

TEST_CASE("a chain is the same whether its tokens come at once or one by one") {
  std::vector<kvferry::token> tokens{1, 2, 3};
  pages::token_chain chain;
  for (kvferry::token t : tokens)
    chain.append(t);
  auto words = chain.words(0, 3);
  REQUIRE(std::equal(words.begin(), words.end(), chain_of(tokens).begin()));
}

} // namespace serve::test
