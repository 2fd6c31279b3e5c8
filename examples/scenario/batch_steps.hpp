// What a scenario can do with batches (docs/scenarios.md), run by batch_steps.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "examples/scenario/refusal.hpp"

namespace scenarios {

struct create_batch_step {
  static constexpr std::string_view word = "create_batch";
  batch_name batch;
  std::uint32_t rows = 8;
  std::uint32_t max_blocks = 32;
  std::optional<refusal> refused;
};

void visit_fields(auto& v, create_batch_step& s) {
  v.required("batch", s.batch);
  v.optional("rows", s.rows);
  v.optional("max_blocks", s.max_blocks);
  v.optional("refused", s.refused);
}

struct close_batch_step {
  static constexpr std::string_view word = "close_batch";
  batch_name batch;
};

void visit_fields(auto& v, close_batch_step& s) { v.required("batch", s.batch); }

struct add_step {
  static constexpr std::string_view word = "add";
  request_name request;
  batch_name batch;
  std::optional<std::uint32_t> row;
  std::optional<refusal> refused;
};

void visit_fields(auto& v, add_step& s) {
  v.required("request", s.request);
  v.optional("batch", s.batch);
  v.optional("row", s.row);
  v.optional("refused", s.refused);
}

struct remove_step {
  static constexpr std::string_view word = "remove";
  request_name request;
  batch_name batch;
  std::optional<refusal> refused;
};

void visit_fields(auto& v, remove_step& s) {
  v.required("request", s.request);
  v.optional("batch", s.batch);
  v.optional("refused", s.refused);
}

/// Publishes, and launches a reader that checks every row of the batch. Without `order`: every active member.
struct publish_step {
  static constexpr std::string_view word = "publish";
  batch_name batch;
  stream_name stream;
  std::optional<std::vector<request_name>> order;
  std::optional<std::uint64_t> entries;            ///< table entries uploaded
  std::optional<bool> changed;                     ///< the version is a new one
  std::optional<std::vector<request_name>> rows;   ///< whose rows this version changed, in any order
  std::optional<std::vector<request_name>> failed; ///< that do not fit a row
  std::optional<refusal> refused;
};

void visit_fields(auto& v, publish_step& s) {
  v.optional("batch", s.batch);
  v.optional("stream", s.stream);
  v.optional("order", s.order);
  v.optional("entries", s.entries);
  v.optional("changed", s.changed);
  v.optional("rows", s.rows);
  v.optional("failed", s.failed);
  v.optional("refused", s.refused);
}

struct begin_read_step {
  static constexpr std::string_view word = "begin_read";
  batch_name batch;
  stream_name stream;
  std::optional<refusal> refused;
};

void visit_fields(auto& v, begin_read_step& s) {
  v.optional("batch", s.batch);
  v.required("stream", s.stream);
  v.optional("refused", s.refused);
}

struct end_read_step {
  static constexpr std::string_view word = "end_read";
  batch_name batch;
  stream_name stream;
  std::optional<refusal> refused;
};

void visit_fields(auto& v, end_read_step& s) {
  v.optional("batch", s.batch);
  v.required("stream", s.stream);
  v.optional("refused", s.refused);
}

struct run_in_step {
  request_name request;
  std::uint32_t until = 0;
  bool commit = true;
};

void visit_fields(auto& v, run_in_step& s) {
  v.required("request", s.request);
  v.required("until", s.until);
  v.optional("commit", s.commit);
}

struct refused_in_step {
  request_name request;
  std::string call; ///< as kvferry::step_call
  refusal why;
};

void visit_fields(auto& v, refused_in_step& s) {
  v.required("request", s.request);
  v.one_of("call", s.call, {"advance", "enter_decode", "suspend", "close", "reserve", "add"});
  v.required("why", s.why);
}

/// One `batch::step`: reports what earlier steps wrote, then the lists, then the kernels of the requests in `run` whose
/// slots were granted.
struct step_step {
  static constexpr std::string_view word = "step";
  batch_name batch;
  stream_name stream;
  std::vector<run_in_step> run;
  std::vector<request_name> enter_decode, suspend, close;
  std::vector<refused_in_step> refused;
  std::optional<std::vector<request_name>> ready;
};

void visit_fields(auto& v, step_step& s) {
  v.optional("batch", s.batch);
  v.optional("stream", s.stream);
  v.optional("run", s.run);
  v.optional("enter_decode", s.enter_decode);
  v.optional("suspend", s.suspend);
  v.optional("close", s.close);
  v.optional("refused", s.refused);
  v.optional("ready", s.ready);
}

} // namespace scenarios
