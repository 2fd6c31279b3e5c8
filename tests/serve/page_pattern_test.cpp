// The bytes that stand for KV, against a second, slow implementation of their definition.
#include "examples/pages/page_pattern.hpp"

#include <algorithm>

#include "tests/catch.hpp"
#include "tests/properties.hpp"

namespace serve::test {
namespace {

using kvferry::test::holds;

std::uint64_t splitmix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// Byte `offset` of a fragment, from the definition: it belongs to token floor(offset * T / B), and is the n-th of it.
std::byte byte_at(const std::vector<std::uint64_t>& chain, std::uint32_t group, std::uint32_t buffer, std::uint64_t B,
                  std::uint64_t T, std::uint64_t offset) {
  std::uint64_t token = offset * T / B;
  std::uint64_t n = 0;
  while (n < offset && (offset - n - 1) * T / B == token)
    ++n;
  std::uint64_t x = chain[token] ^ (splitmix(splitmix(group) ^ buffer) + n / 8 * 0x9e3779b97f4a7c15);
  x *= 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 32)) * 0x94d049bb133111eb;
  x ^= x >> 32;
  return static_cast<std::byte>(x >> (8 * (n % 8)) & 0xff);
}

std::vector<std::uint64_t> some_chain(std::uint64_t tokens) {
  std::vector<std::uint64_t> chain(tokens);
  for (std::uint64_t i = 0; i < tokens; ++i)
    chain[i] = splitmix(i * 77);
  return chain;
}

/// Sizes and tokens of a block; all fast paths and all odd ones.
struct shape {
  std::uint64_t bytes;
  std::uint32_t tokens;
};

const std::vector<shape>& shapes() {
  static const std::vector<shape> all{{256, 64}, {256, 16}, {512, 64},  {64, 64},  {1, 64},    {7, 64}, {63, 64},
                                      {65, 64},  {100, 64}, {1000, 64}, {192, 16}, {320, 16},  {8, 1},  {1, 1},
                                      {13, 1},   {4, 1},    {12, 4},    {32, 8},   {1024, 256}};
  return all;
}

} // namespace

TEST_CASE("a filled fragment has the bytes of the definition, for every size and block") {
  auto s = GENERATE(from_range(shapes()));
  CAPTURE(s.bytes, s.tokens);
  auto chain = some_chain(s.tokens);
  pages::fragment_pattern pattern(2, 5, s.bytes, s.tokens);
  std::vector<std::byte> fragment(s.bytes);
  REQUIRE(pattern.begin_of(0) == 0);
  REQUIRE(pattern.begin_of(s.tokens) == s.bytes);
  pattern.fill(chain, 0, fragment);
  for (std::uint64_t i = 0; i < s.bytes; ++i)
    REQUIRE(fragment[i] == byte_at(chain, 2, 5, s.bytes, s.tokens, i));
}

TEST_CASE("a fragment written in pieces is the fragment written at once") {
  REQUIRE(holds([] {
    auto bytes = *rc::gen::inRange<std::uint64_t>(1, 300);
    auto tokens = std::uint32_t{1} << *rc::gen::inRange(0, 8);
    auto chain = some_chain(tokens);
    pages::fragment_pattern pattern(0, 1, bytes, tokens);
    std::vector<std::byte> whole(bytes), pieces(bytes);
    pattern.fill(chain, 0, whole);
    for (std::uint32_t first = 0; first < tokens;) {
      auto last = *rc::gen::inRange(first + 1, tokens + 1);
      std::uint64_t begin = pattern.begin_of(first), end = pattern.begin_of(last);
      pattern.fill(std::span(chain).subspan(first, last - first), first, std::span(pieces).subspan(begin, end - begin));
      first = last;
    }
    RC_ASSERT(whole == pieces);
  }));
}

TEST_CASE("a stamp is the fragment's bytes at its place, and covers no token that is not there yet") {
  auto s = GENERATE(from_range(shapes()));
  CAPTURE(s.bytes, s.tokens);
  auto chain = some_chain(s.tokens);
  pages::fragment_pattern pattern(1, 0, s.bytes, s.tokens);
  for (std::uint64_t there : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{s.tokens} / 2, std::uint64_t{s.tokens}})
    for (std::uint64_t offset = 0; offset < s.bytes; ++offset) {
      pages::stamp found = pattern.at(std::span(chain).first(std::min<std::uint64_t>(there, s.tokens)), offset);
      for (std::uint64_t i = 0; i < 8; ++i) {
        bool covered = offset + i < s.bytes && (offset + i) * s.tokens / s.bytes < there;
        std::uint64_t mask = found.mask >> (8 * i) & 0xff;
        REQUIRE(mask == (covered ? 0xffu : 0u));
        if (covered)
          REQUIRE(static_cast<std::byte>(found.bytes >> (8 * i) & 0xff) ==
                  byte_at(chain, 1, 0, s.bytes, s.tokens, offset + i));
      }
    }
}

TEST_CASE("the places of stamps reach every byte") {
  auto s = GENERATE(from_range(shapes()));
  pages::fragment_pattern pattern(0, 0, s.bytes, s.tokens);
  std::vector<bool> reached(s.bytes);
  for (std::uint64_t n = 0; n < 4000; ++n) {
    std::uint64_t offset = pattern.offset_by(splitmix(n));
    REQUIRE(offset < s.bytes);
    for (std::uint64_t i = offset; i < std::min(offset + 8, s.bytes); ++i)
      reached[i] = true;
  }
  REQUIRE(std::ranges::all_of(reached, [](bool r) { return r; }));
}

TEST_CASE("the same tokens look different in each buffer and each group") {
  auto chain = some_chain(64);
  std::vector<std::vector<std::byte>> fragments;
  for (std::uint32_t group : {0u, 1u})
    for (std::uint32_t buffer : {0u, 1u}) {
      fragments.emplace_back(256);
      pages::fragment_pattern(group, buffer, 256, 64).fill(chain, 0, fragments.back());
    }
  for (std::size_t a = 0; a < fragments.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      REQUIRE(fragments[a] != fragments[b]);
}

} // namespace serve::test
