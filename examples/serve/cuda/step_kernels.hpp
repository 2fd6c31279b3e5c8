// The kernels of a step on a GPU: the pattern writer, and the attention stand-in that reads the published tables as
// attention would and counts what is wrong. They do what page_writer.cpp, verifier.cpp and row_check.cpp do on the
// emulated GPU.
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

#include "examples/pages/page_pattern.hpp"
#include "examples/pages/table_rows.hpp"

namespace serve {

/// A buffer's fragments on both tiers.
struct gpu_fragment {
  pages::fragment_pattern pattern;
  std::byte* base = nullptr; ///< in GPU slot 0
  std::uint64_t stride_bytes = 0;
  std::uint64_t blob_offset = 0; ///< in a host slot
};

struct gpu_group {
  const std::int32_t* page_index = nullptr; ///< [rows, max_blocks]
  const std::uint8_t* page_tier = nullptr;  ///< [rows, max_blocks]
  const std::int32_t* num_blocks = nullptr; ///< [rows]
  std::uint32_t gpu_slots = 0;
  std::uint32_t host_slots = 0;
  const std::byte* host_base = nullptr; ///< mapped
  std::uint64_t host_slot_bytes = 0;
  std::uint32_t fragment_first = 0; ///< in gpu_run::fragments
  std::uint32_t fragment_count = 0;
};

enum class finding_kind : std::uint32_t {
  active_rows,       ///< names no row, or one twice
  num_active,        ///< is not the step's count
  behind_last,       ///< active_rows goes on behind the last
  row_request,       ///< the row is of another request
  row_version,       ///< is 0 or to come
  num_blocks,        ///< more than complete history
  no_page,           ///< attention reads it
  no_slot,           ///< no such slot
  not_on_gpu,        ///< should be
  not_on_host,       ///< num_blocks counts it as a host page
  wrong_byte,        ///< in a page
  no_capacity,       ///< a page should be there
  past_end,          ///< no page should be there
  not_writable,      ///< to be written, but no GPU page
  hole_not_empty,    ///< a row of nobody
  row_of_the_absent, ///< a row of a request that should have none
};

struct finding {
  finding_kind kind = finding_kind::active_rows;
  std::uint32_t row = 0;
  std::uint32_t group = 0;
  std::uint32_t ordinal = 0;
  std::uint32_t tier = 0;
  std::int32_t slot = 0; ///< or the number that was found
  std::uint32_t buffer = 0;
  std::uint32_t expected = 0; ///< byte, or the number that is right
  std::uint32_t found = 0;
  std::uint64_t offset = 0;
  std::uint64_t request = 0;
  std::uint64_t step = 0;
  std::uint64_t version = 0;
};

inline constexpr std::uint32_t findings_kept = 20;

struct findings {
  unsigned long long mismatches = 0;
  unsigned long long pages_verified = 0;
  finding first[findings_kept];
};

/// What stays the same for a run; all in GPU memory.
struct gpu_run {
  const gpu_group* groups = nullptr;       ///< [group_count]
  const gpu_fragment* fragments = nullptr; ///< those of all groups
  std::uint32_t group_count = 0;
  std::uint32_t tokens_per_block = 0;
  std::uint32_t rows = 0;
  std::uint32_t max_blocks = 0;
  const std::uint64_t* row_request = nullptr; ///< [rows]
  const std::uint64_t* row_version = nullptr; ///< [rows]
  const std::int32_t* active_rows = nullptr;  ///< [rows]
  const std::int32_t* num_active = nullptr;   ///< [1]
  std::uint64_t* chains = nullptr;            ///< [rows, max_blocks * tokens_per_block] words, by chain slot
  std::uint32_t* seen = nullptr;              ///< [rows, group_count, max_blocks] places, by chain slot
  findings* found = nullptr;
  std::uint32_t stride = 1; ///< one row and one entry in so many

  std::uint64_t chain_tokens = 0; ///< max_blocks * tokens_per_block
};

/// A row of a step.
struct gpu_row {
  std::uint64_t request = 0;
  std::uint32_t chain_slot = 0;     ///< where its words and seen places are
  std::uint32_t history_tokens = 0; ///< the step writes the KV of [history_tokens, written_tokens)
  std::uint32_t written_tokens = 0;
  std::uint32_t words_from = 0;   ///< in gpu_step::words: those of tokens [known, written_tokens)
  std::uint32_t known_tokens = 0; ///< whose words are there
  bool forgets = false;           ///< the chain slot was another request's: nothing was seen yet
};

/// What a step brings along; in GPU memory.
struct gpu_step {
  std::uint64_t step = 0;
  std::uint64_t version = 0;
  std::uint32_t row_count = 0;
  std::uint32_t resting_count = 0;
  const gpu_row* rows = nullptr;           ///< [row_count]
  const pages::row_rules* rules = nullptr; ///< [row_count, group_count]
  const std::uint64_t* resting = nullptr;  ///< [resting_count] sorted requests
  const std::uint64_t* words = nullptr;
};

/// Enqueues all of a step: chains first, then writes, then, if `verify`, the checks.
cudaError_t launch_step(const gpu_run& run, const gpu_step& step, bool verify, cudaStream_t stream);

} // namespace serve
