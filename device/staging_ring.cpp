#include "device/staging_ring.hpp"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "kvferry/contract.hpp"

namespace kvferry {

staging_ring::staging_ring(device& target, staging_ring_options options) : target_(target), options_(options) {
  KVFERRY_REQUIRE(options.slots_max > 0, "a ring of {} slots", options.slots_max);
}

expected<staging_ring::slot> staging_ring::acquire(std::uint64_t count) {
  std::uint32_t index = find_free(count);
  if (index == slots() && options_.fault_reuse_at_once && !slots_.empty())
    index = 0;
  if (index == options_.slots_max)
    return fail(error_code::out_of_memory,
                fmt::format("staging: the device has not yet read the entries of {} publications, the limit", index));

  // A free slot that is too small is replaced, so that a batch which has grown does not keep a row of small ones.
  if (index == slots() || slots_[index].entries() < count) {
    auto memory = target_.allocate_staging(std::max(std::bit_ceil(count), options_.entries_min) * sizeof(table_entry));
    if (!memory)
      return tl::unexpected(memory.error());
    if (index == slots())
      slots_.emplace_back();
    slots_[index].memory = std::move(*memory);
  }
  buffer& taken = slots_[index];
  taken.is = state::acquired;
  return slot{index, {reinterpret_cast<table_entry*>(taken.memory->data()), count}};
}

void staging_ring::publish(const slot& used, fence read) {
  KVFERRY_REQUIRE(used.index < slots() && slots_[used.index].is == state::acquired, "slot {} of {} is not acquired",
                  used.index, slots());
  slots_[used.index].read = read;
  slots_[used.index].is = state::in_flight;
}

void staging_ring::reclaim(const fence_set& passed) {
  for (buffer& each : slots_)
    if (each.is == state::in_flight && passed.covers(each.read))
      each.is = state::free;
}

std::uint32_t staging_ring::in_flight() const {
  return static_cast<std::uint32_t>(
      std::count_if(slots_.begin(), slots_.end(), [](const buffer& each) { return each.is == state::in_flight; }));
}

std::uint32_t staging_ring::find_free(std::uint64_t count) const {
  std::uint32_t found = slots();
  for (std::uint32_t i = 0; i < slots(); ++i)
    if (slots_[i].is == state::free && (found == slots() || slots_[i].entries() >= count))
      found = i;
  return found;
}

} // namespace kvferry
