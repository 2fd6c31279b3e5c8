// A small continuous-batching engine on kvferry's public interface. Time is virtual: a step takes `step_ms`, and with
// nothing to do it jumps to the next arrival.
//
// What kvferry has to be told and asked each step is in step_control; this is the loop around it (engine.cpp) and who
// is opened, suspended, resumed and closed, and when (engine_admission.cpp).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "examples/pages/mismatch_log.hpp"
#include "examples/serve/arrivals.hpp"
#include "examples/serve/device_steps.hpp"
#include "examples/serve/job.hpp"
#include "examples/serve/options.hpp"
#include "examples/serve/relief.hpp"
#include "examples/serve/step_control.hpp"
#include "examples/serve/timings.hpp"
#include "kvferry/runtime.hpp"

namespace serve {

struct engine_counts {
  std::uint64_t completed = 0;
  std::uint64_t aborted = 0;
  std::uint64_t steps = 0;
  std::uint64_t tokens_decoded = 0;
  std::uint64_t suspended = 0; ///< times
  std::uint64_t requeued = 0;  ///< times a request was closed to make room, and computed again
  std::map<std::string, std::uint64_t> abort_reasons;
};

class engine {
public:
  /// Everything passed must outlive this.
  engine(const serve_options& options, const workload& requests, const pages::page_layout& layout,
         kvferry::runtime& runtime, kvferry::batch& batch, kvferry::stream_id stream, device_steps& steps,
         pages::mismatch_log& log);

  /// Serves all requests. Ends early with an error that no engine can do anything about.
  kvferry::expected<void> run();

  const engine_counts& counts() const { return counts_; }
  const call_clock& clock() const { return clock_; }

private:
  kvferry::expected<void> run_step();
  bool done() const;
  void advance_time();
  void note_ready(const std::vector<kvferry::ready_request>& ready);
  void close_finished();
  void disturb();
  kvferry::expected<void> take(const kvferry::step_result& result);
  void launch(kvferry::version_number version);
  void produce_tokens();
  void check_when_quiet();
  void drain();

  void make_room();
  kvferry::expected<void> resume_suspended();
  kvferry::expected<void> admit();
  kvferry::expected<bool> open_oldest();
  void give_up_waiting(const std::string& reason);
  void suspend(job& which);
  void requeue(job& which);
  void abort(job& which, const std::string& reason);
  void close(job& which);

  const serve_options& options_;
  const workload& requests_;
  const pages::page_layout& layout_;
  kvferry::runtime& runtime_;
  kvferry::batch& batch_;
  device_steps& steps_;
  pages::mismatch_log& log_;
  call_clock clock_;
  step_control control_;
  arrivals arrivals_;

  job_map waiting_;                                             ///< not opened
  job_map live_;                                                ///< opened
  std::vector<std::uint32_t> lost_;                             ///< to be computed again: part of their pages is gone
  std::vector<std::pair<std::uint32_t, std::string>> hopeless_; ///< to be aborted, and why
  std::uint64_t step_ = 0;
  std::uint64_t relief_at_step_ = 0; ///< not before: what was done last needs time to help
  std::uint64_t progress_step_ = 0;  ///< the last step that wrote a token
  engine_counts counts_;
};

} // namespace serve
