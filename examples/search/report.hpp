// What a search did and found, as text for a person and as JSON.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "examples/search/explorer.hpp"

namespace search {

struct scenario_report {
  std::string scenario; ///< the file, as it was given
  std::string way;      ///< "at most 2 deviations"
  search_result result;
  double seconds = 0;
  std::vector<std::string> pairs; ///< of coverage
  std::filesystem::path trace;    ///< of the failure
  std::uint64_t shrinking = 0;    ///< runs that it took
};

/// A few lines.
std::string to_text(const scenario_report& report);

/// Errors: io_error.
kvferry::expected<void> write_json(const std::filesystem::path& file, const std::vector<scenario_report>& reports);

} // namespace search
