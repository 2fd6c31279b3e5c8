// Looks for a test case that fails, by seed, and for the smallest one that still does. Cases run in child processes, so
// that a broken contract is a failure like others and can be shrunk.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "tests/properties/test_case.hpp"

namespace kvferry::test {

struct found_failure {
  std::uint64_t seed = 0;
  test_case smallest;
  std::string words; ///< what is wrong, after what; and how to run it again
};

/// The case that a seed stands for.
test_case case_of(std::uint64_t seed);

/// What is wrong with a case, in sentences; empty: nothing. Ended by a signal counts as wrong.
std::string run_case(const test_case& which);

struct search_options {
  std::uint64_t first_seed = 1;
  std::uint64_t runs = 200;
  std::uint32_t shrinks_max = 600; ///< smaller cases tried
};

/// Runs the seeds from the first on; the first failure is shrunk.
std::optional<found_failure> search(const search_options& options);

} // namespace kvferry::test
