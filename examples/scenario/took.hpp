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
  if (result && wanted)
    find(fmt::format("succeeded, but should be refused with {}", to_string(wanted->code)));
  else if (!result && !wanted)
    find(fmt::format("was refused with {}: {}", to_string(result.error().code), result.error().message));
  else if (!result)
    compare(*wanted, result.error());
  return result.has_value();
}

} // namespace scenarios
