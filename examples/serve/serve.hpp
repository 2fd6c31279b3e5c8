// One run of kvferry-serve: everything is made, the workload is served, the numbers are taken.
#pragma once

#include "examples/serve/options.hpp"
#include "examples/serve/report.hpp"
#include "examples/serve/workload.hpp"
#include "kvferry/error.hpp"

namespace serve {

/// Reads the workload that the options name.
kvferry::expected<workload> workload_of(const serve_options& options);

/// Serves it. Errors: what kept the run from beginning; what ends it early is in the report.
kvferry::expected<run_report> serve_workload(const serve_options& options, const workload& requests);

} // namespace serve
