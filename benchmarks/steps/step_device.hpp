// The device that kvferry-step-bench measures on: a GPU, or the emulated one, whose own time is not counted.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "kvferry/error.hpp"
#include "kvferry/ids.hpp"

namespace kvferry {
class device;
}

namespace bench {

class step_device {
public:
  virtual ~step_device() = default;

  /// What the runtime takes.
  virtual std::shared_ptr<kvferry::device> interface() = 0;

  /// A stream of the engine's.
  virtual kvferry::stream_id create_stream() = 0;

  /// Everything enqueued has ended.
  virtual void finish() = 0;

  /// Host µs, median of `rounds`, to copy whole rows of 4 groups x 2,048 entries, 5 bytes each, by two copies a row and
  /// group. None: nothing is copied here.
  virtual std::optional<double> whole_rows_us(std::uint32_t rows, int rounds) = 0;
};

/// Makes a fresh one for each measurement.
using device_maker = std::function<std::unique_ptr<step_device>()>;

device_maker make_host_devices();

/// GPU 0. Errors: `no_device`; in a build without CUDA always.
kvferry::expected<device_maker> make_cuda_devices();

} // namespace bench
