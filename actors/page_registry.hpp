// The page registry: the one place where it is decided which slot holds which block, who owns it, and when it moves.
//
// It owns blocks and their pages, owners and what they are bound to, each request's claim, the prefix index, blockers,
// wait sets, idle order and the slot ledger of both tiers. It knows nothing of tokens beyond keys, of streams, of
// tables.
//
// Every handling plans first, writes then, and ends in the same way (`finish`): waiting blocks are served, each request
// whose pages moved gets one `owners_rebound`, copies go to storage as one `copy_pages`, then the reply. The rules are
// those of design sections 3 and 4; the numbers in comments are theirs.
//
// A plain class: handlers take a message and write what they send into an outbox. Bound to the actor library in
// page_registry_actor.cpp; the handlers stand in page_registry_*.cpp by topic.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "actors/block.hpp"
#include "actors/idle_order.hpp"
#include "actors/prefix_index.hpp"
#include "actors/slot_ledger.hpp"
#include "actors/wait_set.hpp"
#include "kvferry/configuration.hpp"
#include "messages/any_message.hpp"

namespace kvferry {

class page_registry {
public:
  explicit page_registry(const configuration& config);

  void handle(const register_request& message, outbox& out);
  void handle(const match_prefix& message, outbox& out);
  void handle(const owner_transition& message, outbox& out);
  void handle(const release_owners& message, outbox& out);
  void handle(const batch_changed& message, outbox& out);
  void handle(const row_acknowledged& message, outbox& out);
  void handle(const rows_published& message, outbox& out);
  void handle(const copies_submitted& message, outbox& out);
  void handle(const copies_done& message, outbox& out);
  void handle(const fence_passed& message, outbox& out);
  void handle(const flush_copies& message, outbox& out);
  void handle(const published_unchanged& message, outbox& out);
  void handle(const request_down& message, outbox& out);
  void handle(const bury_request& message, outbox& out);
  void handle(const query_blockers& message, outbox& out);
  void handle(const query_counters& message, outbox& out);
  void handle(const query_quiet& message, outbox& out);
  void handle(const query_index& message, outbox& out);

  /// Invariants L of design section 10 over what the last handling touched.
  void check_touched() const;

  /// The same over everything. Aborts with what it saw.
  void check_all() const;

  /// Invariants Q of the registry alone, when no message is pending: what does not hold, with the page's name.
  std::vector<std::string> quiet_findings() const;

  const slot_ledger& ledger() const { return ledger_; }

  /// Null: no such claim.
  const claim* find_claim(request_id request) const;

private:
  // -- facts (page_registry_facts.cpp)
  // -----------------------------------------------------------------------------------

  bool is_sparse(group_id group) const { return config_.groups[group.value()].kind == group_kind::sparse; }
  group_id group_at(std::size_t index) const { return group_id{static_cast<std::uint8_t>(index)}; }
  std::size_t groups() const { return config_.groups.size(); }

  /// The owner needs the block on the GPU (design section 1, "need").
  bool needs_gpu(const claim& c, group_id group, block_ordinal ordinal) const;
  bool needs_gpu(const block& b, const owner& o) const { return needs_gpu(*o.request, b.group, o.ordinal); }
  claim_entry& entry_of(const block& b, const owner& o) const;

  /// Some owner makes the block a candidate for the host (4.1).
  bool has_movers(const block& b) const;

  /// A copy to the host is due; only a slot may be missing.
  bool may_copy(const block& b) const;

  /// All owners are suspended and the only page is on the GPU.
  bool is_held(const block& b) const;

  std::uint32_t first_in_window(group_id group, std::uint32_t history_tokens) const;
  std::uint32_t slot_of(const block& b, tier on) const { return on == tier::gpu ? b.gpu.value() : b.host.value(); }
  claim* live_claim(request_id request);
  batch_id batch_of(request_id request) const;

  /// Free and evictable host slots.
  std::uint32_t host_room(group_id group) const;

  /// The same; 0 while somebody waits for one (rule 8).
  std::uint32_t host_available(group_id group) const;

  // -- planning and taking slots (page_registry_slots.cpp)
  // ----------------------------------------------------------------

  enum class slot_use : std::uint8_t {
    copy,    ///< a load: runs as soon as it can, gets no retiring slot
    prefill, ///< written behind a publication; idle blocks are demoted for it
    decode,  ///< the same, but it never waits for the link: idle blocks are dropped for it
  };

