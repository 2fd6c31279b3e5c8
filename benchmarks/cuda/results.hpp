// What was measured, as a table and as JSON.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace bench {

struct timing {
  double total_us = 0.0;  ///< from submission to completion, median
  double submit_us = 0.0; ///< the caller's part of it
};

struct cell {
  std::uint64_t page_bytes = 0;
  std::uint32_t pages = 0; ///< with "both": half of them each way
  std::string direction;   ///< "to host", "to gpu", "both"
  std::string layout;      ///< of host slots: "run", "scattered"
  std::string beside;      ///< "idle", "matrix"
  std::map<std::string, timing> ways;
  double sm_share = 0.0;        ///< of kvferry's kernels
  double matrix_slowdown = 0.0; ///< products in a second without copies, over those beside kvferry's; 0: not measured

  double bytes() const { return static_cast<double>(page_bytes) * pages; }
};

struct run_facts {
  std::string gpu;
  std::string command;
  std::string commit;
  int sms = 0;
};

std::string heading();
std::string line_of(const cell& measured);
std::string json_of(const run_facts& facts, const std::vector<cell>& cells);

} // namespace bench
