#include "examples/search/explorer.hpp"

#include <algorithm>
#include <memory>

namespace search {
namespace {

/// A schedule that is still to be run: one deviation behind those of another.
struct branch {
  static constexpr std::uint32_t root = 0xffffffff;
  std::uint32_t before = root;         ///< place in the tree
  deviation added;                     ///< none at the root
  std::shared_ptr<const moment> where; ///< it deviates; null: not among deliveries
};

/// Schedules share their beginnings.
class schedule_tree {
public:
  std::uint32_t add(branch made) {
    branches_.push_back(std::move(made));
    return static_cast<std::uint32_t>(branches_.size() - 1);
  }

  const branch& at(std::uint32_t place) const { return branches_[place]; }

  schedule of(std::uint32_t place) const {
    schedule deviations;
    for (; place != branch::root; place = branches_[place].before)
      deviations.push_back(branches_[place].added);
    std::ranges::reverse(deviations);
    return deviations;
  }

private:
  std::vector<branch> branches_;
};

/// Follows a schedule, then option 0, and notes what else there would have been.
class explorer final : public chooser {
public:
  explorer(schedule deviations, std::unordered_set<std::uint64_t>& visited, foresight& known, bool notes_others)
      : first_new_(deviations.empty() ? 0 : deviations.back().point + 1), given_(std::move(deviations)),
        visited_(visited), known_(known), notes_others_(notes_others) {}

  std::uint32_t choose(const choice_point& at) override {
    last_state = at.state;
    if (at.number < first_new_) {
      on_new_ground_ = at.number + 1 == first_new_;
      return given_.choose(at);
    }
    on_new_ground_ = true;
    if (!visited_.insert(at.state).second)
      throw cut{};
    if (notes_others_)
      note(at);
    return 0;
  }

  bool on_new_ground() const override { return on_new_ground_ || first_new_ == 0; }
  foresight* learns() override { return &known_; }

  std::vector<branch> others; ///< that go another way behind this one; the place in the tree is left
  std::uint64_t last_state = 0;

private:
  void note(const choice_point& at) {
    const auto where = at.now != nullptr ? std::make_shared<const moment>(*at.now) : nullptr;
    for (std::uint32_t option = 1; option < at.options.size(); ++option)
      others.push_back({branch::root, {at.number, option}, where});
  }

  const std::uint32_t first_new_;
  given_schedule given_;
  std::unordered_set<std::uint64_t>& visited_;
  foresight& known_;
  const bool notes_others_;
  bool on_new_ground_ = false;
};

void note(search_result& total, run_result& run) {
  ++total.schedules;
  total.cut += run.was_cut ? 1 : 0;
  total.points_max = std::max(total.points_max, run.points);
  total.deliveries_max = std::max(total.deliveries_max, run.deliveries);
  total.skipped += run.skipped ? 1 : 0;
  total.waited += run.waits > 0 ? 1 : 0;
  total.last_chosen = run.chosen;
  if (!run.findings.empty())
    total.failure = failed_run{std::move(run.chosen), std::move(run.findings)};
}

/// One level of a search after the other.
class level_search {
public:
  level_search(const run_setup& setup, const search_bounds& bounds, coverage& seen, const on_progress& tell,
               std::set<std::uint64_t>* ends)
      : setup_(setup), bounds_(bounds), seen_(seen), tell_(tell), ends_(ends) {}

  search_result run() {
    std::vector<std::uint32_t> level{branch::root}; // all with the same number of deviations
    for (std::uint32_t deviations = 0; !level.empty(); ++deviations) {
      last_level_ = bounds_.deviations == deviations;
      next_.clear();
      for (std::uint32_t place : level) {
        if (total_.schedules == bounds_.budget)
          return std::move(total_);
        if (!is_cut_unrun(place))
          run(place);
        total_.states = visited_.size();
        if (tell_)
          tell_(total_);
        if (total_.failure)
          return std::move(total_);
      }
      total_.complete_deviations = deviations;
      if (last_level_)
        break;
      level.swap(next_);
    }
    total_.complete = true;
    return std::move(total_);
  }

private:
  /// A choice point that a schedule would come to.
  struct point_ahead {
    std::uint64_t state;
    std::uint32_t options;
    moment now;
  };

