// Stands in for the CUDA device in a build without CUDA.
#include "kvferry/cuda_device.hpp"

namespace kvferry {

expected<int> cuda_device::count() { return fail(error_code::no_device, "kvferry was built without CUDA"); }

expected<std::shared_ptr<cuda_device>> cuda_device::create(int, cuda_device_options) {
  return tl::unexpected(count().error());
}

} // namespace kvferry