  /// Idle pages that the call itself matched and that therefore cannot be taken (rule 1).
  struct kept_pages {
    std::uint32_t gpu = 0;
    std::uint32_t gpu_named = 0; ///< could be taken after a publication
  };

  std::optional<refusal> plan_gpu(const std::vector<std::uint32_t>& needed, slot_use use, batch_id batch,
                                  const std::vector<kept_pages>& kept) const;
  gpu_slot take_gpu(group_id group, slot_use use, batch_id batch, grant& granted);
  host_slot take_host(group_id group);
  shortage count_shortage(group_id group, tier on, std::uint32_t needed, std::uint32_t available) const;
  void name_batches(shortage& numbers) const;
  refusal refusal_of(error_code code, shortage numbers) const;
  refusal gpu_shortage(group_id group, std::uint32_t needed, std::uint32_t available,
                       std::uint32_t kept_named = 0) const;
  refusal host_shortage(group_id group, std::uint32_t needed, std::uint32_t available) const;
  void refuse_gpu(const claim& caller, call_id call, refusal why);
  bool spill_held(const claim& caller, group_id group, std::uint32_t count);
  void give_up_gpu(block& b);
  void give_up_host(block& b);

  // -- blocks (page_registry_blocks.cpp)
  // ---------------------------------------------------------------------------------

  block& new_block(group_id group);
  void forget(block& b);
  void own(block& b, claim& c, block_ordinal ordinal, tier bound);
  void leave(claim& c, group_id group, block_ordinal ordinal, std::optional<row_seq> seq);
  void rebind(block& b, const owner& o, tier to);
  row_seq number(claim& c);
  void note_change(claim& c, group_id group, block_ordinal ordinal, tier on, std::uint32_t slot, bool ready);
  void unname(slot_key slot, const claim& c, row_seq seq);

  /// What is due for one block now. Doing it again does nothing.
  void settle(block& b);
  void make_idle(block& b);
  void leave_idle(block& b);
  void start_copy(block& b, move_kind kind, std::uint32_t target, block* source = nullptr);
  void cancel_copy(block& b);
  void unpin(block& b);
  void defer(block& b);
  void serve_waiting();
  void number_ended_loads();
  struct parked_reply;
  parked_reply* parked_for(request_id request);
  void add_to_parked(parked_reply& parked, claim& c);
  void settle_table(claim& c);

  /// Changes a claim and keeps the blocks' counts of blockers right.
  template <class Change>
  void change_claim(claim& c, Change change);

  // -- calls (page_registry_open.cpp, page_registry_transition.cpp, page_registry_commit.cpp,
  // page_registry_release.cpp)
  // --------------------------------------------------------

  using wanted_blocks = std::vector<std::pair<block*, block_ordinal>>;

  struct matched_prefix {
    std::uint32_t blocks = 0;
    std::uint32_t whole_blocks = 0;  ///< the same without the branch
    std::vector<prefix_node*> nodes; ///< of at least `blocks` blocks
    prefix_node* branch = nullptr;   ///< behind them: shares further tokens; null: none does
    std::uint32_t branch_tokens = 0;
  };

  bool can_match(const block* b) const;
  matched_prefix longest_match(const match_prefix& message);
  void find_branch(matched_prefix& match, std::uint32_t depth, const prefix_node& end, const match_prefix& message);
  wanted_blocks blocks_of(const matched_prefix& match) const;
  std::optional<refusal> plan_match(const matched_prefix& match, const wanted_blocks& wanted) const;
  void branch_off(claim& c, const matched_prefix& match);
  void count_loads(const wanted_blocks& wanted, std::vector<std::uint32_t>& needed,
                   std::vector<kept_pages>& kept) const;
  void load_and_bind(claim& c, const wanted_blocks& wanted, grant& granted);

  void apply_history(claim& c, const history_report& report);
  void release_stale(claim& c);
  void advance_claim(claim& c, const owner_transition& message);
  bool has_too_few_free(std::uint32_t slots) const;
  void grow(claim& c, std::uint32_t blocks, grant& granted);
  void commit(claim& c, const block_keys& keys, grant& granted);
  void share(claim& c, group_id group, block_ordinal ordinal, prefix_node& node, grant& granted);
  prefix_node& committed_node(const claim& c, block_ordinal ordinal) const;
  void enter_decode(claim& c, const owner_transition& message);
  void shrink(claim& c, const owner_transition& message);
  void drop(claim& c, const owner_transition& message);
  void suspend(claim& c, const owner_transition& message);
  void resume(claim& c, const owner_transition& message);
  void release(claim& c, std::optional<row_seq> seq, const history_report& report);
  void fence_bound_pages(const claim& c, const fence_set& fences, block_ordinal from = 0);
  void fence_running(claim& c, const fence_set& running, block_ordinal from = 0);
  void cut_table(claim& c, block_ordinal from, const fence_set& running = {});

