// A refusal as a scenario asks for it: part of most steps.
//
// This header and those of the steps have each field twice, once in the struct and once in `visit_fields`, which names
// it as the file does; reading and the check for unknown fields follow. A visitor has required(name, value),
// optional(name, value), one_of(name, value, words) and exactly_one(names). An optional that is empty asks for nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "examples/scenario/names.hpp"
#include "kvferry/error.hpp"

namespace scenarios {

/// A refusal that must come: its name, and of its numbers those that are given.
struct refusal {
  kvferry::error_code code = kvferry::error_code::invalid_argument;
  std::optional<group_ref> group;
  std::optional<std::string> on; ///< gpu or host
  std::optional<std::uint32_t> needed, free, in_copy, fenced, unpublished, held;
  std::optional<std::vector<batch_name>> batches; ///< whose publications help, in any order
  std::optional<std::string> says;                ///< a part of the message
};

void visit_fields(auto& v, refusal& s) {
  v.required("code", s.code);
  v.optional("group", s.group);
  v.one_of("on", s.on, {"gpu", "host"});
  v.optional("needed", s.needed);
  v.optional("free", s.free);
  v.optional("in_copy", s.in_copy);
  v.optional("fenced", s.fenced);
  v.optional("unpublished", s.unpublished);
  v.optional("held", s.held);
  v.optional("batches", s.batches);
  v.optional("says", s.says);
}

} // namespace scenarios
