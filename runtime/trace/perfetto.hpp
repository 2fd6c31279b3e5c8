// A trace as a picture for ui.perfetto.dev, in the JSON trace format: a track per actor and per device stream,
// handlings as slices, messages as arrows between them, page moves as spans, versions as instants, free slots and
// deferred blocks as counters.
//
// A trace knows no time: record n is drawn at 10 n microseconds, so what is long in the picture is what much happened
// in.
#pragma once

#include <string>

#include "runtime/trace/trace_file.hpp"

namespace kvferry {

/// The whole JSON text. Counters end where replay and record part.
std::string perfetto_of(const trace_file& file);

} // namespace kvferry
