// What CUDA calls return, as values: which call, on what, and CUDA's own name for it. A status that stays (a fault of
// the GPU) is cleared as far as it can be and says so.
//
// Used by device/cuda alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "kvferry/error.hpp"

namespace kvferry::cuda {

/// "cudaMalloc: cudaErrorMemoryAllocation (out of memory)".
inline std::string describe(cudaError_t status, std::string_view call) {
  return fmt::format("{}: {} ({})", call, cudaGetErrorName(status), cudaGetErrorString(status));
}

/// Takes the status off the thread, so that the next call does not find it.
inline cudaError_t cleared(cudaError_t status) {
  if (status != cudaSuccess)
    (void)cudaGetLastError();
  return status;
}

/// Success, or an error of `code` that names the call.
inline expected<void> checked(cudaError_t status, std::string_view call, error_code code = error_code::no_device) {
  if (cleared(status) == cudaSuccess)
    return {};
  return fail(code, describe(status, call));
}

/// For destructors: the status is cleared, nothing is said. After the process began to end, or the GPU had a fault,
/// there is nothing else to be done.
inline void dropped(cudaError_t status) noexcept { (void)cleared(status); }

} // namespace kvferry::cuda
