#include "examples/serve/groups_syntax.hpp"

#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace serve {
namespace {

using kvferry::error_code;

constexpr std::uint32_t buffers_max = 1024;

/// Takes what stands before the next `mark` off `rest`; all of it when there is none.
std::string_view take(std::string_view& rest, char mark) {
  std::size_t at = rest.find(mark);
  std::string_view part = rest.substr(0, at);
  rest = at == rest.npos ? std::string_view{} : rest.substr(at + 1);
  return part;
}

template <class Number>
std::optional<Number> positive(std::string_view text) {
  Number value = 0;
  auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool right = wrong == std::errc{} && end == text.data() + text.size() && value > 0;
  return right ? std::optional{value} : std::nullopt;
}

auto wrong_part(std::string_view group, std::string_view part, std::string_view right) {
  return kvferry::fail(error_code::invalid_argument, fmt::format("in \"{}\": \"{}\" should be {}", group, part, right));
}

kvferry::expected<group_spec> parse_group(std::string_view text) {
  std::string_view rest = text;
  group_spec group;
  std::string_view kind = take(rest, ':');
  if (kind == "dense")
    group.kind = kvferry::group_kind::dense;
  else if (kind != "sparse")
    return wrong_part(text, kind, "sparse or dense");

  std::string_view shape = take(rest, ':');
  std::size_t times = shape.find('x');
  auto buffers = positive<std::uint32_t>(shape.substr(0, times));
  auto bytes = times == shape.npos ? std::nullopt : positive<std::uint64_t>(shape.substr(times + 1));
  if (!buffers || *buffers > buffers_max || !bytes)
    return wrong_part(text, shape, fmt::format("buffers (at most {}) x bytes per slot, e.g. 2x256", buffers_max));
  group.buffers = *buffers;
  group.bytes_per_slot = *bytes;

  if (text.ends_with(':') || !rest.empty()) {
    constexpr std::string_view name = "window=";
    auto window = rest.starts_with(name) ? positive<std::uint32_t>(rest.substr(name.size())) : std::nullopt;
    if (!window)
      return wrong_part(text, rest, "a window in tokens, e.g. window=4096");
    if (group.kind == kvferry::group_kind::sparse)
      return wrong_part(text, rest, "left out: only dense groups have a window");
    group.window_tokens = *window;
  }
  return group;
}

} // namespace

kvferry::expected<std::vector<group_spec>> parse_groups(std::string_view text) {
  std::vector<group_spec> groups;
  std::string_view rest = text;
  do {
    auto group = parse_group(take(rest, ','));
    if (!group)
      return tl::unexpected(group.error());
    groups.push_back(*group);
  } while (!rest.empty());
  if (text.ends_with(','))
    return wrong_part(text, "", "a group behind the last comma, e.g. dense:1x256");
  return groups;
}

std::vector<kvferry::group_config> group_configs(const std::vector<group_spec>& groups, std::uint32_t gpu_slots,
                                                 std::uint32_t host_slots) {
  std::vector<kvferry::group_config> configs;
  for (const group_spec& group : groups) {
    kvferry::group_config config;
    config.name = fmt::format("{}{}", group.kind == kvferry::group_kind::sparse ? "sparse" : "dense", configs.size());
    config.kind = group.kind;
    config.window_tokens = group.window_tokens;
    config.gpu_slots = gpu_slots;
    config.host_slots = host_slots;
    for (std::uint32_t b = 0; b < group.buffers; ++b)
      config.buffers.push_back({fmt::format("buffer{}", b), group.bytes_per_slot});
    configs.push_back(std::move(config));
  }
  return configs;
}

} // namespace serve
