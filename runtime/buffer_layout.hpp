// Whether the buffers of a configuration can lie in memory: sizes that can be counted, fragments that share no byte.
#pragma once

#include <vector>

#include "kvferry/configuration.hpp"

namespace kvferry {

/// REQUIRES: each group is right in itself.
expected<void> check_layout(const std::vector<group_config>& groups);

} // namespace kvferry
