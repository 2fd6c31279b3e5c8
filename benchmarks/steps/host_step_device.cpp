// The emulated device: what a step costs beside the driver can be measured anywhere.
#include "benchmarks/steps/step_device.hpp"
#include "kvferry/host_device.hpp"

namespace bench {

namespace {

class host_step_device final : public step_device {
public:
  std::shared_ptr<kvferry::device> interface() override { return device_->interface(); }
  kvferry::stream_id create_stream() override { return device_->create_stream("compute"); }
  void finish() override { device_->run_all(); }
  std::optional<double> whole_rows_us(std::uint32_t, int) override { return std::nullopt; }

private:
  std::shared_ptr<kvferry::host_device> device_ = kvferry::host_device::create({.check = kvferry::order_check::off});
};

} // namespace

device_maker make_host_devices() {
  return [] { return std::make_unique<host_step_device>(); };
}

} // namespace bench
