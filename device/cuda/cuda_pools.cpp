#include "device/cuda/cuda_pools.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "device/pool_extent.hpp"

namespace kvferry::cuda {

namespace {

page_locking locking_for(int ordinal) {
  return {[ordinal](std::byte* piece, std::uint64_t bytes) -> std::string {
            current_device current(ordinal);
            cudaError_t status =
                cleared(cudaHostRegister(piece, bytes, cudaHostRegisterPortable | cudaHostRegisterMapped));
            return status == cudaSuccess ? std::string{} : describe(status, "cudaHostRegister");
          },
          [ordinal](std::byte* piece) {
            current_device current(ordinal);
            dropped(cudaHostUnregister(piece));
          }};
}

class group_maker {
public:
  group_maker(const group_config& group, std::size_t index, const pool_options& options)
      : group_(group), index_(index), options_(options) {}

  expected<group_memory> make() {
    made_.pools.gpu_slots = group_.gpu_slots;
    made_.pools.host_slots = group_.host_slots;
    for (std::size_t i = 0; i < group_.buffers.size(); ++i)
      if (auto added = add_buffer(i); !added)
        return tl::unexpected(added.error());
    if (auto added = add_host(); !added)
      return tl::unexpected(added.error());
    made_.shape.page_bytes = made_.pools.host_slot_bytes;
    made_.shape.fragments = static_cast<std::uint32_t>(made_.fragments.size());
    made_.shape.dense = made_.fragments.size() == 1 && made_.fragments[0].stride_bytes == made_.fragments[0].bytes;
    if (auto added = add_chunks(); !added)
      return tl::unexpected(added.error());
    return std::move(made_);
  }

private:
  expected<gpu_memory> allocate(std::uint64_t bytes, const std::string& what) {
    if (bytes != 0 && options_.failures->next_fails())
      return fail(error_code::out_of_memory, fmt::format("{}: {} bytes could not be allocated", what, bytes));
    return gpu_memory::allocate(options_.ordinal, bytes, what);
  }

  expected<void> add_buffer(std::size_t i) {
    const buffer_config& buffer = group_.buffers[i];
    const std::string path = fmt::format("groups[{}].buffers[{}]", index_, i);
    group_memory::fragment added{nullptr, stride_of(buffer), buffer.bytes_per_slot, made_.pools.host_slot_bytes};
    KVFERRY_REQUIRE(added.stride_bytes >= added.bytes, "{}: stride {} of fragments of {} bytes", path,
                    added.stride_bytes, added.bytes);
    auto bytes = extent_bytes(path, group_.gpu_slots, added.stride_bytes, added.bytes);
    if (!bytes)
      return tl::unexpected(bytes.error());
    if (__builtin_add_overflow(made_.pools.host_slot_bytes, added.bytes, &made_.pools.host_slot_bytes))
      return fail(error_code::invalid_configuration, path + ": a page's bytes are more than 64 bit hold");
    // An engine names its tensor by address. NOLINTNEXTLINE(performance-no-int-to-ptr)
    added.base = reinterpret_cast<std::byte*>(buffer.base_address);
    if (added.base == nullptr) {
      auto memory = allocate(*bytes, gpu_memory_name(index_, i, group_.gpu_slots));
      if (!memory)
        return tl::unexpected(memory.error());
      added.base = memory->data();
      made_.gpu.push_back(std::move(*memory));
    }
    made_.pools.buffers.push_back({added.base, added.stride_bytes, added.bytes});
    made_.fragments.push_back(added);
    return {};
  }

  expected<void> add_host() {
    auto bytes = extent_bytes(fmt::format("groups[{}].host_slots", index_), group_.host_slots,
                              made_.pools.host_slot_bytes, made_.pools.host_slot_bytes);
    if (!bytes)
      return tl::unexpected(bytes.error());
    const std::string what = host_memory_name(index_, group_.host_slots);
    if (*bytes != 0 && options_.failures->next_fails())
      return fail(error_code::out_of_memory, fmt::format("{}: {} bytes could not be allocated", what, *bytes));
    auto memory = pinned_pool::make(*bytes, options_.pinned_piece_bytes, what, locking_for(options_.ordinal));
    if (!memory)
      return tl::unexpected(memory.error());
    if (options_.log && *bytes != 0)
      options_.log(fmt::format("{}: {} bytes pinned in {} pieces", what, *bytes, memory->pieces()));
    made_.host = std::move(*memory);
    made_.pools.host_base = made_.host.data();
    return {};
  }

  /// The list from which kernels work.
  expected<void> add_chunks() {
    std::vector<cuda_kernels::page_chunk> chunks;
    for (const group_memory::fragment& of : made_.fragments)
      for (std::uint64_t begin = 0; begin < of.bytes; begin += cuda_kernels::chunk_bytes_max)
        chunks.push_back(
            {of.base + begin, of.stride_bytes, of.blob_offset + begin,
             static_cast<std::uint32_t>(std::min<std::uint64_t>(cuda_kernels::chunk_bytes_max, of.bytes - begin))});
    const std::uint64_t bytes = chunks.size() * sizeof(cuda_kernels::page_chunk);
    auto memory = gpu_memory::allocate(options_.ordinal, bytes, fmt::format("GPU memory of groups[{}]'s list", index_));
    if (!memory)
      return tl::unexpected(memory.error());
    current_device current(options_.ordinal);
    cudaError_t status =
        cudaMemcpyAsync(memory->data(), chunks.data(), bytes, cudaMemcpyHostToDevice, cudaStreamPerThread);
    if (status == cudaSuccess)
      status = cudaStreamSynchronize(cudaStreamPerThread);
    if (auto copied = checked(status, "cudaMemcpyAsync", error_code::out_of_memory); !copied)
      return copied;
    made_.chunks = std::move(*memory);
    made_.chunks_per_page = static_cast<std::uint32_t>(chunks.size());
    return {};
  }

  const group_config& group_;
  std::size_t index_;
  const pool_options& options_;
  group_memory made_;
};

} // namespace

expected<std::vector<group_memory>> make_group_memories(const configuration& config, const pool_options& options) {
  std::vector<group_memory> made;
  for (std::size_t i = 0; i < config.groups.size(); ++i) {
    auto group = group_maker(config.groups[i], i, options).make();
    if (!group)
      return tl::unexpected(group.error());
    made.push_back(std::move(*group));
  }
  return made;
}

} // namespace kvferry::cuda
