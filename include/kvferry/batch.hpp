// A batch: rows for running requests, published into GPU tables whose addresses never change, and the call that does a
// step's control work.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kvferry/configuration.hpp"
#include "kvferry/error.hpp"
#include "kvferry/ids.hpp"

namespace kvferry {

class runtime_impl;

/// What became of a request's tokens: `history_tokens` of them have their KV submitted for good.
struct progress {
  request_id request = {};
  std::uint32_t history_tokens = 0;
  std::vector<token> accepted = {}; ///< tokens behind all that were given before (prompt, then generated)
  bool commit = false;              ///< also enter complete blocks into the prefix index
};

struct reservation {
  request_id request = {};
  std::uint32_t capacity_tokens = 0;
};

/// A request whose loads have ended; also one that was suspended meanwhile, when it has lost what was being loaded.
struct ready_request {
  request_id request;
  std::uint32_t matched_tokens = 0; ///< as in `opened`, or less when a load failed
  bool load_failed = false;
};

/// One step's control work, done in the order of the fields.
struct step_input {
  std::vector<progress> advance = {}; ///< what earlier steps have submitted on `stream`
  std::vector<request_id> enter_decode = {};
  std::vector<request_id> suspend = {};
  std::vector<request_id> close = {};
  std::vector<reservation> reserve = {};
  std::vector<request_id> order = {}; ///< rows of this step, in the engine's batch order; each is added if needed
  stream_id stream = {};              ///< the engine's compute stream
};

/// Which call of a step.
enum class step_call : std::uint8_t { advance, enter_decode, suspend, close, reserve, add };

struct refused_call {
  request_id request;
  step_call call = step_call::advance;
  error why;
};

struct step_result {
  std::vector<request_id> granted;   ///< reservations that were granted, also trivially
  std::vector<refused_call> refused; ///< any call of the step
  std::vector<ready_request> ready;
  version_number version = 0;          ///< published; what the engine launches next reads it
  std::optional<error> not_published;  ///< the publication was refused (read_open, out_of_memory), the rest was done
  std::vector<request_id> failed_rows; ///< do not fit a row; shown as holes
  double publish_us = 0.0;             ///< host time of the step that went into publishing
};

struct publication {
  version_number version = 0;
  std::uint64_t entries = 0;      ///< table entries uploaded
  std::vector<request_id> failed; ///< do not fit a row; shown as holes
};

/// GPU addresses of one batch's tables (design section 5), row-major, fixed for the batch's life. Read-only.
struct table_view {
  struct group {
    const std::int32_t* page_index = nullptr; ///< [rows, max_blocks] raw slot on its tier; -1: none
    const std::uint8_t* page_tier = nullptr;  ///< [rows, max_blocks] 0 GPU, 1 host, 255 none
    const std::int32_t* num_blocks = nullptr; ///< [rows] contiguous complete history on the host
  };
  std::vector<group> groups;
  const std::uint64_t* row_request = nullptr; ///< [rows] request id; all ones: hole
  const std::uint64_t* row_version = nullptr; ///< [rows] version that last changed the row
  const std::int32_t* active_rows = nullptr;  ///< [rows] rows of this step in the engine's order, then -1
  const std::int32_t* num_active = nullptr;   ///< [1]
  std::uint32_t rows = 0;
  std::uint32_t max_blocks = 0;
};

/// Made by `runtime::create_batch`, and destroyed before its runtime.
class batch {
public:
  /// Closes the batch: its members are detached and may join another. The tables' memory lives until what was launched
  /// on the streams of its publications and reads has passed. While one of these is being captured it stays open; the
  /// runtime's next `poll` behind the capture closes it.
  ~batch();

  batch_id id() const;

  table_view tables() const;

  /// Gives the request a row; again: the same row. Errors: batch_full, in_other_batch, unknown_request.
  expected<row_id> add(request_id request);

  /// Takes the request out of its row; it may join another batch after the next publication.
  expected<void> remove(request_id request);

  /// Publishes every change that the caller was told of, on `stream`. `order` are the step's rows; requests in it that
  /// have no row are left out. Nothing changed: no device work, same version.
  /// Errors: read_open, invalid_argument (a request stands in `order` twice), stream_capturing.
  expected<publication> publish(std::span<const request_id> order, stream_id stream);

  /// Orders `stream` after the latest publication; it sees that version until `end_read`. The batch's first read on
  /// another stream than that of its publications comes after all that was launched there.
  /// Errors: not_published, stream_capturing (`stream`; the first time also the publications' stream).
  expected<version_number> begin_read(stream_id stream);
  /// Errors: invalid_argument (no read was begun on the stream).
  expected<void> end_read(stream_id stream);

  /// A step's control work in one call. Refusals of single calls, and of the publication, are in the result; an error
  /// means that nothing was done.
  expected<step_result> step(const step_input& input);

private:
  friend class runtime;
  batch(runtime_impl& owner, batch_id id);
  runtime_impl& owner_;
  batch_id id_;
};

} // namespace kvferry