  // -- copies (page_registry_copies.cpp)
  // ------------------------------------------------------------------------------------

  void offload_done(block& b, const block_copy& copy, bool ok);
  void demote_done(block& b, const block_copy& copy, bool ok);
  void load_done(block& b, const block_copy& copy, bool ok);
  void acknowledge(request_id request, row_seq seq, const fence_set& readers);

  // -- what routers outside are told (page_registry_events.cpp)
  // -------------------------------------------------------------------------------

  bool routers_listen() const { return config_.router_events_max > 0; }
  void enter_index(block& b, prefix_node& place);
  void leave_index(block& b);
  tier_set readable_on(const block& b) const;
  void tell_routers(outbox& out);
  void tell(block& b, tier_set now);
  void await_written(block& b);
  static index_event stored_event(const block& b, tier on);

  // -- the end of every handling (page_registry.cpp)
  // ------------------------------------------------------------------------

  using reply = std::variant<std::monostate, pages_granted, advanced, offload_accepted, transition_refused>;

  void begin(claim* caller);
  void finish(outbox& out);
  void submit(outbox& out);
  void end_deferrals();
  void count_host_runs();
  void refuse(call_id call, refusal why);
  void fill_counts(offload_accepted& reply, const claim& c) const;
  static grant* grant_of(reply& r);
  void send_reply(outbox& out, request_id to, reply r);

  configuration config_;
  slot_ledger ledger_;
  prefix_index index_;
  std::vector<idle_pages> idle_;  // [group]
  std::vector<wait_set> waiting_; // [group] for a host slot
  deferral_queue deferrals_;
  std::vector<std::vector<block*>> gpu_pages_; // [group][slot] whose page it is
  std::vector<std::vector<block*>> host_pages_;
  std::unordered_map<request_id, std::unique_ptr<claim>> claims_;
  std::unordered_map<request_id, fence_set> gone_; // rows gone before their owners were released; behind their readers
  std::unordered_map<request_id, batch_id> departed_; // released, and still shown by their batch
  std::deque<request_id> suspended_;                  // oldest first
  std::deque<block> blocks_;                          // records are reused
  std::vector<block*> unused_blocks_;
  std::unordered_map<move_id, block*> moves_; // copies under way

  /// GPU slots granted behind a demotion that is not on a stream yet, by slot; true: free as soon as it is.
  std::unordered_map<std::uint64_t, bool> behind_demotion_;

  struct parked_reply {
    request_id to;
    std::vector<move_id> waits_for;
    reply what;
  };
  std::vector<parked_reply> parked_;

  std::uint64_t last_block_ = 0;
  std::uint64_t last_move_ = 0;
  std::uint64_t last_idle_ = 0;
  std::uint64_t publications_ = 0;
  bool unsubmitted_ = false; // storage has been sent copies that it need not submit yet
  fence_set passed_;
  bool watching_ = false;
  std::uint64_t last_event_ = 0;
  std::vector<block*> unwritten_; // blocks of the index whose GPU pages are told when they are written
  fence_set written_watched_;     // what is watched for their sake
  counters_told counters_;

  // Results of the handling in progress.
  claim* caller_ = nullptr;
  reply reply_;
  std::vector<std::uint32_t> promised_host_; ///< [group] host slots that the call in progress was admitted for
  std::vector<page_move> copies_;
  std::vector<move_id> cancels_;
  fence_set before_to_host_;
  fence_set before_to_gpu_;
  std::vector<move_id> reply_waits_for_;
  std::vector<claim*> changed_;
  std::vector<block*> touched_;
  std::vector<block*> new_waiters_;
  std::vector<request_id> loads_ended_;
  std::vector<index_event> events_;
  fence_set written_unwatched_;
};

template <class Change>
void page_registry::change_claim(claim& c, Change change) {
  auto count = [&](int step) {
    for (std::size_t g = 0; g < groups(); ++g)
      for (block_ordinal o = c.first_held.empty() ? 0 : c.first_held[g]; o < c.blocks; ++o)
        if (block* b = c.tables[g][o].held; b != nullptr && needs_gpu(c, group_at(g), o))
          b->blockers += static_cast<std::uint32_t>(step);
  };
  count(-1);
  change(c);
  count(+1);
}

} // namespace kvferry
