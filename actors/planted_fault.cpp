#include "actors/planted_fault.hpp"

#include <array>
#include <string>
#include <utility>

#include "kvferry/test_hooks.hpp"

namespace kvferry {

expected<void> plant_fault([[maybe_unused]] std::string_view name) {
#if KVFERRY_TEST_HOOKS
  static constexpr std::array<std::pair<std::string_view, fault>, 15> names{{
      {"none", fault::none},
      {"copy_wait_dropped", fault::copy_wait_dropped},
      {"load_wait_dropped", fault::load_wait_dropped},
      {"close_ignores_steps", fault::close_ignores_steps},
      {"slot_before_unnamed", fault::slot_before_unnamed},
      {"retry_forgotten", fault::retry_forgotten},
      {"host_page_under_load", fault::host_page_under_load},
      {"tier_before_copy_done", fault::tier_before_copy_done},
      {"grant_before_submission", fault::grant_before_submission},
      {"seen_ignored", fault::seen_ignored},
      {"gone_at_leaving", fault::gone_at_leaving},
      {"ghost_blocks", fault::ghost_blocks},
      {"void_spill_used", fault::void_spill_used},
      {"failed_copy_counts", fault::failed_copy_counts},
      {"ready_before_loads", fault::ready_before_loads},
  }};
  std::string all;
  for (const auto& [known, which] : names) {
    if (known == name) {
      planted_fault = which;
      return {};
    }
    all.append(all.empty() ? "" : ", ").append(known);
  }
  return fail(error_code::invalid_argument, "there is no fault of that name; there are " + all);
#else
  return fail(error_code::invalid_argument, "faults can be planted in builds with KVFERRY_TEST_HOOKS only");
#endif
}

} // namespace kvferry
