// Steps on the device: launched in order on one stream, a few in flight, the oldest retired first. Two implementations:
// host_steps.hpp (functions on the emulated GPU) and cuda/cuda_steps.cpp (kernels).
#pragma once

#include <cstddef>
#include <cstdint>

#include "examples/pages/step_plan.hpp"

namespace serve {

class device_steps {
public:
  virtual ~device_steps() = default;

  /// Enqueues the step's kernels: first the new tokens' KV is written, then attention reads all of it.
  virtual void launch(pages::step_plan plan) = 0;

  /// Waits until no more than `steps` are in flight.
  virtual void retire_to(std::size_t steps) = 0;

  /// Waits until nothing is left to do on the device, copies included.
  virtual void finish() = 0;

  /// Host time that went into emulating the device: no cost of kvferry's.
  virtual std::uint64_t emulation_ns() const = 0;

  /// Table entries whose page's bytes were compared. Complete when no step is in flight.
  virtual std::uint64_t pages_verified() const = 0;
};

} // namespace serve
