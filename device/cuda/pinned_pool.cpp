#include "device/cuda/pinned_pool.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <sys/mman.h>

#include "kvferry/contract.hpp"

namespace kvferry {

namespace {

constexpr std::uint64_t page_bytes = 4096;

} // namespace

pinned_pool::mapping::~mapping() {
  if (data == nullptr)
    return;
  while (locked > 0)
    locking.unlock(data + --locked * piece_bytes);
  ::munmap(data, bytes);
}

expected<pinned_pool> pinned_pool::make(std::uint64_t bytes, std::uint64_t piece_bytes, std::string_view what,
                                        page_locking locking) {
  KVFERRY_REQUIRE(piece_bytes > 0, "{}: pieces of {} bytes", what, piece_bytes);
  pinned_pool made;
  if (bytes == 0)
    return made;
  void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED)
    return fail(error_code::out_of_memory, fmt::format("{}: {} bytes could not be allocated", what, bytes));
  ::madvise(mapped, bytes, MADV_HUGEPAGE); // a thousand times fewer pages to lock; as good as it can be had
  made.owned_ = std::make_unique<mapping>();
  mapping& owned = *made.owned_;
  owned.data = static_cast<std::byte*>(mapped);
  owned.bytes = bytes;
  owned.piece_bytes = (std::min(piece_bytes, bytes) + page_bytes - 1) / page_bytes * page_bytes;
  owned.locking = std::move(locking);
  const std::uint64_t pieces = (bytes + owned.piece_bytes - 1) / owned.piece_bytes;
  for (; owned.locked < pieces; ++owned.locked) {
    const std::uint64_t begin = owned.locked * owned.piece_bytes;
    std::string refused = owned.locking.lock(owned.data + begin, std::min(owned.piece_bytes, bytes - begin));
    if (!refused.empty())
      return fail(error_code::out_of_memory,
                  fmt::format("{}: {} bytes in {} pieces were to be pinned, {} bytes in {} pieces were got, and are "
                              "given back; {}",
                              what, bytes, pieces, begin, owned.locked, refused));
  }
  return made;
}

} // namespace kvferry