  /// Do its deliveries lead to where another has been, as far as they are known? Then it counts as if it had been run.
  bool is_cut_unrun(std::uint32_t place) {
    if (!bounds_.looks_ahead || place == branch::root || !tree_.at(place).where)
      return false;
    const deviation by = tree_.at(place).added;
    if (!look_ahead(*tree_.at(place).where, by.option))
      return false;
    run_result unrun;
    unrun.was_cut = true;
    unrun.points = by.point + 2 + static_cast<std::uint32_t>(ahead_.size());
    unrun.waits = now_.waits;
    unrun.chosen = tree_.of(place);
    ++total_.unrun;
    note(total_, unrun);
    for (std::uint32_t i = 0; i < ahead_.size(); ++i) {
      visited_.insert(ahead_[i].state);
      if (last_level_)
        continue;
      const auto where = std::make_shared<const moment>(std::move(ahead_[i].now));
      for (std::uint32_t option = 1; option < ahead_[i].options; ++option)
        next_.push_back(tree_.add({place, {by.point + 1 + i, option}, where}));
    }
    return true;
  }

  /// To a choice point with a state in which another has been; on the way, choice points with new ones (ahead_).
  bool look_ahead(const moment& from, std::uint32_t option) {
    ahead_.clear();
    now_ = from;
    now_.find_heads(heads_);
    if (option >= heads_.size())
      return false;
    for (std::size_t chosen = heads_[option]; known_.deliver(now_, chosen) && !now_.waiting.empty();) {
      now_.find_heads(heads_);
      chosen = heads_.front();
      const std::size_t options = heads_.size() + (now_.can_go_on() ? 1 : 0);
      if (options == 1)
        continue; // no choice
      const std::uint64_t state = now_.value();
      if (visited_.contains(state))
        return true;
      ahead_.push_back({state, static_cast<std::uint32_t>(options), last_level_ ? moment{} : now_});
    }
    return false;
  }

  void run(std::uint32_t place) {
    explorer choose(tree_.of(place), visited_, known_, !last_level_);
    run_result run = run_once(setup_, choose, seen_);
    note(total_, run);
    if (ends_ != nullptr && !run.was_cut)
      ends_->insert(choose.last_state);
    for (branch& other : choose.others) {
      other.before = place;
      next_.push_back(tree_.add(std::move(other)));
    }
  }

  const run_setup& setup_;
  const search_bounds& bounds_;
  coverage& seen_;
  const on_progress& tell_;
  std::set<std::uint64_t>* const ends_;
  search_result total_;
  schedule_tree tree_;
  std::unordered_set<std::uint64_t> visited_; // states at choice points
  foresight known_;
  bool last_level_ = false;
  std::vector<std::uint32_t> next_; // places of the level after this one
  std::vector<point_ahead> ahead_;
  moment now_;                     // in look_ahead; here for its memory
  std::vector<std::size_t> heads_; // too
};

} // namespace

search_result explore(const run_setup& setup, const search_bounds& bounds, coverage& seen, const on_progress& tell,
                      std::set<std::uint64_t>* ends) {
  return level_search(setup, bounds, seen, tell, ends).run();
}

search_result try_some(const run_setup& setup, std::uint64_t budget,
                       const std::function<std::unique_ptr<chooser>(std::uint64_t)>& choose, coverage& seen,
                       const on_progress& tell) {
  search_result total;
  while (total.schedules < budget && !total.failure) {
    const auto by = choose(total.schedules);
    run_result run = run_once(setup, *by, seen);
    note(total, run);
    if (tell)
      tell(total);
  }
  return total;
}

} // namespace search
