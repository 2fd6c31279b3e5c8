// A right configuration for tests to break, as a struct and as JSON.
#pragma once

#include <string>
#include <string_view>

#include "kvferry/configuration.hpp"

namespace kvferry::test {

/// One sparse group with two buffers, one dense group with a window and one buffer.
inline configuration valid_configuration() {
  configuration config;
  config.tokens_per_block = 64;

  group_config full;
  full.name = "full";
  full.kind = group_kind::sparse;
  full.buffers = {{"k", 4096, 0, 0}, {"v", 4096, 0, 0}};
  full.gpu_slots = 100;
  full.host_slots = 400;

  group_config sliding;
  sliding.name = "sliding";
  sliding.kind = group_kind::dense;
  sliding.window_tokens = 4096;
  sliding.buffers = {{"kv", 2048, 0, 0}};
  sliding.gpu_slots = 50;

  config.groups = {full, sliding};
  return config;
}

/// The same as JSON, with every field that is required and the policies left out.
inline constexpr std::string_view valid_json = R"({
  "tokens_per_block": 64,
  "groups": [
    {
      "name": "full",
      "kind": "sparse",
      "buffers": [
        {"name": "k", "bytes_per_slot": 4096},
        {"name": "v", "bytes_per_slot": 4096}
      ],
      "gpu_slots": 100,
      "host_slots": 400
    },
    {
      "name": "sliding",
      "kind": "dense",
      "window_tokens": 4096,
      "buffers": [{"name": "kv", "bytes_per_slot": 2048}],
      "gpu_slots": 50
    }
  ]
})";

/// `text` with its only `part` replaced. REQUIRES: `part` stands there once, else the text comes back empty.
inline std::string replaced(std::string_view text, std::string_view part, std::string_view by) {
  const auto at = text.find(part);
  if (at == std::string_view::npos || text.find(part, at + 1) != std::string_view::npos)
    return {};
  return std::string{text}.replace(at, part.size(), by);
}

} // namespace kvferry::test
