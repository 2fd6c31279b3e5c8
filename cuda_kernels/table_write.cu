#include "cuda_kernels/table_write.hpp"

#include <algorithm>

namespace kvferry::cuda_kernels {

namespace {

constexpr std::uint32_t threads = 256;

template <std::uint32_t Capacity>
struct word_list {
  table_word at[Capacity];
};

__device__ void write(std::byte* tables, const table_word& word) {
  std::byte* to = tables + (word.place & ((std::uint64_t{1} << 56) - 1));
  switch (word.place >> 56) {
  case 1: *reinterpret_cast<std::uint8_t*>(to) = static_cast<std::uint8_t>(word.value); break;
  case 4: *reinterpret_cast<std::uint32_t*>(to) = static_cast<std::uint32_t>(word.value); break;
  case 8: *reinterpret_cast<std::uint64_t*>(to) = word.value; break;
  default: __trap(); // checked when enqueued
  }
}

template <std::uint32_t Capacity>
__global__ void __launch_bounds__(threads)
    write_by_value(const __grid_constant__ word_list<Capacity> words, std::byte* tables, std::uint32_t count) {
  if (threadIdx.x < count)
    write(tables, words.at[threadIdx.x]);
}

__global__ void __launch_bounds__(threads)
    write_from_memory(const table_word* words, std::byte* tables, std::uint64_t count) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * threads + threadIdx.x;
  if (i < count)
    write(tables, words[i]);
}

template <std::uint32_t Capacity>
void launch_by_value(std::byte* tables, std::span<const table_word> words, cudaStream_t stream) {
  word_list<Capacity> list;
  std::copy(words.begin(), words.end(), list.at);
  write_by_value<Capacity><<<1, threads, 0, stream>>>(list, tables, static_cast<std::uint32_t>(words.size()));
}

} // namespace

cudaError_t load_table_writes() {
  cudaFuncAttributes ignored;
  for (cudaError_t status : {cudaFuncGetAttributes(&ignored, write_by_value<16>),
                             cudaFuncGetAttributes(&ignored, write_by_value<words_by_value>),
                             cudaFuncGetAttributes(&ignored, write_from_memory)})
    if (status != cudaSuccess)
      return status;
  return cudaSuccess;
}

cudaError_t write_table_words(std::byte* tables, std::span<const table_word> words, cudaStream_t stream) {
  static_assert(words_by_value <= threads);
  if (words.empty())
    return cudaSuccess;
  if (words.size() <= 16)
    launch_by_value<16>(tables, words, stream);
  else if (words.size() <= words_by_value)
    launch_by_value<words_by_value>(tables, words, stream);
  else
    write_from_memory<<<static_cast<std::uint32_t>((words.size() + threads - 1) / threads), threads, 0, stream>>>(
        words.data(), tables, words.size());
  return cudaGetLastError();
}

} // namespace kvferry::cuda_kernels
