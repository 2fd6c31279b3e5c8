// What a scenario can do with single requests (docs/scenarios.md), run by request_steps.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "examples/scenario/refusal.hpp"

namespace scenarios {

struct open_step {
  static constexpr std::string_view word = "open";
  request_name request;
  std::vector<token_run> prompt;
  std::string adapter, salt;
  std::optional<std::uint32_t> matched;
  std::optional<bool> loading;
  std::optional<refusal> refused;
};

void visit_fields(auto& v, open_step& s) {
  v.required("request", s.request);
  v.required("prompt", s.prompt);
  v.optional("adapter", s.adapter);
  v.optional("salt", s.salt);
  v.optional("matched", s.matched);
  v.optional("loading", s.loading);
  v.optional("refused", s.refused);
}

struct reserve_step {
  static constexpr std::string_view word = "reserve";
  request_name request;
  std::uint32_t tokens = 0;
  std::optional<refusal> refused;
};

void visit_fields(auto& v, reserve_step& s) {
  v.required("request", s.request);
  v.required("tokens", s.tokens);
  v.optional("refused", s.refused);
}

/// All that it takes to compute a request's tokens up to `until`: slots, a row, a publication whose only row it is,
/// the kernel that writes, the report, the commit. Tokens behind the known ones are made up.
struct run_step {
  static constexpr std::string_view word = "run";
  request_name request;
  std::uint32_t until = 0;
  batch_name batch;
  stream_name stream;
  bool commit = true;
  std::optional<refusal> refused; ///< of its slots; nothing runs then
};

void visit_fields(auto& v, run_step& s) {
  v.required("request", s.request);
  v.required("until", s.until);
  v.optional("batch", s.batch);
  v.optional("stream", s.stream);
  v.optional("commit", s.commit);
  v.optional("refused", s.refused);
}

/// Launches the kernel that writes the KV of the tokens up to `until`, without a report.
struct write_step {
  static constexpr std::string_view word = "write";
  request_name request;
  std::uint32_t until = 0;
  stream_name stream;
};

void visit_fields(auto& v, write_step& s) {
  v.required("request", s.request);
  v.required("until", s.until);
  v.optional("stream", s.stream);
}

/// Reports history, after the kernel that writes what is not written yet.
struct progress_step {
  static constexpr std::string_view word = "progress";
  request_name request;
  std::uint32_t history = 0;
  std::vector<token_run> accepted;
  stream_name stream;
  bool commit = false;
  std::optional<refusal> refused; ///< then nothing is written either
};

void visit_fields(auto& v, progress_step& s) {
  v.required("request", s.request);
  v.required("history", s.history);
  v.optional("accepted", s.accepted);
  v.optional("stream", s.stream);
  v.optional("commit", s.commit);
  v.optional("refused", s.refused);
}

struct commit_step {
  static constexpr std::string_view word = "commit";
  request_name request;
  std::optional<refusal> refused;
};

void visit_fields(auto& v, commit_step& s) {
  v.required("request", s.request);
  v.optional("refused", s.refused);
}

struct enter_decode_step {
  static constexpr std::string_view word = "enter_decode";
  request_name request;
  std::optional<std::uint32_t> moving, rebound, deferred;
  std::optional<refusal> refused;
};

void visit_fields(auto& v, enter_decode_step& s) {
  v.required("request", s.request);
  v.optional("moving", s.moving);
  v.optional("rebound", s.rebound);
  v.optional("deferred", s.deferred);
  v.optional("refused", s.refused);
}

struct suspend_step {
  static constexpr std::string_view word = "suspend";
  request_name request;
  std::vector<stream_name> running;
  std::optional<refusal> refused;
};

void visit_fields(auto& v, suspend_step& s) {
  v.required("request", s.request);
  v.optional("running", s.running);
  v.optional("refused", s.refused);
}

struct resume_step {
  static constexpr std::string_view word = "resume";
  request_name request;
  std::optional<bool> loading;
  std::optional<refusal> refused;
};

void visit_fields(auto& v, resume_step& s) {
  v.required("request", s.request);
  v.optional("loading", s.loading);
  v.optional("refused", s.refused);
}

/// Gives slots back.
struct shrink_step {
  static constexpr std::string_view word = "shrink";
  request_name request;
  std::uint32_t tokens = 0; ///< of capacity; the history keeps its slots
  std::vector<stream_name> running;
  std::optional<refusal> refused;
};

void visit_fields(auto& v, shrink_step& s) {
  v.required("request", s.request);
  v.required("tokens", s.tokens);
  v.optional("running", s.running);
  v.optional("refused", s.refused);
}

/// A suspended request gives up all its pages.
struct drop_step {
  static constexpr std::string_view word = "drop";
  request_name request;
  std::optional<refusal> refused;
};

void visit_fields(auto& v, drop_step& s) {
  v.required("request", s.request);
  v.optional("refused", s.refused);
}

struct close_step {
  static constexpr std::string_view word = "close";
  request_name request;
  std::vector<stream_name> running;
  std::optional<refusal> refused;
};

void visit_fields(auto& v, close_step& s) {
  v.required("request", s.request);
  v.optional("running", s.running);
  v.optional("refused", s.refused);
}

} // namespace scenarios
