// What the checks on the device found wrong: all counted, the first few told.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace pages {

class mismatch_log {
public:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    if (count_++ < described_max)
      first_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  /// Found, too, but not described.
  void add_undescribed(std::uint64_t count) { count_ += count; }

  std::uint64_t count() const { return count_; }

  const std::vector<std::string>& first() const { return first_; }

  static constexpr std::uint64_t described_max = 20;

private:
  std::uint64_t count_ = 0;
  std::vector<std::string> first_;
};

} // namespace pages
