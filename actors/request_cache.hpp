// One request's cache state: its tokens and block keys, capacity, exact history, phase and status as the engine sees
// them, its queue of calls, and a replica of its block table.
//
// It asks the registry first and follows on the reply: only registry messages change the table. One call runs at a
// time; others queue. Whatever changes the table is shown: by the publisher of the batch once there was a row, else the
// number is acknowledged from here (design section 3, rules 2-4). A plain class, bound in request_cache_actor.cpp.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <variant>
#include <vector>

#include "actors/block_replica.hpp"
#include "kvferry/configuration.hpp"
#include "messages/any_message.hpp"

namespace kvferry {

class request_cache {
public:
  request_cache(const configuration& config, request_id id);

  // calls of the engine
  void handle(const open_request& message, outbox& out) { take(message, out); }
  void handle(const advance& message, outbox& out) { take(message, out); }
  void handle(const enter_decode& message, outbox& out) { take(message, out); }
  void handle(const suspend_request& message, outbox& out) { take(message, out); }
  void handle(const resume_request& message, outbox& out) { take(message, out); }
  void handle(const shrink_request& message, outbox& out) { take(message, out); }
  void handle(const drop_request& message, outbox& out) { take(message, out); }
  void handle(const close_request& message, outbox& out) { take(message, out); }
  void handle(const join_batch& message, outbox& out) { take(message, out); }
  void handle(const leave_batch& message, outbox& out) { take(message, out); }
  void handle(const query_storage& message, outbox& out);
  void handle(const query_host_pages& message, outbox& out);

  // answers of the registry
  void handle(const pages_granted& message, outbox& out);
  void handle(const advanced& message, outbox& out);
  void handle(const offload_accepted& message, outbox& out);
  void handle(const transition_refused& message, outbox& out);
  void handle(const owners_rebound& message, outbox& out);
  void handle(const loads_done& message, outbox& out);
  void handle(const owners_released& message, outbox& out);

  // words of the publisher
  void handle(const row_joined& message, outbox& out);
  void handle(const row_left& message, outbox& out);
  void handle(const row_gone& message, outbox& out);

  /// The actor ends after the message that made this true.
  bool ended() const { return status_ == status::closed; }

  /// L invariant 2: capacity ≥ history ≥ committed, blocks cover the capacity.
  void check_touched() const;

private:
  enum class status : std::uint8_t { fresh, loading, active, suspended, dropped, closed };

  using call = std::variant<open_request, advance, enter_decode, suspend_request, resume_request, shrink_request,
                            drop_request, close_request, join_batch, leave_batch>;

  template <class Call>
  void take(const Call& message, outbox& out) {
    if (running_)
      queue_.emplace_back(message);
    else
      start(message, out);
  }

  void start(const call& message, outbox& out);
  void begin(const open_request& message, outbox& out);
  void begin(const advance& message, outbox& out);
  void begin(const enter_decode& message, outbox& out);
  void begin(const suspend_request& message, outbox& out);
  void begin(const resume_request& message, outbox& out);
  void begin(const shrink_request& message, outbox& out);
  void begin(const drop_request& message, outbox& out);
  void begin(const close_request& message, outbox& out);
  void begin(const join_batch& message, outbox& out);
  void begin(const leave_batch& message, outbox& out);

  void transit(transition kind, const history_report& history, outbox& out, std::uint32_t capacity_blocks = 0,
               block_keys commit = {}, bool only_free = false);
  void accept_tokens(const std::vector<token>& accepted);
  void note_history(std::uint32_t reported);
  std::uint32_t blocks_of(std::uint32_t tokens) const {
    return static_cast<std::uint32_t>((std::uint64_t{tokens} + tokens_per_block_ - 1) / tokens_per_block_);
  }
  block_keys keys(block_ordinal first, block_ordinal end) const;
  bool require(bool condition, error_code code, std::string why, outbox& out);
  bool require_status(bool right, std::string_view wanted, outbox& out);
  call_done reply_to(const grant& granted) const;
  void apply(row_seq seq, const std::vector<page_change>& changes);
  void take_grant(const grant& granted);
  void show(bool whole, const std::vector<page_change>& changes, outbox& out);
  void acknowledge_here(outbox& out);
  void left_row(outbox& out);
  void finish_call(outbox& out);
  void end_call(call_done done, outbox& out);
  bool visible() const { return status_ == status::active; }
  bool shown_by_publisher() const { return !batch_.is_none(); }

  const std::uint32_t tokens_per_block_;
  const request_id id_;
  status status_ = status::fresh;
  std::vector<token> tokens_;
  std::vector<std::uint64_t> hashes_; // chain hash of each whole block of tokens_
  std::uint64_t namespace_hash_ = 0;
  std::uint32_t history_ = 0;
  std::uint32_t committed_ = 0; // blocks
  block_replica table_;
  bool decoding_ = false;
  row_seq seq_ = 0;
  row_seq reported_ = 0;     // last number that was shown or acknowledged
  bool row_visible_ = false; // with that number, or when it joined

  batch_id batch_;       // whose publisher shows the numbers; none: acknowledged here
  row_id row_;           // none: not a member (any more)
  bool leaving_ = false; // row_left is waited for

  std::optional<call> running_;
  call_id running_id_;
  history_report closing_; // with the streams that may still run the request
  std::deque<call> queue_;
};

} // namespace kvferry
