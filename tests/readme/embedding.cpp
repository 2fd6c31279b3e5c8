#include <cstdio>

#include "kvferry/host_device.hpp"
#include "kvferry/runtime.hpp"

int main() {
  kvferry::configuration config;
  config.tokens_per_block = 64;
  config.groups = {{"attention", kvferry::group_kind::sparse, 0, {{"k", 8192}, {"v", 8192}}, 256, 1024}};
  auto gpu = kvferry::host_device::create(); // an emulated GPU
  auto runtime = kvferry::runtime::create(config, gpu->interface()).value();
  auto batch = runtime->create_batch({.rows = 8, .max_blocks = 64}).value();
  auto request = runtime->open(std::vector<kvferry::token>(300, 7)).value().request; // a prompt of 300 tokens

  kvferry::step_input step;
  step.stream = gpu->create_stream("compute");
  step.order = {request};
  step.reserve = {{request, 300}};
  for (std::uint32_t history = 300; history < 700; ++history) {
    runtime->poll();                     // copies that have ended enter here
    auto done = batch->step(step);       // the control work of a step, published
    if (!done || !done->refused.empty()) // errors are values: done.error(), done->refused[0].why
      return 1;
    // The model would use the pages that batch->tables() names.
    gpu->launch(step.stream, "model", [](kvferry::kernel&) {});
    gpu->run_all();
    // For the next step: the KV of `history` tokens is submitted, and token 8 was generated.
    step.advance = {{request, history, {8}, true}};
    step.enter_decode.assign(history == 300, request);
    step.reserve = {{request, history + 1}};
  }
  auto pages = runtime->storage_of(request).value().groups[0];
  std::printf("%u of %zu blocks are on the host\n", pages.history_blocks, pages.blocks.size());
  return pages.history_blocks == 10 ? 0 : 1;
}
