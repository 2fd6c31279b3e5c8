// The emulated device for the common suite, driven by hand.
#include "tests/device/device_under_test.hpp"

namespace kvferry::test {

namespace {

class host_under_test final : public device_under_test {
public:
  std::shared_ptr<device> runtime_view() override { return gpu_->interface(); }
  stream_id create_stream(std::string_view name) override { return gpu_->create_stream(name); }

  void fill(stream_id stream, page_ref page, std::uint32_t value) override {
    gpu_->launch(stream, "fill", [this, page, value](kernel& k) {
      const auto& buffers = groups[page.group.value()].buffers;
      for (std::uint32_t b = 0; b < buffers.size(); ++b) {
        auto bytes = k.write(page, b, 0, buffers[b].bytes_per_slot);
        for (std::uint64_t i = 0; i < bytes.size(); ++i)
          bytes[i] = pattern(value, b, i);
      }
    });
  }

  std::shared_ptr<const bool> compare(stream_id stream, page_ref page, std::uint32_t value) override {
    auto same = std::make_shared<bool>(false);
    gpu_->launch(stream, "compare", [this, page, value, same](kernel& k) {
      const auto& buffers = groups[page.group.value()].buffers;
      *same = true;
      for (std::uint32_t b = 0; b < buffers.size(); ++b) {
        auto bytes = k.read(page, b, 0, buffers[b].bytes_per_slot);
        for (std::uint64_t i = 0; i < bytes.size(); ++i)
          *same = *same && bytes[i] == pattern(value, b, i);
      }
    });
    return same;
  }

  void hold(stream_id stream) override { gpu_->hold_stream(stream); }
  void release(stream_id stream) override { gpu_->release_stream(stream); }
  void finish() override { gpu_->run_all(); }
  void wait_for(fence until) override { gpu_->run_until(until); }
  bool passed(fence f) override { return gpu_->passed(f); }

  std::vector<std::byte> bytes_at(const std::byte* memory, std::uint64_t count) override {
    return {memory, memory + count};
  }

  std::byte* engine_tensor(std::uint64_t bytes, std::byte filling) override {
    tensors_.push_back(std::vector<std::byte>(bytes, filling));
    return tensors_.back().data();
  }

  void fail_copy(std::uint64_t nth) override { gpu_->fail_copy(nth); }
  void fail_allocation(std::uint64_t nth) override { gpu_->fail_allocation(nth); }

private:
  std::shared_ptr<host_device> gpu_ = host_device::create();
  std::vector<std::vector<std::byte>> tensors_;
};

} // namespace

std::unique_ptr<device_under_test> make_device(std::string*) { return std::make_unique<host_under_test>(); }

} // namespace kvferry::test
