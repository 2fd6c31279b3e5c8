#include "examples/search/one_run.hpp"

#include <algorithm>

#include "examples/scenario/runner.hpp"
#include "examples/search/foresight.hpp"
#include "kvferry/contract.hpp"
#include "kvferry/test_hooks.hpp"

namespace search {
namespace {

/// More than any run needs by far.
constexpr std::uint32_t deliveries_max = 100'000;

class open_run final : public kvferry::delivery_strategy {
public:
  open_run(const run_setup& setup, chooser& choose, coverage& seen)
      : setup_(setup), choose_(choose), seen_(seen), learns_(choose.learns()), running_(setup.plan, options()) {
    seen_.begin_run();
    if (learns_ != nullptr)
      learns_->begin_run();
  }

  run_result run() {
    try {
      choosing_ = true;
      while (result_.findings.empty() && !running_.done())
        step();
      choosing_ = false;
      running_.device().forget_failures();
      if (result_.findings.empty())
        running_.finish();
      take_findings();
      if (ended_by_fault_ && result_.findings.empty())
        check_ended();
    } catch (const cut&) {
      result_.was_cut = true;
    } catch (const kvferry::contract_failure&) { // run_once names it
    }
    choosing_ = false;
    return std::move(result_);
  }

  // -- kvferry::delivery_strategy

  std::optional<std::size_t> next(std::span<const kvferry::waiting_message> waiting, bool caller_may_go_on) override {
    KVFERRY_REQUIRE(++delivered_ < deliveries_max, "{} messages and no end, {} on their way", delivered_,
                    waiting.size());
    end_handling(waiting, caller_may_go_on);
    for (std::size_t i = now_.waiting.size(); i < waiting.size(); ++i)
      now_.begin_to_wait(waiting[i]);
    std::size_t chosen = 0;
    if (choosing_) {
      now_.caller_may_go_on = caller_may_go_on;
      now_.waits_for_all = waits_for_all_;
      now_.waits = result_.waits;
      now_.find_heads(heads_);
      options_.clear();
      for (std::size_t head : heads_)
        options_.push_back({option::kind::deliver, waiting[head].from, waiting[head].to, 0});
      if (now_.can_go_on())
        options_.push_back({option::kind::go_on});
      const std::uint32_t option = choice(&now_);
      if (option == heads_.size()) {
        something_waits_ = true;
        return std::nullopt;
      }
      chosen = heads_[option];
      ++result_.deliveries;
      if (learns_ != nullptr)
        learns_->begins(now_, chosen);
    }
    now_.take(chosen);
    something_waits_ = false;
    return chosen;
  }

  void handling(kvferry::actor_key who, std::string_view message) noexcept override {
    if (choosing_)
      seen_.handled(who, message);
  }

  void told_engine(kvferry::actor_key from) noexcept override {
    now_.state.told_engine(from);
    if (choosing_ && learns_ != nullptr)
      learns_->told_engine(from);
  }

  void called_device(kvferry::actor_key who, kvferry::stream_id on,
                     std::optional<kvferry::fence> recorded) noexcept override {
    now_.state.called_device(who, on);
    if (choosing_ && learns_ != nullptr)
      learns_->called_device(who, on);
    streams_ = std::max(streams_, on.value() + 1);
    if (recorded && who == storage_)
      copies_.push_back(*recorded);
  }

  void ended(kvferry::actor_key who) noexcept override {
    now_.end(who);
    if (choosing_ && learns_ != nullptr)
      learns_->ended(who);
  }

  void caller_goes_on() noexcept override {
    end_handling({}, std::nullopt);
    now_.engine_goes_on();
  }

private:
  scenarios::run_options options() {
    scenarios::run_options made;
    made.config = setup_.plan.config;
    made.config.scheduler = kvferry::scheduler_kind::stepped;
    made.config.record_path = setup_.record;
    made.deliver_by = this;
    made.any_order = true;
    made.quiet = [this] { return !choosing_; }; // before that it is asked here
    made.waits_for_all = [this](bool waits) { waits_for_all_ = waits; };
    return made;
  }

  /// Among options_.
  std::uint32_t choice(const moment* among_deliveries) {
    if (options_.size() == 1)
      return 0;
    const std::uint32_t number = result_.points++;
    const std::uint32_t chosen = choose_.choose({number, options_, now_.value(), among_deliveries});
    if (chosen != 0)
      result_.chosen.push_back({number, chosen});
    return chosen;
  }

  /// Of the message that was delivered before.
  void end_handling(std::span<const kvferry::waiting_message> waiting, std::optional<bool> caller_may_go_on) {
    if (choosing_ && learns_ != nullptr)
      learns_->done(waiting.subspan(std::min(waiting.size(), now_.waiting.size())), caller_may_go_on);
  }

