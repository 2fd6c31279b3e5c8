// What happens to a block, read off the registry's record of it before and after a handling. For stories of blocks and
// of requests.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "actors/block.hpp"
#include "kvferry/configuration.hpp"

namespace kvferry {

/// What a story needs to know of a block at one moment; a value.
struct block_moment {
  struct owned {
    request_id request;
    block_ordinal ordinal = 0;
    row_seq seq = 0; ///< latest change of the request's row
    tier bound = tier::none;
    bool needs_gpu = false;
    bool complete = false; ///< the block is complete history of the request
    bool decoding = false;
  };

  block_id id; ///< none: there is no block
  group_id group;
  gpu_slot gpu;
  host_slot host;
  std::vector<owned> owners;
  std::optional<block_copy> copy;
  std::string written; ///< fences, as text
  std::uint32_t failures = 0;
  bool in_index = false;
  bool idle = false;
  bool loading = false;
  bool deferred = false;
  bool waits_for_host = false;
};

/// The block as it is now; a record that is another block's by now gives no block.
block_moment moment_of(const block& b, block_id id, const configuration& config);

/// "3:17", "3:17, 4:2"; "nothing" when empty.
std::string words(const fence_set& fences);

struct block_event {
  std::string what;      ///< the same for blocks that share a fate
  std::string where;     ///< what is this block's own, as its slot; may be ""
  request_id owner = {}; ///< whose coming, going or rebinding it is; none: it concerns all owners
};

/// In the order in which they are told.
std::vector<block_event> events_between(const block_moment& before, const block_moment& after);

} // namespace kvferry
