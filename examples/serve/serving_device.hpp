// The device that a run is served on: the emulated GPU or a real one, with what the run needs of it.
#pragma once

#include <memory>
#include <span>

#include "examples/pages/mismatch_log.hpp"
#include "examples/pages/page_layout.hpp"
#include "examples/serve/device_steps.hpp"
#include "examples/serve/options.hpp"
#include "examples/serve/report.hpp"
#include "kvferry/batch.hpp"
#include "kvferry/pools.hpp"

namespace kvferry {
class device;
}

namespace serve {

/// What kernels are launched with. All of it outlives them.
struct step_inputs {
  const pages::page_layout& layout;
  const kvferry::table_view& tables;
  std::span<const kvferry::group_pools> pools;
  pages::mismatch_log& log;
};

class serving_device {
public:
  virtual ~serving_device() = default;

  /// What the runtime takes.
  virtual std::shared_ptr<kvferry::device> interface() = 0;

  /// The engine's stream.
  virtual kvferry::stream_id stream() const = 0;

  /// Errors: `out_of_memory`.
  virtual kvferry::expected<std::unique_ptr<device_steps>> make_steps(const step_inputs& inputs) = 0;

  /// Adds what the device has seen.
  virtual void report_to(run_report& report) const = 0;
};

std::unique_ptr<serving_device> make_host_device(const serve_options& options, const kvferry::configuration& config);

/// GPU 0. Errors: `no_device`; in a build without CUDA always.
kvferry::expected<std::unique_ptr<serving_device>> make_cuda_device(const serve_options& options);

} // namespace serve
