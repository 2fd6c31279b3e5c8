// Who comes when: turns the workload's requests into jobs as virtual time passes.
#pragma once

#include <cstdint>
#include <optional>

#include "examples/serve/job.hpp"
#include "examples/serve/workload.hpp"

namespace serve {

class arrivals {
public:
  /// `from` must outlive this.
  explicit arrivals(const workload& from) : from_(from) {}

  /// Adds a waiting job for every request that has arrived by `now_us`.
  void take_until(std::int64_t now_us, job_map& waiting) {
    for (; next_ < from_.requests.size() && from_.requests[next_].arrival_us <= now_us; ++next_) {
      job arrived;
      arrived.number = next_;
      arrived.known = from_.requests[next_].prompt_tokens;
      arrived.outputs_left = from_.requests[next_].output_tokens;
      waiting.emplace(next_, std::move(arrived));
    }
  }

  /// When the next one comes; none: all have.
  std::optional<std::int64_t> next_us() const {
    return next_ < from_.requests.size() ? std::optional{from_.requests[next_].arrival_us} : std::nullopt;
  }

private:
  const workload& from_;
  std::uint32_t next_ = 0;
};

} // namespace serve
