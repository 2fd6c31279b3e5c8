#include "examples/search/shrink.hpp"

#include <algorithm>

namespace search {
namespace {

schedule without(const schedule& deviations, std::size_t from, std::size_t count) {
  schedule left(deviations.begin(), deviations.begin() + static_cast<std::ptrdiff_t>(from));
  const std::size_t behind = std::min(from + count, deviations.size());
  left.insert(left.end(), deviations.begin() + static_cast<std::ptrdiff_t>(behind), deviations.end());
  return left;
}

} // namespace

failed_run shrink(const run_setup& setup, failed_run failed, std::uint64_t& runs) {
  coverage unused;
  for (std::size_t chunk = std::max<std::size_t>(1, failed.chosen.size() / 2);;) {
    bool shorter = false;
    for (std::size_t from = 0; from < failed.chosen.size();) {
      given_schedule candidate(without(failed.chosen, from, chunk));
      run_result run = run_once(setup, candidate, unused);
      ++runs;
      if (run.findings.empty()) {
        from += chunk;
        continue;
      }
      // What fits no point any more is gone, too.
      shorter = true;
      failed = {std::move(run.chosen), std::move(run.findings)};
    }
    if (chunk == 1 && !shorter)
      return failed;
    chunk = std::max<std::size_t>(1, chunk / 2);
  }
}

} // namespace search
