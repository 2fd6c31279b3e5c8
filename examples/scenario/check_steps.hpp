// What a scenario can say must hold (docs/scenarios.md), checked by check_steps.cpp.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "examples/scenario/refusal.hpp"

namespace scenarios {

/// Where a request's blocks are, by ordinal.
struct pages_step {
  static constexpr std::string_view word = "pages";
  static constexpr bool only_looks = true;
  request_name request;
  group_ref group;
  std::vector<place> places;
  std::optional<std::uint32_t> history; ///< history blocks
};

void visit_fields(auto& v, pages_step& s) {
  v.required("request", s.request);
  v.optional("group", s.group);
  v.required("places", s.places);
  v.optional("history", s.history);
}

/// What the device's tables show of a request.
struct published_step {
  static constexpr std::string_view word = "published";
  static constexpr bool only_looks = true;
  request_name request;
  batch_name batch;
  group_ref group;
  bool row = true;           ///< false: no row is the request's
  std::vector<place> places; ///< the row's first entries; all behind them are empty
  std::uint32_t history = 0; ///< num_blocks
};

void visit_fields(auto& v, published_step& s) {
  v.required("request", s.request);
  v.optional("batch", s.batch);
  v.optional("group", s.group);
  v.optional("row", s.row);
  v.optional("places", s.places);
  v.optional("history", s.history);
}

struct remember_step {
  static constexpr std::string_view word = "remember";
  static constexpr bool only_looks = true;
  place_name as;
  group_ref group;
  owned_block block;
};

void visit_fields(auto& v, remember_step& s) {
  v.required("as", s.as);
  v.optional("group", s.group);
  v.required("block", s.block);
}

struct same_page_step {
  static constexpr std::string_view word = "same_page";
  static constexpr bool only_looks = true;
  group_ref group;
  std::vector<block_or_place> blocks;
  bool same = true; ///< false: no two of them
};

void visit_fields(auto& v, same_page_step& s) {
  v.optional("group", s.group);
  v.required("blocks", s.blocks);
  v.optional("same", s.same);
}

struct blockers_step {
  static constexpr std::string_view word = "blockers";
  static constexpr bool only_looks = true;
  request_name request;
  group_ref group;
  std::uint32_t ordinal = 0;
  std::vector<request_name> requests; ///< in any order
  std::vector<std::string> causes;    ///< host_full, copy_failed, copy_under_way
};

void visit_fields(auto& v, blockers_step& s) {
  v.required("request", s.request);
  v.optional("group", s.group);
  v.required("ordinal", s.ordinal);
  v.optional("requests", s.requests);
  v.one_of("causes", s.causes, {"host_full", "copy_failed", "copy_under_way"});
}

struct dense_ready_step {
  static constexpr std::string_view word = "dense_ready";
  static constexpr bool only_looks = true;
  request_name request;
  group_ref group;
  std::optional<refusal> refused;
};

void visit_fields(auto& v, dense_ready_step& s) {
  v.required("request", s.request);
  v.required("group", s.group);
  v.optional("refused", s.refused);
}

/// Counts begin again at 0.
struct mark_step {
  static constexpr std::string_view word = "mark";
};

void visit_fields(auto&, mark_step&) {}

/// What can be counted: the numbers of kvferry::statistics under shorter names.
inline constexpr std::array<std::string_view, 14> counter_names{
    "allocated", "offloaded", "spilled", "demoted", "rebound", "deferred",     "retried",
    "loaded",    "branched",  "evicted", "failed",  "hit",     "publications", "entries"};

/// How much was counted since the last mark, by counter.
struct counted_step {
  static constexpr std::string_view word = "counted";
  static constexpr bool only_looks = true;
  std::map<std::string, std::uint64_t> counts;
};

void visit_fields(auto& v, counted_step& s) {
  for (std::string_view name : counter_names) {
    std::optional<std::uint64_t> count;
    v.optional(name, count);
    if (count)
      s.counts.emplace(name, *count);
  }
}

} // namespace scenarios
