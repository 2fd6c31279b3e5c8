// Writes changed entries into a batch's tables. Called by device/cuda.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <cuda_runtime_api.h>

namespace kvferry::cuda_kernels {

/// The low `place >> 56` bytes of `value` (1, 4 or 8 of them) go to byte `place & (2^56 - 1)` of the tables.
struct table_word {
  std::uint64_t value = 0;
  std::uint64_t place = 0;
};

/// Up to so many words travel in the kernel's parameters; more are read from where they lie.
inline constexpr std::uint32_t words_by_value = 250;

/// Enqueues one kernel that writes `words` [words] into `tables`. No two words name the same byte, and each place is
/// aligned to its width. More than `words_by_value` must lie in pinned, mapped memory and stay until the kernel has
/// run.
cudaError_t write_table_words(std::byte* tables, std::span<const table_word> words, cudaStream_t stream);

/// Loads the kernels, so that no launch has to.
cudaError_t load_table_writes();

} // namespace kvferry::cuda_kernels
