// Storage: page migration. It executes copies; who owns a block and which slot is free is not its business.
//
// Copies of one step and direction are submitted together, and both directions in one call unless one comes after the
// other; copies that a reply waits for are submitted at once. Each move is answered
// exactly once. A plain class, bound in storage_actor.cpp.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "device/device.hpp"
#include "messages/any_message.hpp"

namespace kvferry {

class storage {
public:
  /// Makes a stream per direction on `target`, which outlives this.
  explicit storage(device& target);

  void handle(const copy_pages& message, outbox& out);
  void handle(const cancel_copies& message, outbox& out);
  void handle(const submit_copies& message, outbox& out);
  void handle(const copy_completed& message, outbox& out);

  /// Moves that are queued or under way.
  std::size_t unfinished() const;

  void check_touched() const {}

private:
  struct lane {
    copy_direction direction;
    stream_id stream;
    std::vector<page_move> queued;
    fence_set before;
  };

  lane& lane_of(const page_move& move);
  bool loads_follow_demotions() const;
  void submit(lane& from, outbox& out);
  std::vector<page_copy> copies_of(lane& from);
  static copy_list list_of(lane& from, const std::vector<page_copy>& copies);
  void submitted(lane& from, fence behind, outbox& out);

  device& device_;
  lane to_host_;
  lane to_gpu_;
  lane branches_;                                                       // on the stream to the GPU
  std::unordered_map<std::uint64_t, std::vector<page_move>> in_flight_; // by stream and sequence of the submission
  std::unordered_map<std::uint64_t, fence> demoted_; // GPU slots that were granted while a copy still reads them
};

} // namespace kvferry
