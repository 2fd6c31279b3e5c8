// Contracts: what callers and code promise each other, checked in every build. When a promise is broken the process
// says where and what it saw, and ends. Failures that can be expected are no contracts, they are values (error.hpp).
//
// For all of kvferry, and for engines that build on its headers.
#pragma once

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

namespace kvferry {

/// Called once before a broken contract ends the process, by the thread that broke it: recorders write what they hold.
inline std::atomic<void (*)()> before_contract_ends{nullptr};

/// A broken contract, where it was to be thrown (contracts_throw).
class contract_failure : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// While one lives, contracts that are broken on its thread throw contract_failure in place of ending the process. For
/// searches and tests that break things on purpose and go on with the next try: what was in use then is good for
/// nothing but destruction. REQUIRES: one at a time on a thread.
class contracts_throw {
public:
  contracts_throw() { living() = this; }
  ~contracts_throw() { living() = nullptr; }
  contracts_throw(const contracts_throw&) = delete;
  contracts_throw& operator=(const contracts_throw&) = delete;

  /// The first that was broken; none: all were kept.
  const std::optional<std::string>& broken() const { return broken_; }

  /// On this thread; null: there is none.
  static contracts_throw*& living() {
    thread_local contracts_throw* one = nullptr;
    return one;
  }

  [[noreturn]] void fail(std::string what) {
    if (!broken_)
      broken_ = what;
    throw contract_failure{what};
  }

private:
  std::optional<std::string> broken_;
};

/// Prints place, condition and what was seen to stderr, and aborts. Called through `KVFERRY_REQUIRE`.
[[noreturn, gnu::cold, gnu::noinline]] inline void contract_broken(const char* file, int line, const char* condition,
                                                                   const std::string& saw) {
  if (contracts_throw* asked = contracts_throw::living())
    asked->fail(fmt::format("broken contract: {}: {}", condition, saw));
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
