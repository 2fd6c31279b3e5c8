#include "examples/serve/serve.hpp"

#include <algorithm>
#include <chrono>

#include "examples/serve/engine.hpp"
#include "examples/serve/serving_device.hpp"
#include "kvferry/test_hooks.hpp"

namespace serve {
namespace {

/// Rows as long as the longest request.
kvferry::batch_config batch_for(const serve_options& options, const workload& requests,
                                const pages::page_layout& layout) {
  std::uint32_t longest = 0;
  for (const workload_request& request : requests.requests)
    longest = std::max(longest, request.prompt_tokens + request.output_tokens);
  return {.rows = options.rows, .max_blocks = layout.blocks_of(longest)};
}

run_report report_of(const engine& ran, const device_steps& steps, const pages::mismatch_log& log,
                     const workload& requests) {
  run_report report;
  const engine_counts& counts = ran.counts();
  report.requests = requests.requests.size();
  report.bad_rows = requests.bad_rows;
  report.requests_completed = counts.completed;
  report.requests_aborted = counts.aborted;
  report.requests_suspended = counts.suspended;
  report.requests_requeued = counts.requeued;
  report.abort_reasons = counts.abort_reasons;
  report.steps = counts.steps;
  report.tokens_decoded = counts.tokens_decoded;
  report.pages_verified = steps.pages_verified();
  report.mismatches = log.count();
  report.first_mismatches = log.first();
  report.host_us_per_step_p50 = ran.clock().steps().percentile(0.50);
  report.host_us_per_step_p99 = ran.clock().steps().percentile(0.99);
  report.publish_us_p50 = ran.clock().publications().percentile(0.50);
  report.peak_rss_mib = peak_rss_mib();
  return report;
}

kvferry::expected<std::unique_ptr<serving_device>> make_device(const serve_options& options,
                                                               const kvferry::configuration& config) {
  if (options.device == device_kind::cuda)
    return make_cuda_device(options);
  return make_host_device(options, config);
}

} // namespace

kvferry::expected<workload> workload_of(const serve_options& options) {
  auto file = find_workload(options.workload);
  if (!file)
    return tl::unexpected(file.error());
  return read_workload(*file, {options.requests_max, options.time_scale, options.skip_bad});
}

kvferry::expected<run_report> serve_workload(const serve_options& options, const workload& requests) {
  auto begin = std::chrono::steady_clock::now();
  auto config = configuration_of(options);
  if (!config)
    return tl::unexpected(config.error());
  if (!options.plant.empty())
    if (auto planted = kvferry::plant_fault(options.plant); !planted)
      return tl::unexpected(planted.error());
  auto device = make_device(options, *config);
  if (!device)
    return tl::unexpected(device.error());
  auto runtime = kvferry::runtime::create(*config, (*device)->interface());
  if (!runtime)
    return tl::unexpected(runtime.error());
  pages::page_layout layout = pages::layout_of(*config);
  auto batch = (*runtime)->create_batch(batch_for(options, requests, layout));
  if (!batch)
    return tl::unexpected(batch.error());

  kvferry::table_view tables = (*batch)->tables();
  pages::mismatch_log log;
  auto steps = (*device)->make_steps({layout, tables, (*runtime)->pools(), log});
  if (!steps)
    return tl::unexpected(steps.error());
  engine engine(options, requests, layout, **runtime, **batch, (*device)->stream(), **steps, log);
  auto ran = engine.run();

  run_report report = report_of(engine, **steps, log, requests);
  report.pages = (*runtime)->take_statistics();
  batch->reset();
  report.left = (*runtime)->shut_down();
  (*device)->report_to(report);
  if (!ran)
    report.stopped_by = ran.error();
  report.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return report;
}

} // namespace serve
