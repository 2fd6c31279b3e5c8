// kvferry-serve --scenario: runs one scenario and prints the page table after each step.
#pragma once

#include "examples/serve/options.hpp"

namespace serve {

/// How many findings there were: 0, all held. Errors: the file is wrong.
kvferry::expected<std::size_t> run_scenario(const serve_options& options);

} // namespace serve
