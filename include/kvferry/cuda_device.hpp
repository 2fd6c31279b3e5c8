// An NVIDIA GPU as kvferry's device. Streams are the engine's own, given as opaque handles; pools may be the engine's
// own tensors. No CUDA header is needed to use this, and a library built without CUDA says so when a device is asked
// for.
//
// For engines, examples and benchmarks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "kvferry/error.hpp"
#include "kvferry/fence.hpp"
#include "kvferry/ids.hpp"

namespace kvferry {

class device;

/// What page copies cost on one machine, by direction. From these the way of each copy is picked. The defaults were
/// measured on an H200 behind PCIe Gen5 x16.
struct copy_costs {
  struct direction {
    double link_bytes_per_us = 55'300;   ///< one long copy by the copy engine
    double kernel_bytes_per_us = 51'400; ///< a kernel that reads or writes mapped host memory
    double engine_op_us = 0.77;          ///< each entry of a batch for the copy engine, beside its bytes
    double engine_submit_us = 0.5;       ///< each entry, of the caller's time
    double engine_start_us = 9.0;        ///< submitted to completed, without the bytes: copy engine
    double kernel_start_us = 10.0;       ///< kernel over mapped memory
    double staged_start_us = 15.0;       ///< gather or scatter on the device, and the copy engine
  };
  direction to_host;
  direction to_gpu{.kernel_bytes_per_us = 50'900};
};

/// How a page copy goes.
enum class copy_way : std::uint8_t {
  kernel, ///< a kernel reads and writes the pages; the host's through mapped memory
  engine, ///< the copy engine, one entry for each fragment; also a share of many large pages beside a kernel
  staged, ///< the copy engine between runs of host slots and a buffer on the GPU; a kernel between that and the pages
};

struct cuda_device_options {
  std::uint64_t pinned_piece_bytes = std::uint64_t{1} << 30; ///< host pools are registered in pieces of this size

  /// Page copies are enqueued up to so many bytes in each direction; the rest follows when earlier ones have ended,
  /// with any call that asks what has passed. The driver takes 4 GiB or so before it holds its caller.
  std::uint64_t copies_in_flight_bytes_max = std::uint64_t{2} << 30;

  bool calibrate = true;           ///< measure `copy_costs` when the device is made, in less than 200 ms
  std::optional<copy_costs> costs; ///< given: nothing is measured
  std::optional<copy_way> only;    ///< for benchmarks and tests: every copy that can go this way does

  double fail_copies = 0.0; ///< chance that a page copy is left out and told as failed, by seed
  std::uint64_t seed = 1;

  /// Gets a line for what is worth a line: calibration, memory that was registered, a device that was lost.
  std::function<void(std::string_view)> log;
};

/// How many pages went which way.
struct copy_counts {
  std::uint64_t kernel_pages = 0;
  std::uint64_t engine_pages = 0;
  std::uint64_t staged_pages = 0;
  std::uint64_t refused_pages = 0; ///< the driver would not take them; told as failed
};

/// Calls may come from any thread, whatever its current device. None waits for the GPU but those that say so.
///
/// When the GPU has a fault, every copy in flight fails, every fence passes, later work is dropped, and `poll` of the
/// interface says `device_lost`. The process cannot use this GPU any more.
class cuda_device {
public:
  /// GPUs of this machine that CUDA can use. Errors: `no_device`, which says why.
  static expected<int> count();

  /// Errors: `no_device` (none of this ordinal, or kvferry was built without CUDA), `out_of_memory`.
  static expected<std::shared_ptr<cuda_device>> create(int ordinal, cuda_device_options options = {});

  /// Waits for work in flight, ten seconds at most; what is still used then is left allocated.
  virtual ~cuda_device() = default;

  /// The interface that a runtime takes. Lives as long as this.
  virtual std::shared_ptr<device> interface() = 0;

  virtual int ordinal() const = 0;

  /// E.g. "NVIDIA H200".
  virtual std::string name() const = 0;

  /// Names a stream of the engine, a `cudaStream_t` of this GPU, so that it can be passed to kvferry. It stays the
  /// engine's and must outlive this. Null is the default stream. Errors: `invalid_argument` (a stream of another GPU).
  virtual expected<stream_id> register_stream(void* stream, std::string_view name) = 0;

  /// Makes a non-blocking stream that lives as long as this.
  virtual stream_id create_stream(std::string_view name) = 0;

  /// The `cudaStream_t` of a stream.
  virtual void* handle(stream_id stream) const = 0;

  /// Enqueues a position on `stream` and names it. REQUIRES: the stream is not being captured.
  virtual fence record(stream_id stream) = 0;

  /// Orders later work on `stream` after `fences`. REQUIRES: all were recorded.
  virtual void wait(stream_id stream, const fence_set& fences) = 0;

  /// REQUIRES: `f` was recorded.
  virtual bool passed(fence f) = 0;

  /// Blocks the caller until `until` has passed. REQUIRES: it was recorded.
  virtual void wait_for(fence until) = 0;

  /// Blocks the caller until nothing is left to do on any stream known here.
  virtual void finish() = 0;

  /// Measured, given or by default.
  virtual const copy_costs& costs() const = 0;

  virtual copy_counts copies() const = 0;

  /// The n-th page copy from now (0: the next) is left out and told as failed; also repeatedly.
  virtual void fail_copy(std::uint64_t nth) = 0;

  /// The n-th allocation from now fails with `out_of_memory`.
  virtual void fail_allocation(std::uint64_t nth) = 0;

  /// The n-th piece of a page copy from now is submitted in a form that the driver refuses.
  virtual void refuse_submission(std::uint64_t nth) = 0;
};

} // namespace kvferry
