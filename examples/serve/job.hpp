// A request as the engine sees it: how far it is, and what it waits for.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "examples/pages/token_chain.hpp"
#include "kvferry/error.hpp"
#include "kvferry/ids.hpp"

namespace serve {

enum class job_state : std::uint8_t {
  waiting,   ///< not opened: just arrived, or closed to make room and to be computed again
  loading,   ///< opened or resumed; its pages are on their way back to the GPU
  running,   ///< in prefill or decode
  suspended, ///< keeps its pages, claims none
};

struct job {
  std::uint32_t number = 0; ///< in the workload; the older one goes first
  job_state state = job_state::waiting;
  kvferry::request_id request;
  bool decoding = false;
  std::uint64_t last_step = 0; ///< that it was part of, from 1; it has had a row since its first

  // In tokens: written ≤ known, reported ≤ written.
  std::shared_ptr<pages::token_chain> chain; ///< of the known tokens
  std::uint32_t known = 0;                   ///< prompt and output so far
  std::uint32_t prefill_end = 0;             ///< known when it was opened; from there on it decodes
  std::uint32_t matched = 0;                 ///< were there when it was opened
  std::uint32_t written = 0;                 ///< their KV is written by steps that were launched
  std::uint32_t reported = 0;                ///< kvferry was told of their KV
  std::uint32_t told = 0;                    ///< kvferry knows these tokens
  std::uint32_t capacity = 0;                ///< have slots
  std::uint32_t outputs_left = 0;

  // What stops it.
  std::uint32_t stalled_steps = 0; ///< steps in a row in which it wanted slots and got none
  std::optional<kvferry::error> stalled_on;
  std::uint64_t rests_until = 0; ///< a suspended job is not resumed before this step

  bool prefilling() const { return state == job_state::running && !decoding && written < prefill_end; }
  bool finished() const { return outputs_left == 0; }

  void stall(const kvferry::error& why) {
    ++stalled_steps;
    stalled_on = why;
  }

  void unstall() {
    stalled_steps = 0;
    stalled_on.reset();
  }
};

/// Jobs by age. Jobs keep their addresses.
using job_map = std::map<std::uint32_t, job>;

} // namespace serve
