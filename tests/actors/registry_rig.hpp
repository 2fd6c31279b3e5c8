// The page registry alone: requests, storage and publishers are played by the test. Blocks are letters: the prompt
// "ABx" is three blocks of four tokens, and requests with the same letters in front share blocks. "A" and "a" share
// their first two tokens.
//
// After each message the registry's invariants are checked, and that what it told each request is what it holds. A
// request without a row acknowledges its numbers at once, as its actor would.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/page_registry.hpp"
#include "tests/actors/sent.hpp"
#include "tests/device/rig.hpp"

namespace kvferry::test {

constexpr std::uint32_t block_tokens = 4;
inline const request_id R1{1}, R2{2}, R3{3}, R4{4};
inline const batch_id the_batch{1}, other_batch{2};
constexpr group_id sparse_group{0}, dense_group{1};

inline configuration sparse_only(std::uint32_t gpu_slots, std::uint32_t host_slots) {
  configuration config = config_of({group_of({8}, gpu_slots, host_slots)});
  config.tokens_per_block = block_tokens;
  config.defer_steps_max.reset();
  return config;
}

inline configuration sparse_and_dense(std::uint32_t gpu_slots, std::uint32_t host_slots,
                                      std::uint32_t window_tokens = 0) {
  configuration config = sparse_only(gpu_slots, host_slots);
  config.groups.push_back(group_of({8}, gpu_slots, host_slots));
  config.groups[1].kind = group_kind::dense;
  config.groups[1].window_tokens = window_tokens;
  return config;
}

struct registry_rig : sent_messages {
  explicit registry_rig(configuration c) : config(std::move(c)), registry(config) {}

  /// What the registry answered to the last call of a request.
  struct answer {
    bool refused = false;
    refusal why;
    grant granted;
    std::uint32_t matched_tokens = 0;
    bool loading = false;
    std::uint32_t moving = 0, rebound = 0, deferred = 0;
    std::uint32_t committed_blocks = 0;
  };

  struct replica {
    std::string text;
    std::vector<std::map<block_ordinal, page_change>> pages; // [group]
    std::uint32_t blocks = 0;
    row_seq seq = 0;
    row_seq acknowledged = 0;
    std::uint32_t history = 0;
    batch_id batch;
    bool row_told = true; ///< no version is to come that is the first to show its row
    bool answered = true;
    bool released = false;
    bool dead = false;
    int rebounds = 0;              ///< owners_rebound messages
    std::vector<loads_done> loads; ///< all that it was told
  };

  // -- calls of requests

  /// Opens with the prompt of these blocks.
  answer open(request_id id, std::string text, std::string adapter = "", std::string salt = "") {
    send(register_request{id});
    replica& r = requests[id];
    r.text = std::move(text);
    r.pages.resize(config.groups.size());
    return call(id, match_prefix{id, call_id{1}, std::move(adapter), std::move(salt), keys_of(r.text, 0, r.text.size()),
                                 block_tokens * static_cast<std::uint32_t>(r.text.size())});
  }

  answer transit(request_id id, transition kind, std::uint32_t history = 0, std::uint32_t capacity_blocks = 0,
                 block_keys commit = {}, fence_set written = {}, fence_set running = {}) {
    replica& r = requests.at(id);
    r.history = std::max(r.history, history);
    return call(id, owner_transition{id,
                                     call_id{1},
                                     kind,
                                     {r.history, std::move(written), std::move(running)},
                                     capacity_blocks,
                                     std::move(commit)});
  }

  answer grow(request_id id, std::uint32_t blocks) { return transit(id, transition::advance, 0, blocks); }

  /// Blocks below `blocks` have been written.
  answer write(request_id id, std::uint32_t blocks, fence_set written = {}) {
    return transit(id, transition::advance, blocks * block_tokens, 0, {}, std::move(written));
  }

  /// They enter the index.
  answer commit(request_id id, std::uint32_t blocks) {
    const std::uint32_t from = registry.find_claim(id)->committed;
    return transit(id, transition::advance, 0, 0, keys_of(requests.at(id).text, from, blocks));
  }

  answer enter_decode(request_id id) { return transit(id, transition::enter_decode); }
  answer suspend(request_id id, fence_set running = {}) {
    return transit(id, transition::suspend, 0, 0, {}, {}, std::move(running));
  }
  answer resume(request_id id) { return transit(id, transition::resume); }
  answer shrink(request_id id, std::uint32_t blocks, fence_set running = {}) {
    return transit(id, transition::shrink, 0, blocks, {}, {}, std::move(running));
  }
  answer drop(request_id id) { return transit(id, transition::drop); }

  /// Opens, takes a page for each block, writes all but the last and commits these.
  void prefill(request_id id, const std::string& text) {
    REQUIRE_FALSE(open(id, text).refused);
    const auto blocks = static_cast<std::uint32_t>(text.size());
    REQUIRE_FALSE(grow(id, blocks).refused);
    write(id, blocks - 1);
    commit(id, blocks - 1);
  }

