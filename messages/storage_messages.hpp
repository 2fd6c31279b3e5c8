// Messages to storage and to completions.
#pragma once

#include "messages/address.hpp"
#include "messages/parts.hpp"

namespace kvferry {

/// Pages to be copied between the tiers.
struct copy_pages {
  std::vector<page_move> moves;
  fence_set before_to_host; ///< copies to the host come after these: writers of their sources, users of their targets
  fence_set before_to_gpu;  ///< the same for copies to the GPU
  bool urgent = false;      ///< a reply waits for the submission
  KVFERRY_FIELDS(copy_pages, moves, before_to_host, before_to_gpu, urgent)
  static constexpr message_info info{"copy_pages", "page_registry", actor_kind::storage,
                                     "copies_submitted, then copies_done", "the runtime has ended: runtime_stopped"};
};

/// Nobody wants these copies any more. Those that are on a stream go on.
struct cancel_copies {
  std::vector<move_id> moves;
  KVFERRY_FIELDS(cancel_copies, moves)
  static constexpr message_info info{"cancel_copies", "page_registry", actor_kind::storage, "copies_done",
                                     "the runtime has ended: runtime_stopped"};
};

/// Submit what is queued.
struct submit_copies {
  KVFERRY_NO_FIELDS
  static constexpr message_info info{"submit_copies", "page_registry", actor_kind::storage, "", "ignored"};
};

/// A submission has ended; positions that failed.
struct copy_completed {
  fence submitted;
  std::vector<std::uint32_t> failed;
  KVFERRY_FIELDS(copy_completed, submitted, failed)
  static constexpr message_info info{"copy_completed", "completions", actor_kind::storage, "", "ignored"};
};

/// A submission to be watched.
struct watch_copies {
  fence submitted;
  KVFERRY_FIELDS(watch_copies, submitted)
  static constexpr message_info info{"watch_copies", "storage", actor_kind::completions, "copy_completed", "ignored"};
};

/// Fences whose passing the registry wants to know.
struct watch_fences {
  fence_set fences;
  KVFERRY_FIELDS(watch_fences, fences)
  static constexpr message_info info{"watch_fences", "page_registry", actor_kind::completions, "fence_passed",
                                     "ignored"};
};

/// An input: how far the device has come.
struct streams_progressed {
  fence_set passed;                     ///< the latest per stream
  std::vector<failed_positions> failed; ///< page copies that went wrong on the way
  KVFERRY_FIELDS(streams_progressed, passed, failed)
  static constexpr message_info info{"streams_progressed", "engine", actor_kind::completions, "", "ignored"};
};

} // namespace kvferry
