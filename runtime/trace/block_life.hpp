// One block's life as a story: what the registry did with it, which publications showed it, what became of its slots.
// Watches a replay, in which the registry's own records can be looked at.
#pragma once

#include <string>
#include <vector>

#include "runtime/trace/block_events.hpp"
#include "runtime/trace/replayer.hpp"
#include "runtime/trace/slot_watch.hpp"

namespace kvferry {

class block_life final : public replay_observer {
public:
  block_life(const configuration& config, block_id id) : config_(config), id_(id) {}

  void handled(const trace_record& record, const any_message& message, const std::vector<outgoing>& sent,
               const replayed_actors& actors) override;

  /// "" when the block was never seen.
  std::string text() const;

private:
  /// A row that will show the block's page otherwise.
  struct unpublished {
    request_id request;
    row_seq seq = 0;
    std::string page;
  };

  bool find(const any_message& message, const std::vector<outgoing>& sent, const page_registry& registry);
  void tell(const trace_record& record, const std::string& what);
  void look(const trace_record& record);
  void note_rows(const block_moment& now);
  void tell_published(const trace_record& record, const rows_published& told);

  const configuration& config_;
  const block_id id_;
  const block* block_ = nullptr; // records are reused, never freed
  group_id group_;
  block_moment before_;
  slot_watch slots_;
  std::vector<unpublished> unpublished_;
  std::vector<std::string> lines_;
};

} // namespace kvferry
