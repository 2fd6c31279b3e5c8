// The command line of kvferry-serve.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "examples/serve/groups_syntax.hpp"
#include "examples/serve/verifier.hpp"
#include "kvferry/configuration.hpp"
#include "kvferry/host_device.hpp"

namespace serve {

/// Where pages live.
enum class device_kind : std::uint8_t {
  host, ///< an emulated GPU
  cuda, ///< GPU 0
};

struct serve_options {
  std::string workload;
  std::string scenario; ///< a file to run instead of a workload
  std::uint64_t requests_max = std::numeric_limits<std::uint64_t>::max();
  double time_scale = 1.0;
  bool skip_bad = false;

  std::uint32_t tokens_per_block = 64;
  std::vector<group_spec> groups;
  std::uint32_t gpu_slots = 12288;
  std::uint32_t host_slots = 49152;
  std::optional<std::uint32_t> defer_steps_max = 32;
  kvferry::host_full_policy on_host_full = kvferry::host_full_policy::refuse;
  kvferry::scheduler_kind scheduler = kvferry::scheduler_kind::stepped;
  kvferry::delivery_order order = kvferry::delivery_order::fifo;
  std::uint64_t seed = 1;
  bool order_given = false, seed_given = false; ///< else a scenario has its own
  std::string config;                           ///< a file that says all of the above, from tokens_per_block on

  std::uint32_t step_ms = 30;
  std::uint32_t prefill_tokens = 8192;
  std::uint32_t rows = 256;
  std::uint32_t steps_in_flight = 2;

  device_kind device = device_kind::host;
  std::uint32_t gpu = 0; ///< with `device_kind::cuda`: which
  verify_mode verify = verify_mode::all;
  kvferry::order_check check_order = kvferry::order_check::all;
  double fail_copies = 0.0;
  double abort = 0.0;
  double suspend = 0.0;

  std::string record;
  std::string report;
  std::string plant; ///< a fault to plant, in builds with test hooks
};

/// The program ends here: help was asked for (status 0) or the command line is wrong (status 2).
struct usage_stop {
  int status = 0;
  std::string text;
};

tl::expected<serve_options, usage_stop> parse_options(int argc, const char* const* argv);

/// The runtime's configuration: the file of `--config`, or what the options say.
kvferry::expected<kvferry::configuration> configuration_of(const serve_options& options);

} // namespace serve
