// Stands in for the CUDA half of kvferry-serve in a build without CUDA.
#include "examples/serve/serving_device.hpp"

namespace serve {

kvferry::expected<std::unique_ptr<serving_device>> make_cuda_device(const serve_options&) {
  return kvferry::fail(kvferry::error_code::no_device, "--device cuda: kvferry was built without CUDA");
}

} // namespace serve
