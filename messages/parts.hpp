// Pieces that several messages carry.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kvferry/error.hpp"
#include "kvferry/fence.hpp"
#include "kvferry/ids.hpp"
#include "messages/fields.hpp"

namespace kvferry {

/// A request's change number: what `publish` must show, or a publication has shown.
struct row_number {
  request_id request;
  row_seq seq = 0;

  friend auto operator<=>(const row_number&, const row_number&) = default;
  KVFERRY_FIELDS(row_number, request, seq)
};

/// One entry of a request's block table: the page that its owner is bound to from now on.
struct page_change {
  group_id group;
  block_ordinal ordinal = 0;
  tier on = tier::none;   ///< none: no page any more
  bool ready = true;      ///< false: a load into the page is under way
  std::uint32_t slot = 0; ///< raw slot on that tier

  friend bool operator==(const page_change&, const page_change&) = default;
  KVFERRY_FIELDS(page_change, group, ordinal, on, ready, slot)
};

/// What the registry's answer to a request's call grants.
struct grant {
  row_seq seq = 0;          ///< number of this change
  std::uint32_t blocks = 0; ///< length of the request's table from now on
  std::vector<page_change> changes;
  fence_set after;                 ///< the engine's stream waits for these before it touches the pages
  std::vector<row_number> unnames; ///< granted slots are still named by rows until these are published
  KVFERRY_FIELDS(grant, seq, blocks, changes, after, unnames)
};

/// Keys of consecutive blocks: chain hashes, and the tokens they stand for (T per hash).
struct block_keys {
  block_ordinal first = 0;
  std::vector<std::uint64_t> hashes;
  std::vector<token> tokens; ///< in match_prefix also those behind the last whole block
  KVFERRY_FIELDS(block_keys, first, hashes, tokens)
};

/// What every call of a request reports to the registry.
struct history_report {
  std::uint32_t tokens = 0; ///< exact history
  fence_set written;        ///< behind the writers of the tokens that are new since the last report
  fence_set running;        ///< behind everything that still runs the request (close, suspend)
  KVFERRY_FIELDS(history_report, tokens, written, running)
};

enum class move_kind : std::uint8_t {
  offload, ///< complete history goes to the host
  spill,   ///< a held page goes to the host
  demote,  ///< an idle page goes to the host
  load,    ///< a page comes back to the GPU
  branch,  ///< a shared page that a prompt leaves half way is copied to a private one
};

constexpr std::string_view to_string(move_kind kind) {
  switch (kind) {
  case move_kind::offload: return "offload";
  case move_kind::spill: return "spill";
  case move_kind::demote: return "demote";
  case move_kind::load: return "load";
  case move_kind::branch: return "branch";
  }
  return "?";
}

/// Its target is a GPU page; else a host page.
constexpr bool goes_to_gpu(move_kind kind) { return kind == move_kind::load || kind == move_kind::branch; }

struct page_move {
  move_id move;
  move_kind kind = move_kind::offload;
  block_id block;
  group_id group;
  gpu_slot gpu;
  host_slot host; ///< none: the source is `from`
  gpu_slot from;  ///< source of a branch on the GPU
  KVFERRY_FIELDS(page_move, move, kind, block, group, gpu, host, from)
};

enum class move_outcome : std::uint8_t {
  completed,
  failed,    ///< the target does not hold the bytes
  cancelled, ///< it never got to a stream
};

constexpr std::string_view to_string(move_outcome outcome) {
  switch (outcome) {
  case move_outcome::completed: return "completed";
  case move_outcome::failed: return "failed";
  case move_outcome::cancelled: return "cancelled";
  }
  return "?";
}

struct move_result {
  move_id move;
  block_id block;
  move_outcome outcome = move_outcome::completed;
  KVFERRY_FIELDS(move_result, move, block, outcome)
};

/// Page copies of one submission that ended without the right bytes: positions in its list.
struct failed_positions {
  fence submitted;
  std::vector<std::uint32_t> positions;
  KVFERRY_FIELDS(failed_positions, submitted, positions)
};

/// Published history of one group.
struct group_history {
  group_id group;
  std::uint32_t blocks = 0;
  KVFERRY_FIELDS(group_history, group, blocks)
};

/// What a request's row should show, as the registry has it; for checks.
struct claim_pages {
  request_id request;
  bool visible = false; ///< active, and none of its pages is loading
  bool decoding = false;
  std::uint32_t complete = 0; ///< blocks of complete history
  std::vector<page_change> pages;
  KVFERRY_FIELDS(claim_pages, request, visible, decoding, complete, pages)
};

/// As `router_event::change`.
enum class index_change : std::uint8_t { stored, moved, removed };

constexpr std::string_view to_string(index_change change) {
  switch (change) {
  case index_change::stored: return "stored";
  case index_change::moved: return "moved";
  case index_change::removed: return "removed";
  }
  return "?";
}

/// What became of one block of the prefix index. As `router_event`.
struct index_event {
  index_change what = index_change::stored;
  block_id block;
  group_id group;
  tier on = tier::gpu;
  std::uint64_t hash = 0;
  std::optional<std::uint64_t> parent;
  std::vector<token> tokens;
  std::string adapter;
  std::string salt;
  KVFERRY_FIELDS(index_event, what, block, group, on, hash, parent, tokens, adapter, salt)
};

/// Why a call was refused. `code` and `numbers` as in `error`; the text is made where it is shown.
struct refusal {
  error_code code = error_code::invalid_argument;
  std::string message;
  std::optional<shortage> numbers;
  KVFERRY_FIELDS(refusal, code, message, numbers)
};

} // namespace kvferry
