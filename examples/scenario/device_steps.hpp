// What the device does in a scenario, what ends, and completions that enter (docs/scenarios.md), run by
// device_steps.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "examples/scenario/names.hpp"

namespace scenarios {

struct lost_load {
  request_name request;
  std::uint32_t matched = 0;
};

void visit_fields(auto& v, lost_load& s) {
  v.required("request", s.request);
  v.required("matched", s.matched);
}

struct poll_step {
  static constexpr std::string_view word = "poll";
  std::optional<std::vector<request_name>> ready; ///< since the last step that told
  std::vector<lost_load> load_failed;             ///< of these, in any order
};

void visit_fields(auto& v, poll_step& s) {
  v.optional("ready", s.ready);
  v.optional("load_failed", s.load_failed);
}

/// Runs and polls until nothing more happens.
struct settle_step {
  static constexpr std::string_view word = "settle";
  std::optional<std::vector<request_name>> ready;
  std::vector<lost_load> load_failed;
};

void visit_fields(auto& v, settle_step& s) {
  v.optional("ready", s.ready);
  v.optional("load_failed", s.load_failed);
}

/// Runs operations; all that can run when neither is given.
struct run_device_step {
  static constexpr std::string_view word = "run_device";
  std::optional<std::uint32_t> operations;
  std::optional<stream_name> until; ///< until all that is on it now has run
};

void visit_fields(auto& v, run_device_step& s) {
  v.optional("operations", s.operations);
  v.optional("until", s.until);
}

struct hold_step {
  static constexpr std::string_view word = "hold";
  std::vector<stream_name> streams;
};

void visit_fields(auto& v, hold_step& s) { v.required("streams", s.streams); }

struct release_step {
  static constexpr std::string_view word = "release";
  std::vector<stream_name> streams;
};

void visit_fields(auto& v, release_step& s) { v.required("streams", s.streams); }

/// Until the end of it the stream is as one that a graph is captured from.
struct begin_capture_step {
  static constexpr std::string_view word = "begin_capture";
  stream_name stream;
};

void visit_fields(auto& v, begin_capture_step& s) { v.required("stream", s.stream); }

struct end_capture_step {
  static constexpr std::string_view word = "end_capture";
  stream_name stream;
};

void visit_fields(auto& v, end_capture_step& s) { v.required("stream", s.stream); }

struct fail_copies_step {
  static constexpr std::string_view word = "fail_copies";
  std::uint32_t from = 0; ///< 0: the next page copy that is submitted
  std::uint32_t count = 1;
};

void visit_fields(auto& v, fail_copies_step& s) {
  v.optional("from", s.from);
  v.optional("count", s.count);
}

struct fail_allocations_step {
  static constexpr std::string_view word = "fail_allocations";
  std::uint32_t from = 0;
  std::uint32_t count = 1;
};

void visit_fields(auto& v, fail_allocations_step& s) {
  v.optional("from", s.from);
  v.optional("count", s.count);
}

/// One of them.
struct kill_step {
  static constexpr std::string_view word = "kill";
  std::optional<request_name> request;
  std::optional<batch_name> publisher;
  std::optional<std::string> actor; ///< page_registry, storage or completions
};

void visit_fields(auto& v, kill_step& s) {
  v.optional("request", s.request);
  v.optional("publisher", s.publisher);
  v.one_of("actor", s.actor, {"page_registry", "storage", "completions"});
  v.exactly_one({"request", "publisher", "actor"});
}

struct shut_down_step {
  static constexpr std::string_view word = "shut_down";
  std::optional<bool> leftovers;
};

void visit_fields(auto& v, shut_down_step& s) { v.optional("leftovers", s.leftovers); }

} // namespace scenarios
