// Steps on a GPU. What a step needs (its rows, the words of new tokens) is written into pinned memory, copied to the
// GPU in one go and read by the step's kernels; the words of all tokens so far stay there, so that every page can be
// held against them.
#pragma once

#include <deque>
#include <map>
#include <vector>

#include "examples/serve/cuda/gpu_array.hpp"
#include "examples/serve/cuda/step_kernels.hpp"
#include "examples/serve/device_steps.hpp"
#include "examples/serve/options.hpp"
#include "examples/serve/serving_device.hpp"
#include "kvferry/cuda_device.hpp"

namespace serve {

class cuda_steps final : public device_steps {
public:
  /// Everything passed must outlive this. Errors: `out_of_memory`.
  static kvferry::expected<std::unique_ptr<device_steps>> make(kvferry::cuda_device& device, kvferry::stream_id stream,
                                                               const serve_options& options, const step_inputs& inputs);

  ~cuda_steps() override;

  void launch(pages::step_plan plan) override;
  void retire_to(std::size_t steps) override;
  void finish() override;
  std::uint64_t emulation_ns() const override { return 0; }
  std::uint64_t pages_verified() const override { return pages_verified_; }

private:
  /// A step's inputs on both sides; used again when the step has been retired.
  struct upload {
    pinned_array<std::byte> host;
    gpu_array<std::byte> gpu;
  };

  /// Where a request's words are, and how many.
  struct chain_place {
    std::uint32_t slot = 0;
    std::uint32_t known_tokens = 0;
  };

  cuda_steps(kvferry::cuda_device& device, kvferry::stream_id stream, const serve_options& options,
             const step_inputs& inputs)
      : device_(device), stream_(stream), verify_(options.verify != verify_mode::off), layout_(inputs.layout),
        log_(inputs.log), uploads_(options.steps_in_flight + 1) {}

  kvferry::expected<void> prepare(const serve_options& options, const step_inputs& inputs);
  kvferry::expected<void> try_launch(const pages::step_plan& plan);
  kvferry::expected<void> make_room(upload& of, std::size_t bytes);
  void forget_absent(const pages::step_plan& plan);
  gpu_row row_of(const pages::planned_row& row, std::uint32_t words_from);
  void take_findings();
  void note(const kvferry::expected<void>& done);

  kvferry::cuda_device& device_;
  kvferry::stream_id stream_;
  bool verify_;
  const pages::page_layout& layout_;
  pages::mismatch_log& log_;

  gpu_run run_;
  gpu_array<gpu_group> groups_;
  gpu_array<gpu_fragment> fragments_;
  gpu_array<std::uint64_t> chains_;
  gpu_array<std::uint32_t> seen_;
  gpu_array<findings> found_;

  std::vector<upload> uploads_;
  std::uint64_t launched_ = 0;
  std::deque<kvferry::fence> in_flight_;
  std::map<kvferry::request_id, chain_place> places_;
  std::vector<std::uint32_t> free_slots_;
  std::uint64_t mismatches_told_ = 0;
  std::uint64_t pages_verified_ = 0;
};

} // namespace serve
