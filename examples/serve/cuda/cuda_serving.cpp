// A run on a GPU.
#include <cstdio>

#include <fmt/format.h>

#include "examples/serve/cuda/cuda_steps.hpp"
#include "examples/serve/serving_device.hpp"

namespace serve {
namespace {

class cuda_serving final : public serving_device {
public:
  static kvferry::expected<std::unique_ptr<serving_device>> make(const serve_options& options) {
    std::unique_ptr<cuda_serving> made(new cuda_serving(options));
    kvferry::cuda_device_options device;
    device.fail_copies = options.fail_copies;
    device.seed = options.seed;
    device.log = [](std::string_view line) { fmt::print(stderr, "{}\n", line); };
    const int ordinal = static_cast<int>(options.gpu);
    auto gpu = kvferry::cuda_device::create(ordinal, device);
    if (!gpu)
      return tl::unexpected(gpu.error());
    if (auto current = cuda_right(cudaSetDevice(ordinal), "cudaSetDevice"); !current) // as an engine has it
      return tl::unexpected(current.error());
    if (auto stream = cuda_right(cudaStreamCreateWithFlags(&made->compute_, cudaStreamNonBlocking), "cudaStreamCreate");
        !stream)
      return tl::unexpected(stream.error());
    made->device_ = *gpu;
    made->stream_ = (*gpu)->register_stream(made->compute_, "compute").value();
    return made;
  }

  ~cuda_serving() override {
    device_.reset();
    if (compute_ != nullptr)
      (void)cudaStreamDestroy(compute_);
  }

  std::shared_ptr<kvferry::device> interface() override { return device_->interface(); }

  kvferry::stream_id stream() const override { return stream_; }

  kvferry::expected<std::unique_ptr<device_steps>> make_steps(const step_inputs& inputs) override {
    return cuda_steps::make(*device_, stream_, options_, inputs);
  }

  void report_to(run_report&) const override {
    const kvferry::copy_counts counts = device_->copies();
    fmt::print(stderr, "{}: {} pages copied by kernels, {} by the copy engine, {} staged; {} refused\n",
               device_->name(), counts.kernel_pages, counts.engine_pages, counts.staged_pages, counts.refused_pages);
  }

private:
  explicit cuda_serving(const serve_options& options) : options_(options) {}

  const serve_options& options_;
  std::shared_ptr<kvferry::cuda_device> device_;
  cudaStream_t compute_ = nullptr;
  kvferry::stream_id stream_;
};

} // namespace

kvferry::expected<std::unique_ptr<serving_device>> make_cuda_device(const serve_options& options) {
  return cuda_serving::make(options);
}

} // namespace serve
