// A step's control work: what the engine tells and asks kvferry in one call, and what it may launch after the answer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "examples/pages/page_layout.hpp"
#include "examples/pages/step_plan.hpp"
#include "examples/serve/job.hpp"
#include "kvferry/batch.hpp"

namespace serve {

/// A running job in a step: it writes the KV of its tokens up to `until`, once it has slots for them.
struct step_work {
  job* of = nullptr;
  std::uint32_t until = 0;
  std::uint32_t asked_capacity = 0; ///< 0: it has enough
  bool asked_decode = false;
};

class step_control {
public:
  step_control(const pages::page_layout& layout, kvferry::stream_id stream) : layout_(layout), stream_(stream) {}

  /// Forgets the last step.
  void begin();

  /// Closes the job in this step. It keeps its tokens.
  void close(job& which);

  /// Suspends the job in this step.
  void suspend(job& which, std::uint64_t rests_until);

  /// Reports what the last steps wrote, and asks for what running jobs need: one token each for those that decode,
  /// `prefill_tokens` for all prefills together, the oldest first.
  void plan(job_map& live, std::uint32_t prefill_tokens);

  const kvferry::step_input& input() const { return input_; }

  /// Takes the answer: jobs that were refused something do no work in this step. Returns the refusals that no waiting
  /// can help, by job.
  std::vector<std::pair<job*, kvferry::error>> take(const kvferry::step_result& result);

  /// What the kernels of the step get. Marks the work as launched.
  pages::step_plan launch(std::uint64_t step, kvferry::version_number version, const job_map& live);

private:
  void report(job& which);
  void plan_decode(job& which);
  void plan_prefills(job_map& live, std::uint32_t prefill_tokens);
  void add_work(job& which, std::uint32_t until, bool asks_decode);

  const pages::page_layout& layout_;
  kvferry::stream_id stream_;
  kvferry::step_input input_;
  std::vector<step_work> work_; ///< as `input_.order`
};

/// Whether a refused call may be granted later.
bool may_be_granted_later(kvferry::error_code code);

} // namespace serve