  /// Whatever is chosen to happen before the scenario's next step, and that step.
  void step() {
    for (;;) {
      options_.assign(1, {option::kind::go_on});
      for (std::uint32_t i = 0; i < streams_; ++i)
        if (running_.device().can_run(kvferry::stream_id{i}))
          options_.push_back({.what = option::kind::run_stream, .number = i});
      if (faults_ < setup_.allowed.at_most)
        add_faults();
      const option chosen = options_[choice(nullptr)];
      now_.state.engine_did(mixed_kind(chosen));
      if (chosen.what == option::kind::go_on)
        break;
      apply(chosen);
      take_findings();
      if (!result_.findings.empty())
        return;
    }
    if (!something_waits_ && choose_.on_new_ground())
      check_quiet();
    running_.step();
    take_findings();
  }

  /// Without which nothing goes on.
  static const std::vector<scenarios::kill_step>& actors() {
    static const std::vector<scenarios::kill_step> all{{{}, {}, "page_registry"},
                                                       {{}, {}, "storage"},
                                                       {{}, {}, "completions"},
                                                       {{}, scenarios::batch_name{scenarios::standard_batch}, {}}};
    return all;
  }

  static std::uint64_t mixed_kind(const option& chosen) {
    return static_cast<std::uint64_t>(chosen.what) << 32 | chosen.number;
  }

  void add_faults() {
    const faults& allowed = setup_.allowed;
    if (allowed.fail_copy)
      options_.push_back({option::kind::fail_copy});
    if (allowed.fail_allocation)
      options_.push_back({option::kind::fail_allocation});
    if (allowed.repeat_completion && !copies_fail_) // one that says "all went well" would be a lie
      for (std::uint64_t i = 0; i < copies_.size(); ++i)
        if (running_.device().passed(copies_[i]))
          options_.push_back({.what = option::kind::repeat, .number = i});
    if (allowed.kill_request)
      for (std::uint64_t i = 0, living = running_.living().size(); i < living; ++i)
        options_.push_back({.what = option::kind::kill_request, .number = i});
    if (allowed.kill_actor)
      for (std::uint64_t i = 0; i < actors().size(); ++i)
        options_.push_back({.what = option::kind::kill_actor, .number = i});
  }

  void apply(const option& chosen) {
    if (chosen.is_fault()) {
      ++faults_;
      running_.disturb();
    }
    switch (chosen.what) {
    case option::kind::deliver:
    case option::kind::go_on: break;
    case option::kind::run_stream:
      running_.device().run_to_fence(kvferry::stream_id{static_cast<std::uint32_t>(chosen.number)});
      return running_.poll();
    case option::kind::fail_copy: copies_fail_ = true; return running_.device().fail_copy(0);
    case option::kind::fail_allocation: return running_.device().fail_allocation(0);
    case option::kind::repeat:
      something_waits_ = true;
      return (void)kvferry::repeat_completion(*running_.runtime(), copies_[chosen.number]);
    case option::kind::kill_request:
      return running_.kill({scenarios::request_name{running_.living()[chosen.number]}, {}, {}});
    case option::kind::kill_actor: ended_by_fault_ = true; return running_.kill(actors()[chosen.number]);
    }
  }

  /// Leaves no trace in the state: whether it was asked for makes no difference to what follows.
  void check_quiet() {
    const moment before = now_;
    choosing_ = false;
    if (running_.runtime() != nullptr)
      if (auto broken = running_.runtime()->check_quiet())
        for (const std::string& what : *broken)
          result_.findings.push_back({running_.steps_done(), "", what});
    choosing_ = true;
    now_ = before;
  }

  /// The death of one of these ends the runtime, and every call says so.
  void check_ended() {
    (void)running_.runtime()->check_quiet(); // it is noticed when the next call ends
    if (running_.runtime()->check_quiet())
      result_.findings.push_back({running_.steps_done(), "", "the runtime goes on after the death of an actor"});
  }

  void take_findings() {
    result_.skipped = running_.skipped();
    result_.waits = running_.waits();
    if (result_.findings.empty())
      result_.findings = running_.findings();
  }

  const kvferry::actor_key storage_ = *kvferry::actor_named("storage");
  const run_setup& setup_;
  chooser& choose_;
  coverage& seen_;
  run_result result_;
  moment now_;
  foresight* const learns_; // null: nobody does
  bool choosing_ = false;
  bool waits_for_all_ = false;
  bool something_waits_ = false; // undelivered
  bool copies_fail_ = false;
  bool ended_by_fault_ = false;
  std::uint32_t delivered_ = 0;        // in all
  std::uint32_t faults_ = 0;           // so far
  std::uint32_t streams_ = 0;          // seen
  std::vector<option> options_;        // of the current point
  std::vector<std::size_t> heads_;     // of options_, the places among the waiting
  std::vector<kvferry::fence> copies_; // submitted
  scenarios::runner running_;          // ends first: it calls this
};

} // namespace

run_result run_once(const run_setup& setup, chooser& choose, coverage& seen) {
  kvferry::contracts_throw contracts;
  run_result result = open_run(setup, choose, seen).run();
  if (contracts.broken()) // whatever else was seen then follows from it
    result.findings.assign(1, {0, "", *contracts.broken()});
  return result;
}

} // namespace search
