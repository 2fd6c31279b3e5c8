#include "examples/scenario/scenario.hpp"

#include <utility>

#include <fmt/format.h>

namespace scenarios {

std::vector<std::string_view> step_words() {
  return []<std::size_t... Index>(std::index_sequence<Index...>) {
    return std::vector<std::string_view>{std::variant_alternative_t<Index, any_step>::word...};
  }
  (std::make_index_sequence<std::variant_size_v<any_step>>{});
}

std::vector<kvferry::token> tokens_of(const std::vector<token_run>& runs) {
  std::vector<kvferry::token> tokens;
  for (const token_run& run : runs)
    for (std::uint32_t i = 0; i < run.count; ++i)
      tokens.push_back(run.first + static_cast<kvferry::token>(i));
  return tokens;
}

std::string to_string(const finding& found) {
  return fmt::format("step {}, {}: {}", found.step, found.step_text, found.what);
}

} // namespace scenarios
