#include "kvferry/configuration.hpp"

#include <bit>
#include <limits>

#include "runtime/buffer_layout.hpp"
#include "runtime/configuration_error.hpp"
#include "runtime/spelling.hpp"

namespace kvferry {

std::string_view to_string(group_kind kind) { return spell(kind); }
std::string_view to_string(scheduler_kind kind) { return spell(kind); }
std::string_view to_string(delivery_order order) { return spell(order); }
std::string_view to_string(host_full_policy policy) { return spell(policy); }
std::string_view to_string(host_hit_policy policy) { return spell(policy); }

namespace {

constexpr std::uint32_t tokens_per_block_max = 65'536;
constexpr std::uint32_t copy_retries_max = 1'000;
constexpr std::uint32_t worker_threads_max = 1'024;
/// Tables hold raw slots, and kernels count table entries, as int32.
constexpr std::uint32_t int32_max = std::numeric_limits<std::int32_t>::max();

template <spelled Enum>
expected<void> check_word(std::string_view path, Enum value) {
  if (spell(value) == "?")
    return wrong_value(path, static_cast<unsigned>(value), choices<Enum>());
  return {};
}

expected<void> check_range(std::string_view path, std::uint32_t value, std::uint32_t min, std::uint32_t max) {
  if (value < min || value > max)
    return wrong_value(path, value, fmt::format("from {} to {}", min, max));
  return {};
}

/// Names are how people and reports tell groups and buffers apart. `named` are the list's elements, each with a name.
template <class Named>
expected<void> check_names(std::string_view path, const std::vector<Named>& named) {
  for (std::size_t i = 0; i < named.size(); ++i) {
    if (named[i].name.empty())
      return wrong_value(fmt::format("{}[{}].name", path, i), "\"\"", "not empty");
    for (std::size_t j = 0; j < i; ++j)
      if (named[j].name == named[i].name)
        return wrong_value(fmt::format("{}[{}].name", path, i), fmt::format("\"{}\"", named[i].name),
                           fmt::format("unique: {}[{}] has that name", path, j));
  }
  return {};
}

expected<void> check_buffer(std::string_view path, const buffer_config& buffer) {
  if (buffer.bytes_per_slot == 0)
    return wrong_value(fmt::format("{}.bytes_per_slot", path), 0, "at least 1");
  if (buffer.slot_stride_bytes != 0 && buffer.slot_stride_bytes < buffer.bytes_per_slot)
    return wrong_value(fmt::format("{}.slot_stride_bytes", path), buffer.slot_stride_bytes,
                       fmt::format("at least bytes_per_slot, {}, or 0 for just that", buffer.bytes_per_slot));
  return {};
}

expected<void> check_buffers(std::string_view path, const std::vector<buffer_config>& buffers) {
  if (buffers.empty())
    return wrong_value(path, "empty", "one buffer or more");
  if (auto names = check_names(path, buffers); !names)
    return names;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const std::string buffer_path = fmt::format("{}[{}]", path, i);
    if (auto buffer = check_buffer(buffer_path, buffers[i]); !buffer)
      return buffer;
    // A pool is the engine's or the runtime's as a whole.
    const bool engines = buffers.front().base_address != 0;
    if ((buffers[i].base_address != 0) != engines)
      return wrong_value(fmt::format("{}.base_address", buffer_path), buffers[i].base_address,
                         engines ? fmt::format("an address, as {}[0] has one", path)
                                 : fmt::format("0, as {}[0] has no address: all buffers of a group or none", path));
  }
  return {};
}

expected<void> check_group(std::string_view path, const group_config& group) {
  const auto field = [&](std::string_view name) { return fmt::format("{}.{}", path, name); };
  if (auto kind = check_word(field("kind"), group.kind); !kind)
    return kind;
  if (auto slots = check_range(field("gpu_slots"), group.gpu_slots, 1, int32_max); !slots)
    return slots;
  if (auto slots = check_range(field("host_slots"), group.host_slots, 0, int32_max); !slots)
    return slots;
  if (group.kind == group_kind::sparse && group.host_slots == 0)
    return wrong_value(field("host_slots"), 0, "at least 1: the group is sparse, so its history moves to a host pool");
  if (group.kind == group_kind::sparse && group.window_tokens != 0)
    return wrong_value(field("window_tokens"), group.window_tokens, "0: only a dense group has a window");
  return check_buffers(field("buffers"), group.buffers);
}

expected<void> check_groups(const std::vector<group_config>& groups) {
  if (groups.empty())
    return wrong_value("groups", "empty", fmt::format("from 1 to {} groups", configuration::groups_max));
  if (groups.size() > configuration::groups_max)
    return wrong_value("groups", fmt::format("a list of {}", groups.size()),
                       fmt::format("from 1 to {} groups", configuration::groups_max));
  if (auto names = check_names("groups", groups); !names)
    return names;
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (auto group = check_group(fmt::format("groups[{}]", i), groups[i]); !group)
      return group;
  return check_layout(groups);
}

} // namespace

expected<void> validate(const configuration& config) {
  if (!std::has_single_bit(config.tokens_per_block) || config.tokens_per_block > tokens_per_block_max)
    return wrong_value("tokens_per_block", config.tokens_per_block,
                       fmt::format("a power of two from 1 to {}", tokens_per_block_max));
  if (auto groups = check_groups(config.groups); !groups)
    return groups;
  if (auto policy = check_word("on_host_full", config.on_host_full); !policy)
    return policy;
  if (auto policy = check_word("on_host_hit", config.on_host_hit); !policy)
    return policy;
  if (auto retries = check_range("copy_retries", config.copy_retries, 0, copy_retries_max); !retries)
    return retries;
  if (auto kind = check_word("scheduler", config.scheduler); !kind)
    return kind;
  if (auto order = check_word("order", config.order); !order)
    return order;
  if (config.scheduler == scheduler_kind::threaded)
    return check_range("worker_threads", config.worker_threads, 1, worker_threads_max);
  return {};
}

expected<void> validate(const batch_config& config) {
  if (config.beam_width != 1)
    return wrong_value("beam_width", config.beam_width, "1: beam search is not supported");
  if (auto rows = check_range("rows", config.rows, 1, int32_max); !rows)
    return rows;
  const std::uint32_t blocks_max = int32_max / config.rows;
  if (config.max_blocks == 0 || config.max_blocks > blocks_max)
    return wrong_value(
        "max_blocks", config.max_blocks,
        fmt::format("from 1 to {}: the entries of a table of {} rows are counted in 31 bits", blocks_max, config.rows));
  return {};
}

} // namespace kvferry
