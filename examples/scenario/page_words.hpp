// Places of pages in words, for findings and for the table.
#pragma once

#include <string>
#include <vector>

#include <fmt/format.h>

#include "examples/scenario/names.hpp"
#include "kvferry/runtime.hpp"

namespace scenarios {

inline std::string words_of(const std::vector<place>& places) {
  std::string text;
  for (place p : places)
    text += fmt::format("{}{}", text.empty() ? "" : " ",
                        p == place::gpu    ? "gpu"
                        : p == place::host ? "host"
                        : p == place::none ? "none"
                                           : "loading");
  return text.empty() ? "none at all" : text;
}

/// "gpu 3", "host 5", "gpu 4..." while its bytes are on their way, "-" for none.
inline std::string words_of(const kvferry::block_place& at) {
  if (at.tier == kvferry::tier::none)
    return "-";
  return fmt::format("{} {}{}", at.tier == kvferry::tier::gpu ? "gpu" : "host", at.slot, at.ready ? "" : "...");
}

} // namespace scenarios
