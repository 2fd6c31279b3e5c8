// The streams that the CUDA device knows, and how far each is: an event per fence, the oldest asked first. An event
// whose answer is anything but "not ready" has passed, with that status.
//
// Used by the CUDA device, under its lock.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/cuda/event.hpp"
#include "device/cuda/stream.hpp"
#include "kvferry/fence.hpp"

namespace kvferry::cuda {

class stream_table {
public:
  explicit stream_table(int ordinal) : events_(ordinal) {}

  /// A stream of our own.
  stream_id add(std::string_view name, stream owned);

  /// The engine's.
  stream_id add(std::string_view name, stream_ref of_engine);

  std::uint32_t size() const { return static_cast<std::uint32_t>(streams_.size()); }
  std::string_view name(stream_id id) const { return streams_[index_of(id)].name; }
  stream_ref ref(stream_id id) const { return streams_[index_of(id)].ref; }

  /// The engine captures a graph from it.
  bool capturing(stream_id id) const;

  /// Stops the process when `id` is not known, or when `call` would become part of a graph that the engine captures.
  void require_usable(stream_id id, std::string_view call) const;

  /// Enqueues an event. The fence counts even when that fails: then it has passed.
  cudaError_t record(stream_id id, fence& recorded);

  /// Names the stream's next fence before what it stands behind is enqueued: it has not passed, and nothing else may be
  /// recorded on the stream, before `keep` has enqueued its event.
  fence promise(stream_id id);

  /// REQUIRES: it was promised, earlier ones of its stream were kept.
  cudaError_t keep(fence promised);

  /// REQUIRES: each was recorded.
  cudaError_t wait(stream_id id, const fence_set& fences);

  /// A status that is no success, and the fence that had it.
  struct fault {
    fence at;
    cudaError_t status = cudaSuccess;
  };

  /// Asks each stream's oldest events. Stops at a fault.
  std::optional<fault> poll();

  /// As of the last `poll`. REQUIRES: `f` was recorded.
  bool passed(fence f, std::string_view asked_by) const;

  fence_set passed() const;

  bool anything_in_flight() const;

  /// Nothing will come any more: every fence has passed, later ones pass at once.
  void abandon();

private:
  struct position {
    std::uint64_t sequence = 0;
    event at;
  };

  struct entry {
    std::string name;
    std::optional<stream> owned;
    stream_ref ref;
    std::uint64_t recorded = 0;
    std::uint64_t passed = 0;
    std::deque<position> in_flight;
  };

  std::uint32_t index_of(stream_id id) const;
  const entry& recorded_on(fence f, std::string_view asked_by) const;

  std::vector<entry> streams_;
  event_pool events_;
  bool abandoned_ = false;
};

} // namespace kvferry::cuda
