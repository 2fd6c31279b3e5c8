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

  std::uint64_t count() const { return count_; }

  const std::vector<std::string>& first() const { return first_; }

private:
  static constexpr std::uint64_t described_max = 20;
  std::uint64_t count_ = 0;
  std::vector<std::string> first_;
};

} // namespace pages
