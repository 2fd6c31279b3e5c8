// A difference between replay and record, and a damaged line, for people: both sides, the field in which they part,
// what it concerns, and the chain of causes.
#pragma once

#include "kvferry/trace.hpp"
#include "runtime/trace/replayer.hpp"

namespace kvferry {

replay_difference explain(const trace_file& file, const handling_difference& difference);

/// What replay sends where the damaged line stands. "": it is not known.
std::string explain_damage(const trace_file& file, replayer& replayed);

/// "#17 step 1 page_registry → request_cache/1 advanced {…}", in one line of a bearable length.
std::string summary_of(const trace_record& record);

/// The request and the block that a body names, in the part of it that `path` leads to or else anywhere.
struct concerned {
  request_id request;
  block_id block;
};
concerned concerns_of(const trace_record& record);

} // namespace kvferry
