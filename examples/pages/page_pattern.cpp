#include "examples/pages/page_pattern.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace pages {

static_assert(std::endian::native == std::endian::little, "byte i of a word is its bits 8i … 8i + 7");

namespace {

constexpr std::uint64_t stamp_bytes = 8;

} // namespace

fragment_pattern::fragment_pattern(std::uint32_t group, std::uint32_t buffer, std::uint64_t bytes_per_slot,
                                   std::uint32_t tokens_per_block)
    : salt_(mix(group, buffer)), bytes_(bytes_per_slot), tokens_(tokens_per_block),
      width_(bytes_per_slot % tokens_per_block == 0 ? bytes_per_slot / tokens_per_block : 0),
      stamps_(static_cast<std::uint32_t>((bytes_per_slot + stamp_bytes - 1) / stamp_bytes)) {}

void fragment_pattern::fill(std::span<const std::uint64_t> chain, std::uint32_t first_token,
                            std::span<std::byte> out) const {
  std::byte* to = out.data();
  if (width_ == 4) { // the default: two tokens a word
    for (std::uint64_t link : chain) {
      auto bytes = static_cast<std::uint32_t>(word(link, 0));
      std::memcpy(to, &bytes, sizeof bytes);
      to += sizeof bytes;
    }
    return;
  }
  for (std::uint32_t i = 0; i < chain.size(); ++i) {
    std::uint64_t size = begin_of(first_token + i + 1) - begin_of(first_token + i);
    for (std::uint64_t done = 0; done < size; done += stamp_bytes) {
      std::uint64_t bytes = word(chain[i], done / stamp_bytes);
      std::uint64_t count = std::min(stamp_bytes, size - done);
      std::memcpy(to, &bytes, count);
      to += count;
    }
  }
}

stamp fragment_pattern::at_any(std::span<const std::uint64_t> chain, std::uint64_t offset) const {
  if (width_ != 0 && width_ % stamp_bytes == 0 && offset % stamp_bytes == 0) { // all of one token
    std::uint64_t token = offset / width_;
    return token < chain.size() ? stamp{word(chain[token], offset % width_ / stamp_bytes), ~std::uint64_t{0}} : stamp{};
  }
  stamp found;
  std::uint64_t count = std::min(stamp_bytes, bytes_ - offset);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint32_t token = token_at(offset + i);
    if (token >= chain.size())
      break;
    std::uint64_t in_token = offset + i - begin_of(token);
    found.bytes |= (word(chain[token], in_token / stamp_bytes) >> (8 * (in_token % stamp_bytes)) & 0xff) << (8 * i);
    found.mask |= std::uint64_t{0xff} << (8 * i);
  }
  return found;
}

} // namespace pages
