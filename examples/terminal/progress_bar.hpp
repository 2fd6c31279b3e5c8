// A progress bar on a terminal; nothing in a pipe or a log.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

namespace terminal {

class progress_bar {
public:
  explicit progress_bar(std::uint64_t total) : total_(total), on_terminal_(isatty(STDERR_FILENO) != 0) {}

  ~progress_bar() {
    if (on_terminal_)
      fmt::print(stderr, "\r\x1b[K");
  }

  progress_bar(const progress_bar&) = delete;
  progress_bar& operator=(const progress_bar&) = delete;

  /// Shows how far it is; cheap to call each step. `detail` makes the text behind the bar, when it is shown.
  template <class Function>
  void show(std::uint64_t done, Function detail) {
    if (!on_terminal_ || ++calls_ % 64 != 0) // the clock is looked at now and then
      return;
    auto now = std::chrono::steady_clock::now();
    if (now < next_)
      return;
    next_ = now + std::chrono::milliseconds{100};
    std::size_t filled = total_ == 0 ? width : width * done / total_;
    fmt::print(stderr, "\r[{:=<{}}{:<{}}] {}/{} {}\x1b[K", "", filled, "", width - filled, done, total_, detail());
    std::fflush(stderr);
  }

private:
  static constexpr std::size_t width = 32;
  std::uint64_t total_;
  bool on_terminal_;
  std::uint64_t calls_ = 0;
  std::chrono::steady_clock::time_point next_;
};

} // namespace terminal
