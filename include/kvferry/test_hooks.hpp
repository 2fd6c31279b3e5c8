// Faults that tests plant on purpose, to show that the checks find them.
#pragma once

#include <string_view>

#include "kvferry/error.hpp"

namespace kvferry {

/// Plants the fault of that name in every runtime made from now on; "none" takes it away. Process-wide.
/// Errors: invalid_argument: no such fault (the message names them), or a build without KVFERRY_TEST_HOOKS.
expected<void> plant_fault(std::string_view name);

} // namespace kvferry
