// Kernels of the GPU tests.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>

namespace kvferry::test {

/// Fills `bytes` bytes with tests/device/rig.hpp's pattern.
void launch_fill(std::byte* at, std::uint64_t bytes, std::uint32_t value, std::uint32_t buffer, cudaStream_t stream);

/// Sets `*differs` (mapped) to 1 when a byte is not the pattern's; leaves it else.
void launch_compare(const std::byte* at, std::uint64_t bytes, std::uint32_t value, std::uint32_t buffer,
                    std::uint32_t* differs, cudaStream_t stream);

/// Runs until `*released` (mapped) is not 0, ten seconds at most: a test that fails must not hang the GPU.
void launch_spin(const volatile std::uint32_t* released, cudaStream_t stream);

/// Breaks the GPU's context.
void launch_fault(cudaStream_t stream);

} // namespace kvferry::test
