// Goes through the schedules of a scenario: all with at most so many deviations, all there are, or some by chance.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <unordered_set>
#include <vector>

#include "examples/search/one_run.hpp"

namespace search {

struct failed_run {
  schedule chosen;
  std::vector<scenarios::finding> findings;
};

struct search_result {
  std::uint64_t schedules = 0;                      ///< runs that were begun
  std::uint64_t cut = 0;                            ///< of these, ended where another had been in the same state
  std::uint64_t unrun = 0;                          ///< of those, known to end there without a run
  std::uint64_t skipped = 0;                        ///< in which the engine did without a step, after a fault
  std::uint64_t waited = 0;                         ///< in which it had to wait for a call to be granted
  std::uint64_t states = 0;                         ///< that were told apart at choice points
  bool complete = false;                            ///< no schedule within the bound is left
  std::optional<std::uint32_t> complete_deviations; ///< all schedules of so many have been seen; none: not even of 0
  std::uint32_t points_max = 0;
  std::uint32_t deliveries_max = 0;
  schedule last_chosen;              ///< of the last run
  std::optional<failed_run> failure; ///< the first; the search ends with it
};

struct search_bounds {
  std::uint64_t budget = 0;                ///< runs
  std::optional<std::uint32_t> deviations; ///< none: any number
  bool looks_ahead = true;                 ///< schedules known to be cut are not run; the result is the same
};

/// Told after each run.
using on_progress = std::function<void(const search_result&)>;

/// Fewest deviations first. A run ends where another was in the same state, with no more deviations. `ends` gets the
/// state at the last choice point of every run that reached its end; may be null.
search_result explore(const run_setup& setup, const search_bounds& bounds, coverage& seen, const on_progress& tell,
                      std::set<std::uint64_t>* ends = nullptr);

/// `choose(n)` makes the chooser of the n-th run.
search_result try_some(const run_setup& setup, std::uint64_t budget,
                       const std::function<std::unique_ptr<chooser>(std::uint64_t)>& choose, coverage& seen,
                       const on_progress& tell);

} // namespace search
