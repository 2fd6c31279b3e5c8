// What KV a request's tokens have: an independent record, position by position. A position's bytes follow from all
// tokens up to it, the namespace, group and buffer, so a page of another prefix, layer or position shows.
//
// For the kernels of random engines, and for the reference model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kvferry/ids.hpp"

namespace kvferry::test {

inline std::uint64_t mixed(std::uint64_t x, std::uint64_t y) {
  x = (x ^ (y + 0x9e3779b97f4a7c15)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 29)) * 0x94d049bb133111eb;
  return x ^ (x >> 32);
}

/// A request's tokens, and a word for each that stands for all tokens up to it.
class kv_sequence {
public:
  explicit kv_sequence(std::uint32_t space = 0) : space_(space) {}

  void push(token added) {
    words_.push_back(mixed(words_.empty() ? space_ + 1 : words_.back(), static_cast<std::uint64_t>(added)));
    tokens_.push_back(added);
  }

  std::uint32_t space() const { return space_; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(tokens_.size()); }
  const std::vector<token>& tokens() const { return tokens_; }
  const std::vector<std::uint64_t>& words() const { return words_; }

  /// Equal tokens from the front, in the same namespace.
  std::uint32_t common_with(const kv_sequence& other) const {
    std::uint32_t same = 0;
    while (space_ == other.space_ && same < size() && same < other.size() && tokens_[same] == other.tokens_[same])
      ++same;
    return same;
  }

private:
  std::uint32_t space_;
  std::vector<token> tokens_;
  std::vector<std::uint64_t> words_;
};

/// Byte `number` of what a position has in a buffer.
inline std::byte kv_byte(std::uint64_t word, std::uint32_t group, std::uint32_t buffer, std::uint64_t number) {
  return static_cast<std::byte>(mixed(word, group * 1000 + buffer * 100 + number) & 0xff);
}

} // namespace kvferry::test
