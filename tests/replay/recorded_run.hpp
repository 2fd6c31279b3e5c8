// Runs that are recorded, for tests of what can be done with a record.
#pragma once

#include <string>

#include "examples/serve/options.hpp"

namespace kvferry::test {

/// Request 1 decodes while request 2 still needs the block that they share; it moves when request 2 decodes too, and
/// request 3 gets its GPU slot. Everything in a pool of six GPU slots.
std::string record_of_shared_block();

/// A request's actor dies in the middle of its work.
std::string record_of_death();

/// Request 2 leaves block 2 of request 1 half way: block 3 begins as a copy of it.
std::string record_of_branch();

/// A small workload through kvferry-serve's engine; with events for routers, when so many may wait.
std::string record_of_workload(serve::serve_options options, std::uint32_t requests,
                               std::uint32_t router_events_max = 0);

/// Tight pools, copies that fail, aborts and suspensions: much of what can happen, in few records.
serve::serve_options rough_options();

/// Whatever is in the file.
std::string content_of(const std::filesystem::path& file);

} // namespace kvferry::test
