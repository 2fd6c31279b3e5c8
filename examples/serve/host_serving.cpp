// A run on the emulated GPU.
#include "examples/serve/host_steps.hpp"
#include "examples/serve/serving_device.hpp"

namespace serve {
namespace {

kvferry::host_device_options device_options(const serve_options& options, const kvferry::configuration& config) {
  kvferry::host_device_options device;
  // By hand: work runs when the engine waits for a step, not while it calls kvferry.
  device.drive =
      config.order == kvferry::delivery_order::random ? kvferry::drive_mode::random : kvferry::drive_mode::by_hand;
  device.seed = config.seed;
  device.check = options.check_order;
  device.fail_copies = options.fail_copies;
  return device;
}

class host_serving final : public serving_device {
public:
  host_serving(const serve_options& options, const kvferry::configuration& config)
      : options_(options), device_(kvferry::host_device::create(device_options(options, config))) {}

  std::shared_ptr<kvferry::device> interface() override { return device_->interface(); }

  kvferry::stream_id stream() const override { return stream_; }

  kvferry::expected<std::unique_ptr<device_steps>> make_steps(const step_inputs& inputs) override {
    stream_ = device_->create_stream("compute");
    return std::make_unique<host_steps>(*device_, stream_, inputs.layout, inputs.tables, options_.verify, inputs.log);
  }

  void report_to(run_report& report) const override {
    if (options_.check_order == kvferry::order_check::off)
      return;
    report.unordered_accesses = device_->unordered_accesses();
    report.first_unordered = device_->first_unordered();
  }

private:
  const serve_options& options_;
  std::shared_ptr<kvferry::host_device> device_;
  kvferry::stream_id stream_;
};

} // namespace

std::unique_ptr<serving_device> make_host_device(const serve_options& options, const kvferry::configuration& config) {
  return std::make_unique<host_serving>(options, config);
}

} // namespace serve
