// How an error in a configuration reads: the field's path, the value found, what would be right.
#pragma once

#include <string_view>

#include <fmt/format.h>

#include "kvferry/error.hpp"

namespace kvferry {

/// "groups[1].gpu_slots is 0, but must be at least 1"
template <class T>
tl::unexpected<error> wrong_value(std::string_view path, const T& found, std::string_view right) {
  return fail(error_code::invalid_configuration, fmt::format("{} is {}, but must be {}", path, found, right));
}

} // namespace kvferry
