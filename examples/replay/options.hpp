// The command line of kvferry-replay.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <tl/expected.hpp>

namespace replay {

struct replay_options {
  std::string trace;
  std::string actor;                    ///< "": all
  std::optional<std::uint64_t> block;   ///< whose life is told
  std::optional<std::uint64_t> request; ///< the same
  std::string perfetto;                 ///< file to be written; "": none
};

/// The program ends here: help was asked for (status 0) or the command line is wrong (status 2).
struct usage_stop {
  int status = 0;
  std::string text;
};

tl::expected<replay_options, usage_stop> parse_options(int argc, const char* const* argv);

} // namespace replay
