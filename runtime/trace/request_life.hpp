// One request's life as a story: its calls and their answers, what the registry did with its blocks, its rows. Watches
// a replay.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/trace/block_events.hpp"
#include "runtime/trace/replayer.hpp"

namespace kvferry {

class request_life final : public replay_observer {
public:
  request_life(const configuration& config, request_id id) : config_(config), id_(id) {}

  void about_to_handle(const trace_record& record) override;
  void handled(const trace_record& record, const any_message& message, const std::vector<outgoing>& sent,
               const replayed_actors& actors) override;

  /// "" when the request was never seen.
  std::string text() const;

private:
  using place = std::pair<group_id, block_ordinal>;

  struct known_block {
    const block* record = nullptr;
    block_moment before;
  };

  void tell(const trace_record& record, const std::string& what);
  void tell_call(const trace_record& record);
  block_moment before_joining(const block& b) const;
  void look(const trace_record& record, const page_registry& registry);

  const configuration& config_;
  const request_id id_;
  std::map<place, known_block> blocks_;
  std::vector<std::string> lines_;
};

} // namespace kvferry
