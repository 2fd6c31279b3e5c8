// Random numbers that are the same everywhere: the distributions of the standard library differ between libraries.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

namespace workload {

class random_numbers {
public:
  explicit random_numbers(std::uint64_t seed) : state_(seed) {}

  /// splitmix64 (Steele et al. 2014).
  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t x = state_;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }

  /// From 0 to below 1.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

  /// From 0 to below `bound`. REQUIRES: bound > 0.
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(uniform() * static_cast<double>(bound)); }

  bool happens(double chance) { return uniform() < chance; }

  /// With mean 0 and deviation 1 (Box and Muller).
  double normal() {
    double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }

  /// Whose logarithm is normal around that of `median`.
  double lognormal(double median, double deviation) { return median * std::exp(deviation * normal()); }

  double exponential(double mean) { return -mean * std::log(1.0 - uniform()); }

private:
  std::uint64_t state_;
};

} // namespace workload
