// A CAF thread is any thread: every CUDA call of ours is made under one of these. It makes a GPU current, and keeps a
// stream capture that another thread has begun from being broken by our calls; both end with it.
#pragma once

#include <cuda_runtime_api.h>

#include "device/cuda/cuda_error.hpp"

namespace kvferry::cuda {

class current_device {
public:
  explicit current_device(int ordinal) : ordinal_(ordinal) {
    dropped(cudaGetDevice(&before_));
    if (before_ != ordinal_)
      dropped(cudaSetDevice(ordinal_));
    dropped(cudaThreadExchangeStreamCaptureMode(&mode_));
  }

  current_device(const current_device&) = delete;
  current_device& operator=(const current_device&) = delete;

  ~current_device() {
    dropped(cudaThreadExchangeStreamCaptureMode(&mode_));
    if (before_ != ordinal_ && before_ >= 0)
      dropped(cudaSetDevice(before_));
  }

private:
  int ordinal_;
  int before_ = -1;
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

} // namespace kvferry::cuda
