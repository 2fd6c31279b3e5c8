// A workload: when requests arrive, how long they are and, where the trace knows it, which blocks their prompts are
// made of. Read from Mooncake JSON lines or an Azure CSV file; the first line tells which.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string_view>
#include <vector>

#include "kvferry/error.hpp"

namespace serve {

struct workload_request {
  std::int64_t arrival_us = 0; ///< virtual time, from the start of the trace
  std::uint32_t prompt_tokens = 0;
  std::uint32_t output_tokens = 0;
  std::vector<std::uint64_t> blocks; ///< ids of the prompt's 512-token blocks; none: content that nobody shares
};

struct workload {
  std::vector<workload_request> requests; ///< by arrival, then in the order of the file; at least one
  std::uint64_t bad_rows = 0;             ///< skipped
};

struct workload_options {
  std::uint64_t requests_max = std::numeric_limits<std::uint64_t>::max(); ///< reading stops after so many good rows
  double time_scale = 1.0;                                                ///< arrivals are divided by this, > 0
  bool skip_bad = false; ///< count bad rows and go on; otherwise the first one is an error
};

/// Where the workload is: `name` as given, else under $KVFERRY_TRACES, else in ../shared/traces beside the project.
/// Errors: io_error with the places that were tried.
kvferry::expected<std::filesystem::path> find_workload(std::string_view name);

/// Reads and checks a file. Errors: io_error; invalid_argument for a bad row, with file:line, field and what would be
/// right, or when there are no rows.
kvferry::expected<workload> read_workload(const std::filesystem::path& file, const workload_options& options = {});

} // namespace serve
