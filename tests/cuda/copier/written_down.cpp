#include "tests/cuda/copier/written_down.hpp"

#include <cstdlib>
#include <span>

#include "cuda_kernels/page_copy.hpp"

namespace {

struct written_stream {
  std::vector<std::string> words;
};

struct written_event {
  long recorded = 0;
};

long recordings = 0;
bool all_ended = false;

// The runtime's handles are pointers to types of its own that nobody sees.
written_stream& of(cudaStream_t stream) { return *reinterpret_cast<written_stream*>(stream); }
written_event& of(cudaEvent_t event) { return *reinterpret_cast<written_event*>(event); }

cudaError_t write(cudaStream_t stream, const std::string& words) {
  of(stream).words.push_back(words);
  return cudaSuccess;
}

} // namespace

namespace kvferry::test {

const std::vector<std::string>& enqueued_on(cudaStream_t stream) { return of(stream).words; }
void set_all_ended(bool ended) { all_ended = ended; }

} // namespace kvferry::test

extern "C" {

cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorName(cudaError_t) { return "?"; }
const char* cudaGetErrorString(cudaError_t) { return "?"; }

cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode*) { return cudaSuccess; }

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = *greatest = 0;
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
  *stream = reinterpret_cast<cudaStream_t>(new written_stream);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete &of(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = reinterpret_cast<cudaEvent_t>(new written_event);
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete &of(event);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  of(event).recorded = ++recordings;
  return write(stream, "record " + std::to_string(recordings));
}
cudaError_t cudaEventQuery(cudaEvent_t) { return all_ended ? cudaSuccess : cudaErrorNotReady; }
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  return of(event).recorded == 0 ? cudaSuccess : write(stream, "wait " + std::to_string(of(event).recorded));
}

cudaError_t cudaMalloc(void** memory, std::size_t) {
  *memory = std::malloc(1); // nothing is ever written there
  return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
  std::free(memory);
  return cudaSuccess;
}
cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned) {
  *memory = std::malloc(bytes);
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* memory) { return cudaFree(memory); }
cudaError_t cudaHostRegister(void*, std::size_t, unsigned) { return cudaSuccess; }
cudaError_t cudaHostUnregister(void*) { return cudaSuccess; }
cudaError_t cudaMemset(void*, int, std::size_t) { return cudaSuccess; }
cudaError_t cudaMemsetAsync(void*, int, std::size_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaMemcpy(void*, const void*, std::size_t, cudaMemcpyKind) { return cudaSuccess; }

cudaError_t cudaMemcpyAsync(void*, const void*, std::size_t, cudaMemcpyKind, cudaStream_t stream) {
  return write(stream, "copy");
}
cudaError_t cudaMemcpy2DAsync(void*, std::size_t, const void*, std::size_t, std::size_t, std::size_t, cudaMemcpyKind,
                              cudaStream_t) {
  return cudaErrorInvalidValue;
}
#if CUDART_VERSION >= 13000
cudaError_t cudaMemcpyBatchAsync(void* const*, const void* const*, const std::size_t*, std::size_t count,
                                 cudaMemcpyAttributes*, std::size_t*, std::size_t, cudaStream_t stream) {
  return write(stream, "batch " + std::to_string(count));
}
#elif CUDART_VERSION >= 12080
cudaError_t cudaMemcpyBatchAsync(void**, void**, std::size_t*, std::size_t count, cudaMemcpyAttributes*, std::size_t*,
                                 std::size_t, std::size_t*, cudaStream_t stream) {
  return write(stream, "batch " + std::to_string(count));
}
#endif

} // extern "C"

namespace kvferry::cuda_kernels {

cudaError_t gather_pages(const page_memory&, std::span<const page_pair> pages, std::uint32_t, cudaStream_t stream) {
  return write(stream, "kernel " + std::to_string(pages.size()));
}
cudaError_t scatter_pages(const page_memory&, std::span<const page_pair> pages, std::uint32_t, cudaStream_t stream) {
  return write(stream, "kernel " + std::to_string(pages.size()));
}
cudaError_t gather_slots(const page_memory&, std::span<const std::uint32_t> slots, std::uint32_t, cudaStream_t stream) {
  return write(stream, "kernel " + std::to_string(slots.size()));
}
cudaError_t scatter_slots(const page_memory&, std::span<const std::uint32_t> slots, std::uint32_t,
                          cudaStream_t stream) {
  return write(stream, "kernel " + std::to_string(slots.size()));
}

} // namespace kvferry::cuda_kernels
