// Contracts: what callers and code promise each other, checked in every build. When a promise is broken the process
// says where and what it saw, and ends. Failures that can be expected are no contracts, they are values (error.hpp).
//
// For all of kvferry, and for engines that build on its headers.
#pragma once

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <fmt/format.h>

namespace kvferry {

/// Called once before a broken contract ends the process, by the thread that broke it: recorders write what they hold.
inline std::atomic<void (*)()> before_contract_ends{nullptr};

/// Prints place, condition and what was seen to stderr, and aborts. Called through `KVFERRY_REQUIRE`.
[[noreturn, gnu::cold, gnu::noinline]] inline void contract_broken(const char* file, int line, const char* condition,
                                                                   const std::string& saw) {
  std::fprintf(stderr, "%s:%d: broken contract: %s\n  %s\n", file, line, condition, saw.c_str());
  std::fflush(stderr);
  if (auto* last_words = before_contract_ends.exchange(nullptr))
    last_words();
  std::abort();
}

} // namespace kvferry

/// Ends the process unless `condition` holds. The rest is an fmt format string and its arguments, evaluated only then:
/// name what was seen, e.g. KVFERRY_REQUIRE(slot < slots, "slot {} of {}", slot, slots).
#define KVFERRY_REQUIRE(condition, ...)                                                                                \
  do {                                                                                                                 \
    if (!(condition)) [[unlikely]]                                                                                     \
      ::kvferry::contract_broken(__FILE__, __LINE__, #condition, ::fmt::format(__VA_ARGS__));                          \
  } while (false)
