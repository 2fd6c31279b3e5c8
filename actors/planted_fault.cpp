#include "actors/planted_fault.hpp"

#include <array>
#include <utility>

namespace kvferry {

std::optional<fault> fault_named(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, fault>, 8> names{{
      {"none", fault::none},
      {"copy_wait_dropped", fault::copy_wait_dropped},
      {"load_wait_dropped", fault::load_wait_dropped},
      {"close_ignores_steps", fault::close_ignores_steps},
      {"slot_before_unnamed", fault::slot_before_unnamed},
      {"retry_forgotten", fault::retry_forgotten},
      {"host_page_under_load", fault::host_page_under_load},
      {"tier_before_copy_done", fault::tier_before_copy_done},
  }};
  for (const auto& [known, which] : names)
    if (known == name)
      return which;
  return std::nullopt;
}

} // namespace kvferry
