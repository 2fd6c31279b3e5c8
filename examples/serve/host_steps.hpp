// Steps on the emulated GPU: functions stand for kernels.
#pragma once

#include <deque>
#include <memory>

#include "examples/pages/page_writer.hpp"
#include "examples/serve/device_steps.hpp"
#include "examples/serve/verifier.hpp"
#include "kvferry/host_device.hpp"

namespace serve {

class host_steps final : public device_steps {
public:
  /// Everything passed must outlive this.
  host_steps(kvferry::host_device& device, kvferry::stream_id stream, const pages::page_layout& layout,
             const kvferry::table_view& tables, verify_mode mode, pages::mismatch_log& log)
      : device_(device), stream_(stream), layout_(layout), tables_(tables), checks_(layout, tables, mode, log),
        mode_(mode), log_(log) {}

  void launch(pages::step_plan plan) override {
    auto shared = std::make_shared<const pages::step_plan>(std::move(plan));
    device_.launch(stream_, "write_pages", [this, shared](kvferry::kernel& kernel) {
      pages::write_pages(kernel, *shared, tables_, layout_, log_);
    });
    if (mode_ != verify_mode::off)
      device_.launch(stream_, "attention", [this, shared](kvferry::kernel& kernel) { checks_.check(kernel, *shared); });
    in_flight_.push_back(device_.record(stream_));
  }

  void retire_to(std::size_t steps) override {
    for (; in_flight_.size() > steps; in_flight_.pop_front())
      device_.run_until(in_flight_.front());
  }

  void finish() override { device_.run_all(); }

  std::uint64_t emulation_ns() const override { return device_.run_time_ns(); }

  std::uint64_t pages_verified() const override { return checks_.pages_verified(); }

private:
  kvferry::host_device& device_;
  kvferry::stream_id stream_;
  const pages::page_layout& layout_;
  const kvferry::table_view& tables_;
  verifier checks_;
  verify_mode mode_;
  pages::mismatch_log& log_;
  std::deque<kvferry::fence> in_flight_;
};

} // namespace serve
