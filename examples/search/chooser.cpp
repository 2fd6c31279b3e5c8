#include "examples/search/chooser.hpp"

#include <algorithm>

#include "examples/pages/mixing.hpp"

namespace search {

std::uint32_t given_schedule::choose(const choice_point& at) {
  while (next_ < deviations_.size() && deviations_[next_].point < at.number)
    ++next_;
  if (next_ == deviations_.size() || deviations_[next_].point != at.number)
    return 0;
  const std::uint32_t option = deviations_[next_++].option;
  return option < at.options.size() ? option : 0;
}

std::uint32_t random_choice::choose(const choice_point& at) {
  constexpr std::uint64_t one_fault_in = 16;
  const auto any = static_cast<std::uint32_t>(random_() % at.options.size());
  return at.options[any].is_fault() && random_() % one_fault_in != 0 ? 0 : any;
}

priority_choice::priority_choice(std::uint64_t seed, std::uint32_t depth, std::uint32_t points_expected)
    : random_(seed), points_expected_(std::max(1u, points_expected)) {
  for (std::uint32_t i = 1; i < depth; ++i)
    change_points_.push_back(static_cast<std::uint32_t>(random_() % points_expected_));
  fault_point_ = static_cast<std::uint32_t>(random_() % points_expected_);
}

/// Of the message's two ends, the stream, the fault; the engine has one priority, whatever it goes on with.
std::uint64_t& priority_choice::priority_of(const option& way) {
  std::uint64_t key = pages::mix(static_cast<std::uint64_t>(way.what), way.number);
  key = pages::mix(pages::mix(key, static_cast<std::uint64_t>(way.from)), static_cast<std::uint64_t>(way.to));
  auto [place, fresh] = priorities_.emplace(key, 0);
  if (fresh)
    place->second = random_() | std::uint64_t{1} << 63; // above all that have fallen
  return place->second;
}

std::uint32_t priority_choice::highest(std::span<const option> ways) {
  std::uint32_t best = 0; // is never a fault
  for (std::uint32_t i = 1; i < ways.size(); ++i)
    if (!ways[i].is_fault() && priority_of(ways[i]) > priority_of(ways[best]))
      best = i;
  return best;
}

std::uint32_t priority_choice::choose(const choice_point& at) {
  const auto faults = std::ranges::count_if(at.options, &option::is_fault);
  if (faults > 0 && at.number >= fault_point_) { // they stand at the end
    fault_point_ = at.number + 1 + static_cast<std::uint32_t>(random_() % points_expected_);
    return static_cast<std::uint32_t>(at.options.size() - 1 - random_() % static_cast<std::uint64_t>(faults));
  }
  for (std::uint32_t change : change_points_)
    if (change == at.number)
      priority_of(at.options[highest(at.options)]) = change_points_.size() - falls_++;
  return highest(at.options);
}

} // namespace search
