// A benchmark has nothing better to do than to end when a CUDA call fails, and to say which.
#pragma once

#include <cuda_runtime_api.h>

#include "kvferry/contract.hpp"

#define KVFERRY_CUDA_RIGHT(call)                                                                                       \
  do {                                                                                                                 \
    const cudaError_t status_of_call = (call);                                                                         \
    KVFERRY_REQUIRE(status_of_call == cudaSuccess, "{}: {}", #call, cudaGetErrorName(status_of_call));                 \
  } while (false)
