#include "device/host/operation_runner.hpp"

#include <array>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "device/host/host_kernel.hpp"
#include "kvferry/contract.hpp"

namespace kvferry {

// The low bytes of a table entry's value are taken as they lie in memory.
static_assert(std::endian::native == std::endian::little);

std::uint64_t staging_checksum(std::span<const table_entry> entries) {
  std::uint64_t sum = entries.size();
  for (const table_entry& entry : entries)
    for (std::uint64_t word : std::bit_cast<std::array<std::uint64_t, 2>>(entry))
      sum = (std::rotl(sum, 23) ^ word) * 0x9E3779B97F4A7C15u;
  return sum | 1u;
}

void operation_runner::run(const operation& next) {
  std::visit([&](const auto& work) { run(next.at, work); }, next.work);
}

void operation_runner::run(const stamp&, const record_point&) {}

// It was at the head of its stream and could be taken: all its fences have passed.
void operation_runner::run(const stamp&, const wait_for&) {}

void operation_runner::run(const stamp& at, const copy_batch& work) {
  auto failing = work.failing.begin();
  for (std::uint32_t i = 0; i < work.copies.size(); ++i) {
    const host_pools::ends copy = pools_.ends_of(work.direction, work.copies[i]);
    checker_.read(at, copy.source);
    checker_.write(at, copy.target, true);

    bool fails = failing != work.failing.end() && *failing == i;
    if (fails)
      ++failing;
    pools_.copy_page(copy, fails);
  }
  if (!work.failing.empty())
    failed_.push_back({{stream_id{at.stream}, at.sequence}, work.failing});
}

void operation_runner::run(const stamp& at, const table_write& work) {
  if (work.checksum != 0 && work.checksum != staging_checksum(work.entries()))
    checker_.report(fmt::format("the staging memory of {} ({} entries) was rewritten before the device read it",
                                checker_.describe(at.stream, at.sequence), work.entries().size()));
  for (const table_entry& entry : work.entries()) {
    std::uint64_t offset = entry.offset;
    std::uint64_t width = entry.width;
    KVFERRY_REQUIRE((width == 1 || width == 4 || width == 8) && offset + width <= work.tables->size_bytes(),
                    "a table entry of {} bytes at {} of {}", width, offset, work.tables->size_bytes());
    std::memcpy(work.tables->data() + offset, &entry.value, width);
  }
}

void operation_runner::run(const stamp& at, const launched& work) {
  host_kernel touching(pools_, checker_, at);
  work.body(touching);
}

} // namespace kvferry
