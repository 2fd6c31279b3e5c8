#include "benchmarks/cuda/matrix_load.hpp"

namespace bench {
namespace {

constexpr std::uint32_t tile = 32;

/// One thread an element, tiles of both factors in shared memory. No fast product, but one that fills the GPU.
__global__ void __launch_bounds__(tile* tile) product(const float* a, const float* b, float* c, std::uint32_t size) {
  __shared__ float of_a[tile][tile];
  __shared__ float of_b[tile][tile + 1];
  const std::uint32_t row = blockIdx.y * tile + threadIdx.y;
  const std::uint32_t column = blockIdx.x * tile + threadIdx.x;
  float sum = 0.0f;
  for (std::uint32_t k = 0; k < size; k += tile) {
    of_a[threadIdx.y][threadIdx.x] = a[std::size_t{row} * size + k + threadIdx.x];
    of_b[threadIdx.y][threadIdx.x] = b[std::size_t{k + threadIdx.y} * size + column];
    __syncthreads();
    for (std::uint32_t i = 0; i < tile; ++i)
      sum += of_a[threadIdx.y][i] * of_b[i][threadIdx.x];
    __syncthreads();
  }
  c[std::size_t{row} * size + column] = sum;
}

} // namespace

void launch_matrix_product(const float* a, const float* b, float* c, std::uint32_t size, cudaStream_t stream) {
  product<<<dim3(size / tile, size / tile), dim3(tile, tile), 0, stream>>>(a, b, c, size);
}

} // namespace bench
