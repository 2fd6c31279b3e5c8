// The bytes that stand for KV: a function of (group, buffer, token chain), so that any position of any page can be
// written and checked alone, and a page that belongs to another prefix, layer or token shows. What is constexpr is
// called by kernels, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "examples/pages/mixing.hpp"

namespace pages {

/// Bytes expected at one position of a fragment: those that `mask` covers; the rest belong to tokens not written yet,
/// or lie behind the fragment's end.
struct stamp {
  std::uint64_t bytes = 0;
  std::uint64_t mask = 0;
};

/// The pattern of one buffer's fragments. Byte i of a fragment of B bytes and T tokens belongs to token floor(i * T /
/// B).
class fragment_pattern {
public:
  /// REQUIRES: bytes_per_slot > 0, tokens_per_block > 0.
  fragment_pattern(std::uint32_t group, std::uint32_t buffer, std::uint64_t bytes_per_slot,
                   std::uint32_t tokens_per_block);

  constexpr std::uint64_t bytes_per_slot() const { return bytes_; }

  /// The first byte that belongs to `token` of the block, or to a later one when this one has no byte.
  constexpr std::uint64_t begin_of(std::uint32_t token) const {
    return width_ != 0 ? token * width_ : (token * bytes_ + tokens_ - 1) / tokens_;
  }

  /// The bytes of the block's tokens `first_token` …, one for each word of `chain`.
  /// REQUIRES: out begins at begin_of(first_token) and ends before begin_of(first_token + chain.size()).
  void fill(std::span<const std::uint64_t> chain, std::uint32_t first_token, std::span<std::byte> out) const;

  /// The eight bytes from `offset`, where `chain` are the words of the block's tokens so far.
  stamp at(std::span<const std::uint64_t> chain, std::uint64_t offset) const {
    if (width_ == 4 && offset % 8 == 0 && offset / 4 + 1 < chain.size()) // the default, without a loop
      return {(word(chain[offset / 4], 0) & 0xffffffff) | word(chain[offset / 4 + 1], 0) << 32, ~std::uint64_t{0}};
    return at_any(chain, offset);
  }

  /// The token of the block that the byte at `offset` belongs to.
  constexpr std::uint32_t token_at(std::uint64_t offset) const {
    return static_cast<std::uint32_t>(width_ == 4 ? offset / 4 : offset * tokens_ / bytes_);
  }

  /// A position for `at` by a mixed word; all bytes are reached.
  constexpr std::uint64_t offset_by(std::uint64_t mixed) const { return below(stamps_, mixed) * std::uint64_t{8}; }

  /// Byte `in_token` of what a token with this chain word has in this buffer.
  constexpr std::uint8_t byte_of(std::uint64_t chain, std::uint64_t in_token) const {
    return static_cast<std::uint8_t>(word(chain, in_token / 8) >> (8 * (in_token % 8)));
  }

private:
  /// Bytes 8 * number … of what a token with this chain word has in this buffer.
  constexpr std::uint64_t word(std::uint64_t chain, std::uint64_t number) const {
    std::uint64_t x = (chain ^ (salt_ + number * 0x9e3779b97f4a7c15)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 32)) * 0x94d049bb133111eb;
    return x ^ (x >> 32);
  }

  stamp at_any(std::span<const std::uint64_t> chain, std::uint64_t offset) const;

  std::uint64_t salt_;
  std::uint64_t bytes_;
  std::uint64_t tokens_;
  std::uint64_t width_;  ///< bytes of a token; 0: not a whole number
  std::uint32_t stamps_; ///< positions for `at`; the last may have fewer bytes
};

} // namespace pages
