// Holds the bytes of pages against the record of the tokens that they should contain.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "examples/pages/mixing.hpp"
#include "examples/pages/page_layout.hpp"
#include "kvferry/host_device.hpp"

namespace pages {

/// A page and what should be in it.
struct expected_page {
  kvferry::page_ref page;
  std::uint32_t ordinal = 0;
  std::span<const std::uint64_t> chain; ///< the words of the block's tokens so far
};

/// The first byte of a page that is not what it should be.
struct wrong_byte {
  std::uint32_t buffer = 0;
  std::uint64_t offset = 0; ///< in the buffer's fragment
  std::uint8_t expected = 0;
  std::uint8_t found = 0;
};

/// Compares every byte that belongs to a token.
std::optional<wrong_byte> compare_all(kvferry::kernel& kernel, const group_layout& group,
                                      const expected_page& expected);

/// Compares eight bytes of each of several pages. There are hundreds of millions of these in a run, nearly all of them
/// cache misses, so they are fetched together first and compared then.
class stamp_batch {
public:
  stamp_batch(kvferry::kernel& kernel, const group_layout& group) : kernel_(kernel), group_(group) {}

  bool full() const { return size_ == entries_.size(); }

  /// Reads eight bytes of the page, at a position chosen by a mixed word. REQUIRES: not full.
  void read(const expected_page& expected, std::uint64_t mixed) {
    std::uint32_t b = below(static_cast<std::uint32_t>(group_.buffers.size()), mixed);
    const fragment_pattern& pattern = group_.buffers[b];
    std::uint64_t offset = pattern.offset_by(mixed << 32); // the half that did not choose the buffer
    std::uint64_t size = std::min<std::uint64_t>(8, pattern.bytes_per_slot() - offset);
    std::span<const std::byte> bytes = kernel_.read(expected.page, b, offset, size);
    __builtin_prefetch(bytes.data());
    __builtin_prefetch(expected.chain.data() + pattern.token_at(offset));
    entries_[size_++] = {expected, b, offset, bytes};
  }

  /// Compares what was read and empties the batch; `on_wrong(expected_page, wrong_byte)` for each mismatch.
  template <class Function>
  void compare(Function on_wrong) {
    for (std::uint32_t i = 0; i < size_; ++i)
      if (auto wrong = wrong_in(entries_[i]))
        on_wrong(entries_[i].expected, *wrong);
    size_ = 0;
  }

private:
  struct entry {
    expected_page expected;
    std::uint32_t buffer = 0;
    std::uint64_t offset = 0;
    std::span<const std::byte> bytes;
  };

  std::optional<wrong_byte> wrong_in(const entry& read) const;

  kvferry::kernel& kernel_;
  const group_layout& group_;
  std::uint32_t size_ = 0;
  std::array<entry, 16> entries_;
};

} // namespace pages
