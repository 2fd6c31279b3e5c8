// What a runtime is made of: block size, layer groups, pools, policies. Filled in by the engine or read from JSON, and
// validated as a whole before anything is allocated.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kvferry/error.hpp"

namespace kvferry {

/// One engine tensor of a group, say K of layer 3.
struct buffer_config {
  std::string name;                 ///< unique in its group
  std::uint64_t bytes_per_slot = 0; ///< bytes of one block's fragment, > 0

  /// An engine's own tensor: address of slot 0 in GPU memory; 0: the runtime allocates the pool.
  std::uint64_t base_address = 0;
  /// Bytes from one slot to the next, ≥ bytes_per_slot; 0: bytes_per_slot.
  std::uint64_t slot_stride_bytes = 0;
};

enum class group_kind : std::uint8_t {
  sparse, ///< complete history of decoding requests moves to the host
  dense,  ///< stays on the GPU while an active request owns it
};

/// Layers whose pages share lifetime rules.
struct group_config {
  std::string name; ///< unique
  group_kind kind = group_kind::sparse;
  std::uint32_t window_tokens = 0; ///< dense only: attention looks this far back; 0: no window
  std::vector<buffer_config> buffers;
  std::uint32_t gpu_slots = 0;  ///< > 0
  std::uint32_t host_slots = 0; ///< sparse groups need some; a dense group's serve idle and held pages
};

/// How actors run.
enum class scheduler_kind : std::uint8_t {
  stepped,  ///< on the caller's thread, one message at a time, until none is left
  threaded, ///< on CAF's worker threads
};

/// Which message is delivered next under `scheduler_kind::stepped`.
enum class delivery_order : std::uint8_t {
  fifo,   ///< oldest first
  random, ///< any channel's oldest, by `configuration::seed`
};

/// Decode entry and resume when the host pool is short (design section 4.2).
enum class host_full_policy : std::uint8_t {
  refuse, ///< refused as a whole, with everything as before
  defer,  ///< admitted; what does not fit waits on the GPU
};

/// Prefill over a block that is on the host only (design section 4.4).
enum class host_hit_policy : std::uint8_t {
  load,      ///< admitted as loading; the block gets a GPU page
  recompute, ///< the match ends before that block
};

struct configuration {
  std::uint32_t tokens_per_block = 64; ///< a power of two
  std::vector<group_config> groups;    ///< at least one, at most `groups_max`

  /// Publications after which a deferred block is copied although its blockers stay; 0: at once; none: never.
  std::optional<std::uint32_t> defer_steps_max = 32;
  host_full_policy on_host_full = host_full_policy::refuse;
  host_hit_policy on_host_hit = host_hit_policy::load;
  std::uint32_t copy_retries = 3; ///< times a failed copy is submitted again

  /// Events for routers outside that wait until they are taken (`runtime::take_router_events`); 0: there are none.
  std::uint32_t router_events_max = 0;

  scheduler_kind scheduler = scheduler_kind::stepped;
  delivery_order order = delivery_order::fifo;
  std::uint64_t seed = 1;            ///< for `delivery_order::random`
  std::uint32_t worker_threads = 2;  ///< for `scheduler_kind::threaded`
  std::filesystem::path record_path; ///< messages are recorded there as JSON lines; empty: not recorded

  static constexpr std::size_t groups_max = 16;
};

/// One set of GPU tables (design section 5).
struct batch_config {
  std::uint32_t rows = 256;        ///< requests at once, > 0
  std::uint32_t max_blocks = 2048; ///< blocks of a row, > 0
  std::uint32_t beam_width = 1;    ///< nothing else is supported
};

/// Checks everything that can be checked without a device. The error names the field's path, the value and what is
/// right.
expected<void> validate(const configuration& config);
expected<void> validate(const batch_config& config);

/// Reads a configuration from JSON text; `source` names it in errors. The fields are those of the structs above;
/// `defer_steps_max` also takes "never". Required are `tokens_per_block` and `groups`; of a group `name`, `kind`,
/// `buffers` and `gpu_slots`; of a buffer `name` and `bytes_per_slot`. Others that are left out have the struct's
/// default; unknown ones are errors. The result is validated.
expected<configuration> parse_configuration(std::string_view json, std::string_view source = "configuration");

/// The same from a file.
expected<configuration> load_configuration(const std::filesystem::path& file);

/// Spelling in JSON, on command lines and in reports.
std::string_view to_string(group_kind kind);
std::string_view to_string(scheduler_kind kind);
std::string_view to_string(delivery_order order);
std::string_view to_string(host_full_policy policy);
std::string_view to_string(host_hit_policy policy);

} // namespace kvferry
