// What the engine-facing API remembers of a request between its calls, so that progress that crosses no block costs no
// message.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kvferry/fence.hpp"
#include "kvferry/ids.hpp"
#include "messages/parts.hpp"

namespace kvferry {

struct request_record {
  enum class state : std::uint8_t { loading, active, suspended };

  state status = state::active;
  bool decoding = false;
  bool lost = false;           ///< its actor has died
  std::uint32_t tokens = 0;    ///< known: prompt and accepted
  std::uint32_t history = 0;   ///< tokens, exact
  std::uint32_t reported = 0;  ///< history that its actor knows
  std::uint32_t capacity = 0;  ///< tokens that have slots
  std::uint32_t committed = 0; ///< blocks asked to enter the index
  std::vector<token> accepted; ///< not yet told
  fence_set written;           ///< behind the writers of history not yet told
  fence_set last_written;      ///< behind all writers, by stream: a batch that it joins comes after them
  batch_id batch;              ///< none: in no row
  std::vector<stream_id> left; ///< streams of the batches that it has left, whose steps may still run it
  fence_set after;             ///< what its pages wait for, until a batch's publication takes it
  std::vector<row_number> unnames;

  /// It is in no batch any more, and the steps on `stream` may still run it.
  void leave_batch(stream_id stream) {
    batch = batch_id::none();
    if (!stream.is_none() && std::find(left.begin(), left.end(), stream) == left.end())
      left.push_back(stream);
  }
};

} // namespace kvferry
