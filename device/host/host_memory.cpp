#include "device/host/host_memory.hpp"

#include <cstdlib>

#include <fmt/format.h>
#include <sys/mman.h>

namespace kvferry {

namespace {

// Above this, memory is mapped and never counted against the machine's until it is touched. Below, it is the heap's,
// where AddressSanitizer sees its ends.
constexpr std::uint64_t mapped_from_bytes = 1 << 20;

std::byte* obtain(std::uint64_t bytes) {
  if (bytes < mapped_from_bytes)
    return static_cast<std::byte*>(std::calloc(bytes, 1));
  void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return mapped == MAP_FAILED ? nullptr : static_cast<std::byte*>(mapped);
}

} // namespace

void host_memory::release::operator()(std::byte* bytes) const noexcept {
  if (size < mapped_from_bytes)
    std::free(bytes);
  else
    ::munmap(bytes, size);
}

bool host_memory::contains(const std::byte* at, std::uint64_t size) const {
  auto begin = reinterpret_cast<std::uintptr_t>(data());
  auto address = reinterpret_cast<std::uintptr_t>(at);
  return address >= begin && address - begin <= size_bytes() && size <= size_bytes() - (address - begin);
}

expected<host_memory> host_allocator::allocate(std::uint64_t bytes, std::string_view what) {
  if (bytes == 0)
    return host_memory{};
  std::byte* obtained = failures_.next_fails() ? nullptr : obtain(bytes);
  if (!obtained)
    return fail(error_code::out_of_memory, fmt::format("{}: {} bytes could not be allocated", what, bytes));
  return host_memory{obtained, bytes};
}

} // namespace kvferry
