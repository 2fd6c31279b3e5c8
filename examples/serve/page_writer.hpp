// Stands for the layers' KV writes: puts the bytes of each new token into the page that the published tables name.
#pragma once

#include "examples/serve/mismatch_log.hpp"
#include "examples/serve/page_layout.hpp"
#include "examples/serve/step_plan.hpp"
#include "kvferry/batch.hpp"
#include "kvferry/host_device.hpp"

namespace serve {

/// The kernel's body. A token without a writable page is a mismatch.
void write_pages(kvferry::kernel& kernel, const step_plan& plan, const kvferry::table_view& tables,
                 const page_layout& layout, mismatch_log& log);

} // namespace serve
