// Mixing of 64-bit words: whatever this program needs to look random and still be a function of its inputs.
#pragma once

#include <cstdint>

namespace pages {

/// Every bit of the result depends on every bit of `x` (the finalizer of splitmix64, Steele et al. 2014).
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) { return mix(mix(a) ^ b); }

/// A number below `bound` from a mixed word, without the cost of a division. REQUIRES: bound > 0.
constexpr std::uint32_t below(std::uint32_t bound, std::uint64_t mixed) {
  return static_cast<std::uint32_t>(((mixed >> 32) * bound) >> 32);
}

/// True with the given chance, by a mixed word.
constexpr bool happens(double chance, std::uint64_t mixed) {
  return static_cast<double>(mixed >> 11) * 0x1.0p-53 < chance;
}

} // namespace pages
