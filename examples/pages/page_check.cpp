#include "examples/pages/page_check.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace pages {

std::optional<wrong_byte> compare_all(kvferry::kernel& kernel, const group_layout& group,
                                      const expected_page& expected) {
  static thread_local std::vector<std::byte> pattern_bytes; // pages are compared by the million
  for (std::uint32_t b = 0; b < group.buffers.size(); ++b) {
    const fragment_pattern& pattern = group.buffers[b];
    std::uint64_t size = pattern.begin_of(static_cast<std::uint32_t>(expected.chain.size()));
    if (size == 0)
      continue;
    pattern_bytes.resize(size);
    pattern.fill(expected.chain, 0, pattern_bytes);
    std::span<const std::byte> found = kernel.read(expected.page, b, 0, size);
    if (std::memcmp(found.data(), pattern_bytes.data(), size) == 0)
      continue;
    auto at = std::mismatch(pattern_bytes.begin(), pattern_bytes.end(), found.begin());
    return wrong_byte{b, static_cast<std::uint64_t>(at.first - pattern_bytes.begin()),
                      std::to_integer<std::uint8_t>(*at.first), std::to_integer<std::uint8_t>(*at.second)};
  }
  return std::nullopt;
}

std::optional<wrong_byte> stamp_batch::wrong_in(const entry& read) const {
  stamp expected = group_.buffers[read.buffer].at(read.expected.chain, read.offset);
  std::uint64_t found = 0;
  if (read.bytes.size() == sizeof found)
    std::memcpy(&found, read.bytes.data(), sizeof found);
  else
    std::memcpy(&found, read.bytes.data(), read.bytes.size());
  std::uint64_t wrong = (found ^ expected.bytes) & expected.mask;
  if (wrong == 0)
    return std::nullopt;
  auto byte = static_cast<std::uint32_t>(std::countr_zero(wrong)) / 8;
  return wrong_byte{read.buffer, read.offset + byte, static_cast<std::uint8_t>(expected.bytes >> (8 * byte)),
                    static_cast<std::uint8_t>(found >> (8 * byte))};
}

} // namespace pages
