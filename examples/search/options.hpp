// The command line of kvferry-search.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "examples/search/one_run.hpp"

namespace search {

struct search_options {
  enum class way : std::uint8_t { deviations, exhaustive, random, priorities, given };

  std::vector<std::filesystem::path> scenarios;
  way by = way::deviations;
  std::uint32_t deviations = 2;
  std::uint32_t depth = 3;        ///< with priorities
  std::uint64_t budget = 100'000; ///< runs, of each scenario
  std::uint64_t seed = 1;
  schedule given;
  faults allowed;
  std::string plant;            ///< "": nothing
  std::filesystem::path report; ///< empty: none
  std::filesystem::path trace;  ///< of a failure; empty: beside the scenario's name, here
};

/// Nothing is to be searched: help was asked for (status 0), or the line is wrong (status 2).
struct usage_stop {
  int status = 0;
  std::string text;
};

tl::expected<search_options, usage_stop> parse_options(int argc, const char* const* argv);

} // namespace search
