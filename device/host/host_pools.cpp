#include "device/host/host_pools.hpp"

#include <cstring>

#include <fmt/format.h>

#include "device/pool_extent.hpp"
#include "kvferry/contract.hpp"

namespace kvferry {

expected<host_pools> host_pools::make(const configuration& config, host_allocator& allocator) {
  host_pools made;
  for (std::size_t i = 0; i < config.groups.size(); ++i)
    if (auto added = made.add_group(config.groups[i], i, allocator); !added)
      return tl::unexpected(added.error());
  return made;
}

expected<void> host_pools::add_group(const group_config& group, std::size_t index, host_allocator& allocator) {
  group_pools pools;
  pools.gpu_slots = group.gpu_slots;
  pools.host_slots = group.host_slots;
  layout places;
  places.slots = {group.gpu_slots, group.host_slots};

  for (std::size_t i = 0; i < group.buffers.size(); ++i) {
    const buffer_config& buffer = group.buffers[i];
    std::uint64_t stride = stride_of(buffer);
    std::string path = fmt::format("groups[{}].buffers[{}]", index, i);
    KVFERRY_REQUIRE(stride >= buffer.bytes_per_slot, "{}: stride {} of fragments of {} bytes", path, stride,
                    buffer.bytes_per_slot);
    auto bytes = extent_bytes(path, group.gpu_slots, stride, buffer.bytes_per_slot);
    if (!bytes)
      return tl::unexpected(bytes.error());
    if (__builtin_add_overflow(pools.host_slot_bytes, buffer.bytes_per_slot, &pools.host_slot_bytes))
      return fail(error_code::invalid_configuration, path + ": a page's bytes are more than 64 bit hold");

    // An engine names its tensor by address. NOLINTNEXTLINE(performance-no-int-to-ptr)
    auto* base = reinterpret_cast<std::byte*>(buffer.base_address);
    if (!base) {
      auto memory = allocator.allocate(*bytes, gpu_memory_name(index, i, group.gpu_slots));
      if (!memory)
        return tl::unexpected(memory.error());
      base = memory->data();
      memory_.push_back(std::move(*memory));
    }
    pools.buffers.push_back({base, stride, buffer.bytes_per_slot});
    places.fragments.push_back({buffer.bytes_per_slot, {place{base, stride}, place{}}});
  }

  auto bytes = extent_bytes(fmt::format("groups[{}].host_slots", index), group.host_slots, pools.host_slot_bytes,
                            pools.host_slot_bytes);
  if (!bytes)
    return tl::unexpected(bytes.error());
  auto memory = allocator.allocate(*bytes, host_memory_name(index, group.host_slots));
  if (!memory)
    return tl::unexpected(memory.error());
  pools.host_base = memory->data();
  memory_.push_back(std::move(*memory));

  std::uint64_t offset = 0;
  for (fragment& of : places.fragments) {
    of.on[1] = {pools.host_base ? pools.host_base + offset : nullptr, pools.host_slot_bytes};
    offset += of.bytes;
  }
  groups_.push_back(std::move(pools));
  layouts_.push_back(std::move(places));
  return {};
}

host_pools::ends host_pools::ends_of(copy_direction direction, const page_copy& copy) const {
  const page_ref gpu{copy.group, tier::gpu, copy.gpu.value()};
  const page_ref other = direction == copy_direction::within_gpu ? page_ref{copy.group, tier::gpu, copy.from.value()}
                                                                 : page_ref{copy.group, tier::host, copy.host.value()};
  KVFERRY_REQUIRE(copy.group.value() < layouts_.size(), "copy of group {} of {}", copy.group.value(), layouts_.size());
  const auto& slots = layouts_[copy.group.value()].slots;
  const auto of = [&](page_ref page) { return slots[static_cast<std::size_t>(page.tier)]; };
  KVFERRY_REQUIRE(gpu.slot < of(gpu) && other.slot < of(other),
                  "copy between gpu slot {} of {} and {} slot {} of {} of group {}", gpu.slot, of(gpu),
                  other.tier == tier::gpu ? "gpu" : "host", other.slot, of(other), copy.group.value());
  return direction == copy_direction::to_host ? ends{gpu, other} : ends{other, gpu};
}

void host_pools::copy_page(const ends& copy, bool spoiled) const {
  for (const fragment& of : layouts_[copy.source.group.value()].fragments) {
    std::byte* target = start(copy.target, of);
    std::memmove(target, start(copy.source, of), of.bytes); // a page copied onto itself is harmless
    for (std::uint64_t i = spoiled ? of.bytes / 2 : of.bytes; i < of.bytes; ++i)
      target[i] = ~target[i];
  }
}

void host_pools::refuse(page_ref page, std::uint32_t buffer, std::uint64_t offset, std::uint64_t size) const {
  bool known = page.group.value() < layouts_.size() && static_cast<std::size_t>(page.tier) < tiers;
  const layout none;
  const layout& of = known ? layouts_[page.group.value()] : none;
  KVFERRY_REQUIRE(false, "access to group {} of {}, tier {}, slot {} of {}, buffer {} of {}, bytes [{}, {} + {}) of {}",
                  page.group.value(), layouts_.size(), static_cast<unsigned>(page.tier), page.slot,
                  known ? of.slots[static_cast<std::size_t>(page.tier)] : 0, buffer, of.fragments.size(), offset,
                  offset, size, buffer < of.fragments.size() ? of.fragments[buffer].bytes : 0);
  std::abort();
}

} // namespace kvferry
