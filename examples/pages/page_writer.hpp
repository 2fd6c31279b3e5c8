// Stands for the layers' KV writes: puts the bytes of each new token into the page that the published tables name.
#pragma once

#include "examples/pages/mismatch_log.hpp"
#include "examples/pages/page_layout.hpp"
#include "examples/pages/step_plan.hpp"
#include "kvferry/batch.hpp"
#include "kvferry/host_device.hpp"

namespace pages {

/// Writes the new tokens of one of the plan's rows, which is row `place` of the tables.
void write_row(kvferry::kernel& kernel, const step_plan& plan, const planned_row& row, std::uint32_t place,
               const kvferry::table_view& tables, const page_layout& layout, mismatch_log& log);

/// The kernel's body. A token without a writable page is a mismatch.
void write_pages(kvferry::kernel& kernel, const step_plan& plan, const kvferry::table_view& tables,
                 const page_layout& layout, mismatch_log& log);

} // namespace pages
