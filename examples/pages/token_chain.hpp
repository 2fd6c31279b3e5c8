// One request's tokens as a chain: a word per token that depends on it and on all tokens before it, as the KV of a
// token does. This is the record that pages are held against; it knows nothing of slots, tiers or other requests.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kvferry/ids.hpp"

namespace pages {

class token_chain {
public:
  void append(kvferry::token next) {
    // Cheap, since every prompt goes through here; what is made from these words is mixed again.
    last_ = (last_ + static_cast<std::uint32_t>(next) + 0x9e3779b97f4a7c15) * 0xd6e8feb86659fd93;
    last_ ^= last_ >> 29;
    words_.push_back(last_);
  }

  void append(std::span<const kvferry::token> tokens) {
    words_.reserve(words_.size() + tokens.size());
    for (kvferry::token next : tokens)
      append(next);
  }

  std::uint32_t size() const { return static_cast<std::uint32_t>(words_.size()); }

  /// The words of the tokens from `first` on. REQUIRES: first ≤ last ≤ size().
  std::span<const std::uint64_t> words(std::uint32_t first, std::uint32_t last) const {
    return {words_.data() + first, words_.data() + last};
  }

private:
  std::vector<std::uint64_t> words_;
  std::uint64_t last_ = 0;
};

} // namespace pages
