// A CUDA runtime that runs nothing: each stream is the list of what was enqueued on it, in words, and what was enqueued
// has ended when a test says so. It is linked in place of CUDA's own.
#pragma once

#include <string>
#include <vector>

#include <cuda_runtime_api.h>

namespace kvferry::test {

/// What was enqueued on `stream`: "kernel N" and "batch N" (pages and entries), "copy", "record E" and "wait E" with
/// the number of a recording.
const std::vector<std::string>& enqueued_on(cudaStream_t stream);

/// Whether everything enqueued so far, and from now on, has ended.
void set_all_ended(bool ended);

} // namespace kvferry::test
