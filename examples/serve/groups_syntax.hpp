// The layer groups on a command line: `sparse:2x256,dense:1x256:window=4096`, each kind : buffers x bytes per slot :
// window in tokens.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "kvferry/configuration.hpp"
#include "kvferry/error.hpp"

namespace serve {

struct group_spec {
  kvferry::group_kind kind = kvferry::group_kind::sparse;
  std::uint32_t buffers = 0;
  std::uint64_t bytes_per_slot = 0;
  std::uint32_t window_tokens = 0; ///< 0: none

  friend bool operator==(const group_spec&, const group_spec&) = default;
};

/// Errors: invalid_argument, naming the part that is wrong and what would be right.
kvferry::expected<std::vector<group_spec>> parse_groups(std::string_view text);

/// The groups as a runtime takes them, all with the same numbers of slots.
std::vector<kvferry::group_config> group_configs(const std::vector<group_spec>& groups, std::uint32_t gpu_slots,
                                                 std::uint32_t host_slots);

} // namespace serve