  void close(request_id id, fence_set running = {}) {
    requests.at(id).released = true;
    send(release_owners{id, {requests.at(id).history, {}, std::move(running)}});
    REQUIRE(count<owners_released>() == 1);
  }

  void die(request_id id) {
    requests.at(id).dead = true;
    send(request_down{id});
  }

  void join(request_id id, batch_id batch = the_batch) {
    requests.at(id).batch = batch;
    requests.at(id).row_told = batch.is_none();
    send(batch_changed{id, batch});
  }

  // -- the publisher

  /// A version that shows all that requests of the batch were told, and none of those that have ended.
  void publish(fence_set readers = {}, batch_id batch = the_batch);

  // -- storage

  /// Copies decided since the last call are on streams.
  void submit(fence at = {stream_id{9}, 1}) {
    copies_submitted message{std::exchange(unsubmitted, {}), at};
    send(std::move(message));
  }

  /// Copies under way end, all in one message, as `well` says.
  template <class Predicate>
  void copies_end_if(Predicate well) {
    if (!unsubmitted.empty())
      submit();
    copies_done message;
    for (const page_move& move : std::exchange(under_way, {}))
      message.results.push_back({move.move, move.block, well(move) ? move_outcome::completed : move_outcome::failed});
    send(std::move(message));
  }

  void copies_end(bool ok = true) {
    copies_end_if([&](const page_move&) { return ok; });
  }

  /// Until none is under way.
  void all_copies_end() {
    while (!under_way.empty())
      copies_end();
  }

  /// Storage forgets what it was asked to, as far as it is on no stream.
  void cancel() {
    copies_done done;
    for (move_id asked : std::exchange(cancels, {}))
      for (std::vector<page_move>* moves : {&unsubmitted, &under_way})
        std::erase_if(*moves, [&](const page_move& move) {
          if (move.move == asked && moves == &unsubmitted)
            done.results.push_back({move.move, move.block, move_outcome::cancelled});
          return move.move == asked;
        });
    send(std::move(done));
  }

  // -- sending and looking

  template <class Message>
  void send(Message message) {
    outbox out;
    registry.handle(message, out);
    registry.check_all();
    sent = out.take();
    for (outgoing& each : sent)
      take(each);
    if (watch)
      watch(any_message{message}, sent);
    if (std::none_of(requests.begin(), requests.end(), [](const auto& r) { return !r.second.answered; }))
      check_replicas();
    if constexpr (!std::is_same_v<Message, row_acknowledged>)
      acknowledge_rowless();
  }

  std::size_t copies_of(move_kind kind) const {
    return static_cast<std::size_t>(
        std::count_if(under_way.begin(), under_way.end(), [&](const page_move& m) { return m.kind == kind; }));
  }

  page_change page(request_id id, block_ordinal ordinal, group_id group = sparse_group) const {
    const auto& pages = requests.at(id).pages[group.value()];
    auto found = pages.find(ordinal);
    return found == pages.end() ? page_change{group, ordinal, tier::none, true, 0} : found->second;
  }

  /// Tiers of a request's blocks, "ghh-".
  std::string tiers(request_id id, group_id group = sparse_group) const;

  /// Who blocks: "R2.0" by ordinal, or why.
  std::vector<std::string> why_on_gpu(request_id id, block_ordinal ordinal, group_id group = sparse_group);

  counters_told counters() {
    send(query_counters{call_id{8}});
    return only<counters_told>();
  }

  /// Invariants Q, with no copy under way.
  void check_quiet() {
    REQUIRE(registry.quiet_findings() == std::vector<std::string>{});
    REQUIRE(counters().copies == 0);
  }

  std::uint32_t free(tier on, group_id group = sparse_group) const { return registry.ledger().free_count(group, on); }
  std::uint32_t taken(tier on, group_id group = sparse_group) const { return registry.ledger().taken_count(group, on); }
  std::uint32_t retiring(tier on, group_id group = sparse_group) const {
    return registry.ledger().retiring_count(group, on);
  }

  /// Keys of the blocks [first, end) of a text.
  block_keys keys_of(const std::string& text, std::size_t first, std::size_t end) const;

  configuration config;
  page_registry registry;
  std::map<request_id, replica> requests;
  std::map<request_id, answer> answers;
  std::vector<page_move> unsubmitted;
  std::vector<page_move> under_way;
  std::vector<move_id> cancels;    ///< asked of storage
  copy_pages last_copies;          ///< as sent last
  std::vector<request_id> lost;    ///< request_lost
  std::vector<request_id> dropped; ///< drop_row
  version_number versions = 0;
  bool rowless_acknowledge = true;
  std::optional<std::uint64_t> forced_hash; ///< of every block

  /// Called after each handling, with the message and all that it sent.
  std::function<void(const any_message&, const std::vector<outgoing>&)> watch;

private:
  template <class Message>
  answer call(request_id id, Message message) {
    requests.at(id).answered = false;
    answers[id] = {};
    send(std::move(message));
    return answers[id];
  }

  void take(const outgoing& each);
  void check_replicas() const;
  void acknowledge_rowless();
};

} // namespace kvferry::test
