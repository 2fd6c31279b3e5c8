// Runs a scenario against a runtime on the emulated GPU, step by step: an engine that does what the file says, really
// writes each token's KV, and reads back every page that the published tables name.
//
// A scenario is parsed once and run often. Which message is delivered next is the configuration's matter, not this
// class's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "examples/scenario/scenario.hpp"
#include "kvferry/host_device.hpp"
#include "kvferry/runtime.hpp"

namespace scenarios {

class world;

struct run_options {
  kvferry::configuration config;       ///< that of the scenario, or one with another order or seed
  kvferry::host_device_options device; ///< by hand: when a step says so
  bool check_quiet = true;             ///< also holds the invariants that span actors, after each step

  // -- for searches, in which what a call meets depends on the order of messages

  /// Chooses that order, in place of the configuration; outlives the run. May be null.
  kvferry::delivery_strategy* deliver_by = nullptr;

  /// Whether nothing is on its way, so that the invariants that span actors can be asked for; empty: always.
  std::function<bool()> quiet = {};

  /// Told when the engine begins to wait for everything that is on its way, and when it has; may be empty.
  std::function<void(bool)> waits_for_all = {};

  /// Steps are what the engine would like to do. It waits where waiting helps (loads, copies in flight, publications);
  /// once something was made to go wrong (`disturb`, `kill`) it does without what it is refused, and what follows from
  /// that is no finding.
  bool any_order = false;
};

class runner {
public:
  /// `plan` must outlive this.
  runner(const scenario& plan, run_options options);
  ~runner();

  /// All steps were done. `finish` is left.
  bool done() const { return next_ == plan_.steps.size(); }

  /// How many steps were done.
  std::size_t steps_done() const { return next_; }

  /// Does the next step. REQUIRES: not done.
  void step();

  /// Lets completions in between two steps.
  void poll();

  /// Ends an actor as a crash would, as the step of the same name does.
  void kill(const kill_step& whom);

  /// Something is made to go wrong: from now on the engine does without what it is refused.
  void disturb();

  /// The engine did without a step, and the checks that build on it.
  bool skipped() const;

  /// Rounds in which it waited for a call to be granted.
  std::uint32_t waits() const;

  /// Requests that are open and have an actor, by name.
  std::vector<std::string> living() const;

  /// The end of every scenario: lets go of what is held, reads every row once more, closes what is open, and looks for
  /// what is left. REQUIRES: done.
  void finish();

  /// What did not hold so far; empty: everything did.
  const std::vector<finding>& findings() const;

  /// The page tables as a person can follow them, one line per open request and group.
  std::string page_table();

  /// Null: it could not be made, which is a finding.
  kvferry::runtime* runtime();
  kvferry::host_device& device();

private:
  const scenario& plan_;
  std::unique_ptr<world> world_;
  std::size_t next_ = 0;
};

/// All of it.
std::vector<finding> run_scenario(const scenario& plan, run_options options);

} // namespace scenarios
