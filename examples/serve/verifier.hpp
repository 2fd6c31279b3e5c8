// The attention stand-in. In stream order, behind the step's writes, it walks the published tables as attention would
// and holds every page that it finds against the engine's own record of the tokens: right request, right tier, a slot
// that exists, the right bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "examples/pages/mismatch_log.hpp"
#include "examples/pages/page_layout.hpp"
#include "examples/pages/row_check.hpp"
#include "examples/pages/step_plan.hpp"
#include "kvferry/batch.hpp"
#include "kvferry/host_device.hpp"

namespace serve {

enum class verify_mode : std::uint8_t {
  all,     ///< every row, every entry
  sampled, ///< one row in 16, one entry in 16, others in other steps
  off,
};

class verifier {
public:
  /// `log` must outlive this.
  verifier(pages::page_layout layout, kvferry::table_view tables, verify_mode mode, pages::mismatch_log& log);

  /// The kernel's body. Each entry gets an 8-byte stamp at a position that changes each step; a page that is seen in a
  /// place for the first time is compared as a whole.
  void check(kvferry::kernel& kernel, const pages::step_plan& plan);

  /// Entries whose bytes were compared.
  std::uint64_t pages_verified() const { return pages_verified_; }

private:
  struct row_memory {
    kvferry::request_id request;
    std::vector<pages::seen_places> groups;
  };

  static constexpr std::uint32_t sampled_stride = 16;

  void check_active_rows(const pages::step_plan& plan);
  void check_row(kvferry::kernel& kernel, const pages::step_plan& plan, const pages::planned_row& row,
                 std::uint32_t number);
  void check_other_rows(const pages::step_plan& plan);
  void check_hole(const pages::step_plan& plan, std::uint32_t number);

  pages::page_layout layout_;
  kvferry::table_view tables_;
  std::uint32_t stride_; ///< one row and one entry in so many
  pages::mismatch_log& log_;
  std::vector<row_memory> memory_;                 ///< by row
  std::vector<const pages::planned_row*> running_; ///< by row, of the step being checked; null: not in it
  std::uint64_t pages_verified_ = 0;
};

} // namespace serve
