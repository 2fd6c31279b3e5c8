// What every benchmark does with a clock.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

namespace bench {

inline double us_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
}

/// The value that a share of `q` of all lies below; 0.5: the median. REQUIRES: there are values.
inline double quantile(std::vector<double> values, double q) {
  const auto at = std::min(values.size() - 1, static_cast<std::size_t>(q * static_cast<double>(values.size())));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

inline double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

} // namespace bench
