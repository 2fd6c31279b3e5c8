// A project that knows kvferry by its installed package alone: public headers, and the library. Its GPU pools are
// tensors of its own, K and V of a layer interleaved slot by slot.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "kvferry/host_device.hpp"
#include "kvferry/runtime.hpp"

namespace {

constexpr std::uint32_t gpu_slots = 8;
constexpr std::uint64_t fragment_bytes = 32;

int failed(const char* what, const std::string& why = "") {
  std::printf("%s: %s\n", what, why.c_str());
  return 1;
}

} // namespace

int main() {
  std::vector<std::byte> tensor(gpu_slots * 2 * fragment_bytes);
  auto address_of = [&](std::uint64_t offset) { return reinterpret_cast<std::uint64_t>(tensor.data()) + offset; };
  kvferry::configuration config;
  config.tokens_per_block = 4;
  config.groups = {{"layer 0",
                    kvferry::group_kind::sparse,
                    0,
                    {{"k", fragment_bytes, address_of(0), 2 * fragment_bytes},
                     {"v", fragment_bytes, address_of(fragment_bytes), 2 * fragment_bytes}},
                    gpu_slots,
                    16}};

  auto wrong = config;
  wrong.groups[0].host_slots = 0;
  auto refused = kvferry::validate(wrong);
  if (refused || refused.error().code != kvferry::error_code::invalid_configuration)
    return failed("a sparse group without a host pool was accepted");

  auto gpu = kvferry::host_device::create();
  auto runtime = kvferry::runtime::create(config, gpu->interface());
  if (!runtime)
    return failed("the runtime was refused", runtime.error().message);
  auto batch = (*runtime)->create_batch({.rows = 2, .max_blocks = 4});
  if (!batch)
    return failed("the batch was refused", batch.error().message);
  auto request = (*runtime)->open({1, 2, 3, 4});
  if (!request)
    return failed("the request was refused", request.error().message);

  kvferry::step_input step;
  step.stream = gpu->create_stream("compute");
  step.order = {request->request};
  step.reserve = {{request->request, 4}};
  if (auto done = (*batch)->step(step); !done || !done->refused.empty())
    return failed("the step was refused");
  auto slot = (*runtime)->storage_of(request->request)->groups[0].blocks[0].slot;
  gpu->launch(step.stream, "prefill", [&tensor, slot](kvferry::kernel&) {
    std::fill_n(tensor.begin() + std::ptrdiff_t(slot * 2 * fragment_bytes), 2 * fragment_bytes, std::byte{7});
  });

  step.reserve.clear();
  step.advance = {{request->request, 4, {5}, true}};
  step.enter_decode = {request->request};
  if (auto done = (*batch)->step(step); !done || !done->refused.empty())
    return failed("the second step was refused");
  gpu->run_all();
  (*runtime)->poll();

  auto pages = (*runtime)->storage_of(request->request)->groups[0];
  const kvferry::group_pools& pools = (*runtime)->pools()[0];
  const std::byte* page = pools.host_base + pages.blocks[0].slot * pools.host_slot_bytes;
  if (pages.history_blocks != 1 || std::count(page, page + pools.host_slot_bytes, std::byte{7}) != 2 * fragment_bytes)
    return failed("the block is not on the host");
  if (auto closed = (*runtime)->close(request->request); !closed)
    return failed("the request was not closed", closed.error().message);
  std::printf("a block of the project's own tensor is on the host\n");
  return 0;
}
