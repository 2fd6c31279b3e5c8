// The numbers of a run: a table for people, JSON for programs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kvferry/error.hpp"
#include "kvferry/host_device.hpp"
#include "kvferry/statistics.hpp"

namespace serve {

struct run_report {
  std::uint64_t requests = 0; ///< of the workload
  std::uint64_t requests_completed = 0;
  std::uint64_t requests_aborted = 0;
  std::uint64_t requests_suspended = 0; ///< times
  std::uint64_t requests_requeued = 0;  ///< times one was closed to make room, and computed again
  std::uint64_t bad_rows = 0;           ///< of the workload, skipped
  std::uint64_t steps = 0;
  std::uint64_t tokens_decoded = 0;
  kvferry::statistics pages;
  std::uint64_t pages_verified = 0;
  std::uint64_t mismatches = 0;
  std::optional<std::uint64_t> unordered_accesses; ///< none: not looked for
  kvferry::leftovers left;
  double host_us_per_step_p50 = 0.0;
  double host_us_per_step_p99 = 0.0;
  double publish_us_p50 = 0.0;
  double wall_s = 0.0;
  double peak_rss_mib = 0.0;

  // What the numbers do not say.
  std::map<std::string, std::uint64_t> abort_reasons;
  std::vector<std::string> first_mismatches;
  std::vector<kvferry::unordered_access> first_unordered;
  std::optional<kvferry::error> stopped_by; ///< the run ended early

  double messages_per_step() const;

  /// Whether everything that a run must show held: no mismatch, leak, unordered access or call without an answer.
  bool good() const;
};

/// The most memory that this process has had, in MiB.
double peak_rss_mib();

/// The table, and below it what went wrong.
std::string table_of(const run_report& report);

/// The numbers as a JSON object.
std::string json_of(const run_report& report);

} // namespace serve
