// One run of a scenario in which everything that is left open is a choice: which message is delivered next, whether the
// engine goes on before the rest, when the device gets on and its completions enter, and which faults there are. At the
// end there are no more choices: what can move must have moved, and what was closed must be gone.
#pragma once

#include <filesystem>
#include <vector>

#include "examples/scenario/scenario.hpp"
#include "examples/search/chooser.hpp"
#include "examples/search/coverage.hpp"

namespace search {

struct faults {
  bool fail_copy = false;
  bool fail_allocation = false;
  bool repeat_completion = false;
  bool kill_request = false;
  bool kill_actor = false;   ///< the registry, storage, completions or the batch publisher: ends the runtime
  std::uint32_t at_most = 1; ///< in one run
};

struct run_setup {
  const scenarios::scenario& plan;
  faults allowed;
  std::filesystem::path record; ///< empty: none is written
};

struct run_result {
  std::vector<scenarios::finding> findings; ///< empty: everything held
  schedule chosen;                          ///< the deviations that were made
  std::uint32_t points = 0;                 ///< choice points that were met
  std::uint32_t deliveries = 0;             ///< before the end
  bool was_cut = false;
  bool skipped = false;    ///< the engine did without a step
  std::uint32_t waits = 0; ///< rounds in which it waited for a call to be granted
};

/// Contracts that break are findings, too. `seen` gets what was handled.
run_result run_once(const run_setup& setup, chooser& choose, coverage& seen);

} // namespace search
