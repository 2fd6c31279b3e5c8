// Makes a failing schedule as short as it gets: deviations are taken back to option 0, chunk by chunk, as long as what
// is left still fails.
#pragma once

#include "examples/search/explorer.hpp"

namespace search {

/// What is left, with what it finds. `runs` counts the tries. REQUIRES: `failed` fails again when it is run.
failed_run shrink(const run_setup& setup, failed_run failed, std::uint64_t& runs);

} // namespace search
