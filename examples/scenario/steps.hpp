// What a scenario can say: one struct per step, with the word that names it and its fields as in the file
// (docs/scenarios.md). An optional that is empty
// asks for nothing.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
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
  std::optional<std::string> says; ///< a part of the message
};

// -- what an engine does
// ---------------------------------------------------------------------------------------------

struct open_step {
  static constexpr std::string_view word = "open";
  request_name request;
  std::vector<token_run> prompt;
  std::string adapter, salt;
  std::optional<std::uint32_t> matched;
  std::optional<bool> loading;
  std::optional<refusal> refused;
};

struct reserve_step {
  static constexpr std::string_view word = "reserve";
  request_name request;
  std::uint32_t tokens = 0;
  std::optional<refusal> refused;
};

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

/// Launches the kernel that writes the KV of the tokens up to `until`, without a report.
struct write_step {
  static constexpr std::string_view word = "write";
  request_name request;
  std::uint32_t until = 0;
  stream_name stream;
};

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

struct commit_step {
  static constexpr std::string_view word = "commit";
  request_name request;
  std::optional<refusal> refused;
};

struct enter_decode_step {
  static constexpr std::string_view word = "enter_decode";
  request_name request;
  std::optional<std::uint32_t> moving, rebound, deferred;
  std::optional<refusal> refused;
};

struct suspend_step {
  static constexpr std::string_view word = "suspend";
  request_name request;
  std::vector<stream_name> running;
  std::optional<refusal> refused;
};

struct resume_step {
  static constexpr std::string_view word = "resume";
  request_name request;
  std::optional<bool> loading;
  std::optional<refusal> refused;
};

struct close_step {
  static constexpr std::string_view word = "close";
  request_name request;
  std::vector<stream_name> running;
  std::optional<refusal> refused;
};

struct create_batch_step {
  static constexpr std::string_view word = "create_batch";
  batch_name batch;
  std::uint32_t rows = 8;
  std::uint32_t max_blocks = 32;
  std::optional<refusal> refused;
};

struct close_batch_step {
  static constexpr std::string_view word = "close_batch";
  batch_name batch;
};

struct add_step {
  static constexpr std::string_view word = "add";
  request_name request;
  batch_name batch;
  std::optional<std::uint32_t> row;
  std::optional<refusal> refused;
};

struct remove_step {
  static constexpr std::string_view word = "remove";
  request_name request;
  batch_name batch;
  std::optional<refusal> refused;
};

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

struct begin_read_step {
  static constexpr std::string_view word = "begin_read";
  batch_name batch;
  stream_name stream;
  std::optional<refusal> refused;
};

struct end_read_step {
  static constexpr std::string_view word = "end_read";
  batch_name batch;
  stream_name stream;
  std::optional<refusal> refused;
};

struct run_in_step {
  request_name request;
  std::uint32_t until = 0;
  bool commit = true;
};

struct refused_in_step {
  request_name request;
  std::string call; ///< as kvferry::step_call
  refusal why;
};

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

struct lost_load {
  request_name request;
  std::uint32_t matched = 0;
};

struct poll_step {
  static constexpr std::string_view word = "poll";
  std::optional<std::vector<request_name>> ready; ///< since the last step that told
  std::vector<lost_load> load_failed;             ///< of these, in any order
};

struct shut_down_step {
  static constexpr std::string_view word = "shut_down";
  std::optional<bool> leftovers;
};

// -- what the device does, and what dies
// -----------------------------------------------------------------------------

/// Runs operations; all that can run when neither is given.
struct run_device_step {
  static constexpr std::string_view word = "run_device";
  std::optional<std::uint32_t> operations;
  std::optional<stream_name> until; ///< until all that is on it now has run
};

/// Runs and polls until nothing more happens.
struct settle_step {
  static constexpr std::string_view word = "settle";
  std::optional<std::vector<request_name>> ready;
  std::vector<lost_load> load_failed;
};

struct hold_step {
  static constexpr std::string_view word = "hold";
  std::vector<stream_name> streams;
};

struct release_step {
  static constexpr std::string_view word = "release";
  std::vector<stream_name> streams;
};

struct fail_copies_step {
  static constexpr std::string_view word = "fail_copies";
  std::uint32_t from = 0; ///< 0: the next page copy that is submitted
  std::uint32_t count = 1;
};

struct fail_allocations_step {
  static constexpr std::string_view word = "fail_allocations";
  std::uint32_t from = 0;
  std::uint32_t count = 1;
};

/// One of them.
struct kill_step {
  static constexpr std::string_view word = "kill";
  std::optional<request_name> request;
  std::optional<batch_name> publisher;
  std::optional<std::string> actor; ///< page_registry, storage or completions
};

// -- what must hold
// --------------------------------------------------------------------------------------------------

/// Where a request's blocks are, by ordinal.
struct pages_step {
  static constexpr std::string_view word = "pages";
  request_name request;
  group_ref group;
  std::vector<place> places;
  std::optional<std::uint32_t> history; ///< history blocks
};

/// What the device's tables show of a request.
struct published_step {
  static constexpr std::string_view word = "published";
  request_name request;
  batch_name batch;
  group_ref group;
  bool row = true;           ///< false: no row is the request's
  std::vector<place> places; ///< the row's first entries; all behind them are empty
  std::uint32_t history = 0; ///< num_blocks
};

struct remember_step {
  static constexpr std::string_view word = "remember";
  place_name as;
  group_ref group;
  owned_block block;
};

struct same_page_step {
  static constexpr std::string_view word = "same_page";
  group_ref group;
  std::vector<block_or_place> blocks;
  bool same = true; ///< false: no two of them
};

struct blockers_step {
  static constexpr std::string_view word = "blockers";
  request_name request;
  group_ref group;
  std::uint32_t ordinal = 0;
  std::vector<request_name> requests; ///< in any order
  std::vector<std::string> causes;    ///< host_full, copy_failed, copy_under_way
};

struct dense_ready_step {
  static constexpr std::string_view word = "dense_ready";
  request_name request;
  group_ref group;
  std::optional<refusal> refused;
};

/// Counts begin again at 0.
struct mark_step {
  static constexpr std::string_view word = "mark";
};

/// What can be counted: the numbers of kvferry::statistics under shorter names.
inline constexpr std::array<std::string_view, 13> counter_names{
    "allocated", "offloaded", "spilled", "demoted", "rebound",      "deferred", "retried",
    "loaded",    "evicted",   "failed",  "hit",     "publications", "entries"};

/// How much was counted since the last mark, by counter.
struct counted_step {
  static constexpr std::string_view word = "counted";
  std::map<std::string, std::uint64_t> counts;
};

} // namespace scenarios
