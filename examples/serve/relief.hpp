// What to do when slots run short and waiting has not helped: whom to suspend, whom to close and compute again later.
// The oldest running job is always let through in the end, so something always gets done.
#pragma once

#include <cstdint>

#include "examples/serve/job.hpp"

namespace serve {

struct relief {
  enum class action : std::uint8_t {
    none,    ///< wait: enough may become free by itself
    suspend, ///< its pages may then go to the host
    requeue, ///< close it, and open it again with the tokens that it has so far
    give_up, ///< it does not fit, even alone
  };
  action what = action::none;
  job* whom = nullptr;
};

/// Steps that a job waits for slots before others have to make room.
struct patience {
  std::uint32_t decoding_steps = 8;
  std::uint32_t prefilling_steps = 64; ///< while others decode: their ends make room
  std::uint32_t alone_steps = 64;      ///< with nobody else left, copies may still make room
};

/// Looks for the oldest job that has waited long enough and for what would help it; `live` are all opened jobs.
relief relief_for(job_map& live, const patience& limits = {});

} // namespace serve
