#include "examples/search/explorer.hpp"

#include <algorithm>

namespace search {
namespace {

/// A schedule that is still to be run: one deviation behind those of another.
struct branch {
  static constexpr std::uint32_t root = 0xffffffff;
  std::uint32_t before = root; ///< place in the tree
  deviation added;             ///< none at the root
};

/// Schedules share their beginnings.
class schedule_tree {
public:
  std::uint32_t add(branch made) {
    branches_.push_back(made);
    return static_cast<std::uint32_t>(branches_.size() - 1);
  }

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
  explorer(schedule deviations, std::unordered_set<std::uint64_t>& visited)
      : first_new_(deviations.empty() ? 0 : deviations.back().point + 1), given_(std::move(deviations)),
        visited_(visited) {}

  std::uint32_t choose(const choice_point& at) override {
    last_state = at.state;
    if (at.number < first_new_) {
      on_new_ground_ = at.number + 1 == first_new_;
      return given_.choose(at);
    }
    on_new_ground_ = true;
    if (!visited_.insert(at.state).second)
      throw cut{};
    for (std::uint32_t option = 1; option < at.options.size(); ++option)
      others.push_back({at.number, option});
    return 0;
  }

  bool on_new_ground() const override { return on_new_ground_ || first_new_ == 0; }

  std::vector<deviation> others;
  std::uint64_t last_state = 0;

private:
  const std::uint32_t first_new_;
  given_schedule given_;
  std::unordered_set<std::uint64_t>& visited_;
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

} // namespace

search_result explore(const run_setup& setup, const search_bounds& bounds, coverage& seen, const on_progress& tell,
                      std::set<std::uint64_t>* ends) {
  search_result total;
  schedule_tree tree;
  std::unordered_set<std::uint64_t> visited;
  std::vector<std::uint32_t> level{branch::root}; // all with the same number of deviations
  for (std::uint32_t deviations = 0; !level.empty(); ++deviations) {
    const bool last = bounds.deviations == deviations;
    std::vector<std::uint32_t> next;
    for (std::uint32_t place : level) {
      if (total.schedules == bounds.budget)
        return total;
      explorer choose(tree.of(place), visited);
      run_result run = run_once(setup, choose, seen);
      note(total, run);
      if (ends != nullptr && !run.was_cut)
        ends->insert(choose.last_state);
      total.states = visited.size();
      if (tell)
        tell(total);
      if (total.failure)
        return total;
      if (!last)
        for (const deviation& other : choose.others)
          next.push_back(tree.add({place, other}));
    }
    total.complete_deviations = deviations;
    if (last)
      break;
    level = std::move(next);
  }
  total.complete = true;
  return total;
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
