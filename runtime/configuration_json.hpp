// Writing a configuration as JSON; reading is in kvferry/configuration.hpp.
#pragma once

#include <string>

#include "kvferry/configuration.hpp"

namespace kvferry {

/// One line, in the order of the structs' fields. Equal configurations give equal bytes on every machine: no record
/// path and no addresses of engine buffers. Reading it gives the same configuration but for those.
std::string to_json_text(const configuration& config);

} // namespace kvferry
