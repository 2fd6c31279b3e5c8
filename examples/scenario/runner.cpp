#include "examples/scenario/runner.hpp"

#include "examples/scenario/world.hpp"
#include "kvferry/contract.hpp"

namespace scenarios {

runner::runner(const scenario& plan, run_options options)
    : plan_(plan), world_(std::make_unique<world>(std::move(options))) {}

runner::~runner() = default;

void runner::step() {
  KVFERRY_REQUIRE(!done(), "all {} steps were done", plan_.steps.size());
  const numbered_step& next = plan_.steps[next_++];
  world_->begin_step(next_, next.text);
  std::visit(
      [&]<class Step>(const Step& what) {
        if constexpr (requires { Step::only_looks; })
          if (!world_->as_planned())
            return; // it expects what can no longer be
        world_->run(what);
      },
      next.what);
  world_->end_step();
}

void runner::poll() {
  world_->begin_step(next_, "between steps");
  world_->poll();
  world_->end_step();
}

void runner::kill(const kill_step& whom) {
  world_->begin_step(next_, "between steps");
  world_->run(whom);
}

void runner::disturb() { world_->disturb(); }
bool runner::skipped() const { return world_->skipped(); }
std::uint32_t runner::waits() const { return world_->waits(); }
std::vector<std::string> runner::living() const { return world_->living(); }

void runner::finish() {
  KVFERRY_REQUIRE(done(), "{} of {} steps were done", next_, plan_.steps.size());
  world_->begin_step(next_ + 1, "the end");
  world_->finish();
}

const std::vector<finding>& runner::findings() const { return world_->findings(); }
std::string runner::page_table() { return world_->page_table(); }
kvferry::runtime* runner::runtime() { return world_->runtime(); }
kvferry::host_device& runner::device() { return world_->device(); }

std::vector<finding> run_scenario(const scenario& plan, run_options options) {
  runner running(plan, std::move(options));
  while (!running.done())
    running.step();
  running.finish();
  return running.findings();
}

} // namespace scenarios
