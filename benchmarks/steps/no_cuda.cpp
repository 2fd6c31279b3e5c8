#include "benchmarks/steps/step_device.hpp"

namespace bench {

kvferry::expected<device_maker> make_cuda_devices() {
  return kvferry::fail(kvferry::error_code::no_device, "this build has no CUDA; use --device host");
}

} // namespace bench
