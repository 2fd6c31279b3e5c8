// Holds a call's result against what the step says of it. Included by the sources of `world`.
#pragma once

#include <fmt/format.h>

#include "examples/scenario/world.hpp"

namespace scenarios {

template <class T>
void world::must_be(std::string_view what, const std::optional<T>& wanted, const T& got) {
  if (wanted && *wanted != got)
    find(fmt::format("{} is {}, but should be {}", what, got, *wanted));
}

/// True when the call did what it was to do; a refusal that was wanted is no finding.
template <class T>
bool world::took(const kvferry::expected<T>& result, const std::optional<refusal>& wanted) {
  if (wanted && (disturbed_ || !as_planned())) // then it may come or not
    return result.has_value();
  if (wanted && options_.any_order && !result && result.error().numbers) // which shortage is told depends on the order
    return false;
  if (result && wanted)
    find(fmt::format("succeeded, but should be refused with {}", to_string(wanted->code)));
  else if (!result && !wanted && done_without(result.error()))
    skipped_ = true;
  else if (!result && !wanted)
    find(fmt::format("was refused with {}: {}", to_string(result.error().code), result.error().message));
  else if (!result)
    compare(*wanted, result.error());
  return result.has_value();
}

/// Makes a call; under any_order again where an engine would, while waiting can help and no refusal is wanted.
template <class Call>
auto world::patiently(const std::optional<refusal>& wanted, Call call) {
  constexpr int rounds_max = 8;
  auto result = call();
  for (int round = 0; options_.any_order && !wanted && !result && round < rounds_max; ++round) {
    const kvferry::error_code why = result.error().code;
    if (why != kvferry::error_code::copies_in_flight && why != kvferry::error_code::publish_first &&
        why != kvferry::error_code::gpu_full && why != kvferry::error_code::host_full)
      break;
    ++waits_;
    settle();
    publish_all();
    settle();
    result = call();
  }
  return result;
}

} // namespace scenarios
