// Checks one row of one group in one step: each entry's tier and slot against what the contract allows, and the bytes
// of the pages against the record of the request's tokens.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "examples/pages/mismatch_log.hpp"
#include "examples/pages/page_check.hpp"
#include "examples/pages/page_layout.hpp"
#include "examples/pages/step_plan.hpp"
#include "examples/pages/table_rows.hpp"
#include "kvferry/host_device.hpp"

namespace pages {

/// Where a row's pages were when they were last looked at, by ordinal. Grows with the row.
using seen_places = std::vector<std::uint32_t>;

class row_check {
public:
  row_check(kvferry::kernel& kernel, const step_plan& plan, const planned_row& row, const page_layout& layout,
            std::uint32_t group, const row_entries& entries, mismatch_log& log);

  /// Looks at one entry in `stride`, others in other steps. A page that is not where `seen` has it is compared as a
  /// whole, the others by a stamp. Returns how many pages' bytes were compared.
  std::uint64_t check_pages(seen_places& seen, std::uint32_t stride);

  /// Entries behind the written ones: pages while there is capacity, nothing from there on.
  void check_end(std::uint32_t max_blocks);

private:
  bool check_place(std::uint32_t ordinal);
  expected_page page_at(std::uint32_t ordinal) const;
  void compare_stamps(stamp_batch& stamps);
  void wrong_place(std::uint32_t ordinal, std::string_view why);
  void wrong_bytes(const expected_page& page, const wrong_byte& wrong);
  std::string where(std::uint32_t ordinal) const;

  kvferry::kernel& kernel_;
  const step_plan& plan_;
  const planned_row& row_;
  const page_layout& layout_;
  std::uint32_t group_;
  row_entries entries_;
  row_rules rules_;
  std::uint64_t step_word_; ///< makes the choice of positions differ between steps, rows and groups
  mismatch_log& log_;
};

} // namespace pages
