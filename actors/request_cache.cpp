#include "actors/request_cache.hpp"

#include <span>

#include <fmt/format.h>
#include <xxhash.h>

#include "kvferry/contract.hpp"

namespace kvferry {

request_cache::request_cache(const configuration& config, request_id id)
    : tokens_per_block_(config.tokens_per_block), id_(id), table_(config.groups) {}

// -- calls of the engine
// -----------------------------------------------------------------------------------------------

void request_cache::start(const call& message, outbox& out) {
  running_ = message;
  running_id_ = std::visit([](const auto& c) { return c.call; }, message);
  std::visit([&](const auto& c) { begin(c, out); }, message);
}

/// Answers the running call with a refusal unless `condition` holds.
bool request_cache::require(bool condition, error_code code, std::string why, outbox& out) {
  if (condition)
    return true;
  call_done done;
  done.refused = refusal{code, std::move(why), {}};
  end_call(std::move(done), out);
  return false;
}

/// `wanted` completes "the request is not ...".
bool request_cache::require_status(bool right, std::string_view wanted, outbox& out) {
  if (status_ == status::dropped)
    return require(false, error_code::must_recompute, "the request's pages were dropped", out);
  return require(right, error_code::wrong_status, fmt::format("the request is not {}", wanted), out);
}

/// Of a table that was cut meanwhile, for want of what could not be loaded, the engine may not have heard yet.
void request_cache::note_history(std::uint32_t reported) {
  history_ = std::max(history_, std::min(reported, table_.blocks() * tokens_per_block_));
}

void request_cache::begin(const open_request& message, outbox& out) {
  KVFERRY_REQUIRE(status_ == status::fresh, "request {} is opened twice", id_.value());
  // The lengths keep adapter "x" and salt "x" apart.
  const std::string space = fmt::format("{}:{}|{}", message.adapter.size(), message.adapter, message.salt);
  namespace_hash_ = XXH3_64bits(space.data(), space.size());
  accept_tokens(message.prompt);
  out.send(match_prefix{id_,
                        message.call,
                        message.adapter,
                        message.salt,
                        {0, hashes_, tokens_},
                        static_cast<std::uint32_t>(tokens_.size())});
}

void request_cache::begin(const advance& message, outbox& out) {
  if (!require_status(status_ == status::active, "active", out))
    return;
  accept_tokens(message.accepted);
  note_history(message.history.tokens);
  const std::uint32_t wanted = blocks_of(message.capacity_tokens);
  transit(transition::advance, message.history, out, wanted,
          message.commit ? keys(committed_, history_ / tokens_per_block_) : block_keys{}, message.only_free);
}

void request_cache::begin(const enter_decode& message, outbox& out) {
  if (!require_status(status_ == status::active, "active", out))
    return;
  accept_tokens(message.accepted);
  note_history(message.history.tokens);
  transit(transition::enter_decode, message.history, out);
}

void request_cache::begin(const suspend_request& message, outbox& out) {
  if (!require_status(status_ == status::active || status_ == status::loading, "active or loading", out))
    return;
  accept_tokens(message.accepted);
  note_history(message.history.tokens);
  transit(transition::suspend, message.history, out);
}

void request_cache::begin(const resume_request&, outbox& out) {
  if (!require_status(status_ == status::suspended, "suspended", out))
    return;
  transit(transition::resume, {history_, {}, {}}, out);
}

void request_cache::begin(const shrink_request& message, outbox& out) {
  if (!require_status(status_ == status::active || status_ == status::suspended, "active or suspended", out))
    return;
  note_history(message.history.tokens);
  transit(transition::shrink, message.history, out, blocks_of(message.capacity_tokens));
}

void request_cache::begin(const drop_request&, outbox& out) {
  if (!require_status(status_ == status::suspended, "suspended", out))
    return;
  transit(transition::drop, {history_, {}, {}}, out);
}

void request_cache::begin(const close_request& message, outbox& out) {
  closing_ = message.history;
  leaving_ = shown_by_publisher();
  if (leaving_)
    out.send(batch_, leave_row{id_, true});
  else
    out.send(release_owners{id_, closing_});
}

void request_cache::begin(const join_batch& message, outbox& out) {
  if (!row_.is_none() && batch_ == message.batch) {
    call_done done; // in its row already
    done.row = row_;
    end_call(std::move(done), out);
    return;
  }
  if (!require(!shown_by_publisher(), error_code::in_other_batch,
               fmt::format("the request is in batch {} until its row is gone", batch_.value()), out))
    return;
  batch_ = message.batch;
  out.send(batch_changed{id_, batch_});
  table_.update_history(decoding_ && visible(), history_ / tokens_per_block_);
  row_visible_ = visible();
  out.send(batch_, join_row{id_, seq_, visible() ? table_.all() : std::vector<page_change>{},
                            visible() ? table_.history() : std::vector<group_history>{}});
}

void request_cache::begin(const leave_batch&, outbox& out) {
  leaving_ = !row_.is_none();
  if (leaving_)
    out.send(batch_, leave_row{id_, false});
  else
    end_call({}, out); // nothing to leave
}

void request_cache::handle(const query_storage& message, outbox& out) {
  std::vector<page_change> pages = table_.all();
  out.send(storage_told{message.call, id_, seq_, table_.blocks(), std::move(pages), table_.history()});
}

void request_cache::handle(const query_host_pages& message, outbox& out) {
  out.send(host_pages_told{message.call, table_.on_host(message.group)});
}

void request_cache::transit(transition kind, const history_report& history, outbox& out, std::uint32_t capacity_blocks,
                            block_keys commit, bool only_free) {
  history_report exact = history;
  exact.tokens = history_; // rule 3: every call carries the exact history
  out.send(owner_transition{id_, running_id_, kind, std::move(exact), capacity_blocks, std::move(commit), only_free});
}

/// Tokens behind those that are known, and the chain hashes of the blocks they complete.
void request_cache::accept_tokens(const std::vector<token>& accepted) {
  tokens_.insert(tokens_.end(), accepted.begin(), accepted.end());
  while ((hashes_.size() + 1) * tokens_per_block_ <= tokens_.size()) {
    const token* first = tokens_.data() + hashes_.size() * tokens_per_block_;
    const std::uint64_t parent = hashes_.empty() ? namespace_hash_ : hashes_.back();
    hashes_.push_back(XXH3_64bits_withSeed(first, tokens_per_block_ * sizeof(token), parent));
  }
}

block_keys request_cache::keys(block_ordinal first, block_ordinal end) const {
  end = std::min<block_ordinal>(end, static_cast<block_ordinal>(hashes_.size()));
  if (first >= end)
    return {first, {}, {}};
  const std::ptrdiff_t t = tokens_per_block_;
  return {first,
          {hashes_.begin() + first, hashes_.begin() + end},
          {tokens_.begin() + first * t, tokens_.begin() + end * t}};
}

// -- answers of the registry
// -------------------------------------------------------------------------------------------

void request_cache::apply(row_seq seq, const std::vector<page_change>& changes) {
  table_.apply(changes);
  seq_ = std::max(seq_, seq);
}

/// Changes may name blocks that are new, and blocks that are no more.
void request_cache::take_grant(const grant& granted) {
  table_.resize(std::max(table_.blocks(), granted.blocks));
  apply(granted.seq, granted.changes);
  table_.resize(granted.blocks);
}

call_done request_cache::reply_to(const grant& granted) const {
  call_done done;
  done.after = granted.after;
  done.unnames = granted.unnames;
  done.capacity_tokens = table_.blocks() * tokens_per_block_;
  return done;
}

void request_cache::handle(const pages_granted& message, outbox& out) {
  take_grant(message.granted);
  status_ = message.loading ? status::loading : status::active;
  if (!message.loading)
    table_.mark_ready(); // loads that ended while it was suspended
  const bool opening = running_ && std::holds_alternative<open_request>(*running_);
  if (opening) {
    history_ = message.matched_tokens;
    committed_ = message.matched_tokens / tokens_per_block_;
  }
  show(true, table_.all(), out);
  call_done done = reply_to(message.granted);
  done.loading = message.loading;
  if (opening) {
    out.send(request_opened{running_id_, id_, message.matched_tokens, message.loading, done.after, done.unnames, {}});
    finish_call(out);
  } else {
    end_call(std::move(done), out);
  }
}

void request_cache::handle(const advanced& message, outbox& out) {
  take_grant(message.granted);
  committed_ = message.committed_blocks;
  const bool dropping = running_ && std::holds_alternative<drop_request>(*running_);
  const bool suspending = running_ && std::holds_alternative<suspend_request>(*running_);
  if (dropping || suspending)
    status_ = dropping ? status::dropped : status::suspended;
  const bool shrinking = running_ && std::holds_alternative<shrink_request>(*running_); // its row may fit again
  show(suspending || shrinking, shrinking ? table_.all() : message.granted.changes, out);
  end_call(reply_to(message.granted), out);
}

void request_cache::handle(const offload_accepted& message, outbox& out) {
  apply(message.granted.seq, message.granted.changes);
  decoding_ = true;
  show(false, message.granted.changes, out);
  call_done done = reply_to(message.granted);
  done.moving = message.moving;
  done.rebound = message.rebound;
  done.deferred = message.deferred;
  end_call(std::move(done), out);
}

void request_cache::handle(const transition_refused& message, outbox& out) {
  if (running_ && std::holds_alternative<open_request>(*running_)) {
    out.send(request_opened{running_id_, id_, 0, false, {}, {}, message.why});
    out.send(release_owners{id_, {}}); // it was never opened: the id is forgotten, and this actor ends
    return;
  }
  call_done done;
  done.capacity_tokens = table_.blocks() * tokens_per_block_;
  done.refused = message.why;
  end_call(std::move(done), out);
}

void request_cache::handle(const owners_rebound& message, outbox& out) {
  apply(message.seq, message.changes);
  show(false, message.changes, out);
}

void request_cache::handle(const loads_done& message, outbox& out) {
  apply(message.seq, message.changes);
  if (message.blocks < table_.blocks())
    table_.resize(message.blocks);
  history_ = std::min(history_, table_.blocks() * tokens_per_block_);
  committed_ = std::min(committed_, table_.blocks());
  table_.mark_ready();
  const bool runs = status_ == status::loading;
  if (!runs && (status_ != status::suspended || !message.lost))
    return; // what became of the loads of one that was suspended meanwhile matters only when they were lost
  if (runs) {
    status_ = status::active;
    show(true, table_.all(), out);
  } else {
    show(false, {}, out);
  }
  out.send(request_ready{id_, shown_by_publisher() ? seq_ : 0, history_, table_.blocks() * tokens_per_block_, runs,
                         message.lost});
}

void request_cache::handle(const owners_released&, outbox& out) {
  status_ = status::closed;
  if (running_ && std::holds_alternative<close_request>(*running_))
    out.send(request_closed{running_id_, id_});
  running_.reset();
  for (const call& waiting : std::exchange(queue_, {})) // invariant 13: every call gets a reply
    std::visit(
        [&](const auto& c) {
          if constexpr (std::is_same_v<std::decay_t<decltype(c)>, close_request>)
            out.send(request_closed{c.call, id_});
          else {
            call_done done;
            done.call = c.call;
            done.request = id_;
            done.refused = refusal{error_code::unknown_request, "the request is closed", {}};
            out.send(std::move(done));
          }
        },
        waiting);
}

// -- words of the publisher
// --------------------------------------------------------------------------------------------

void request_cache::handle(const row_joined& message, outbox& out) {
  if (message.row.is_none()) {
    batch_ = batch_id::none();
    out.send(batch_changed{id_, batch_});
    acknowledge_here(out);
    require(false, error_code::batch_full, fmt::format("batch {} has no free row", message.batch.value()), out);
    return;
  }
  row_ = message.row;
  call_done done;
  done.row = row_;
  end_call(std::move(done), out);
}

void request_cache::handle(const row_left&, outbox& out) {
  row_ = row_id::none();
  if (std::exchange(leaving_, false))
    left_row(out);
}

void request_cache::handle(const row_gone& message, outbox& out) {
  if (message.batch != batch_)
    return;
  row_ = row_id::none();
  batch_ = batch_id::none();
  out.send(batch_changed{id_, batch_});
  out.send(row_acknowledged{id_, seq_}); // also what was on its way to a batch that has closed
  reported_ = seq_;
  if (std::exchange(leaving_, false)) // the batch has closed: leave_row found nobody
    left_row(out);
}

/// What a close or a leave goes on with.
void request_cache::left_row(outbox& out) {
  if (running_ && std::holds_alternative<close_request>(*running_))
    out.send(release_owners{id_, closing_});
  else
    end_call({}, out);
}

// -- showing and answering
// ---------------------------------------------------------------------------------------------

/// Each number reaches the registry once: through the publisher as soon as there was a row, else from here. With
/// `whole` the row shows `changes` and nothing else; what is not active shows nothing.
void request_cache::show(bool whole, const std::vector<page_change>& changes, outbox& out) {
  std::vector<group_history> history = table_.update_history(decoding_ && visible(), history_ / tokens_per_block_);
  if (!shown_by_publisher()) {
    acknowledge_here(out);
    return;
  }
  if (seq_ == reported_ && history.empty() && !whole)
    return; // nothing changed: no message
  // A publication waits for numbers: under one that the row has shown already it would not wait for this.
  KVFERRY_REQUIRE(seq_ != reported_ || visible() == row_visible_, "request {} shows its row {} under number {} twice",
                  id_.value(), visible() ? "again" : "no more", seq_);
  reported_ = seq_;
  row_visible_ = visible();
  if (!visible())
    out.send(batch_, row_changed{id_, seq_, true, {}, {}});
  else
    out.send(batch_, row_changed{id_, seq_, whole, changes, whole ? table_.history() : std::move(history)});
}

void request_cache::acknowledge_here(outbox& out) {
  if (seq_ == reported_)
    return;
  reported_ = seq_;
  out.send(row_acknowledged{id_, seq_});
}

void request_cache::end_call(call_done done, outbox& out) {
  done.call = running_id_;
  done.request = id_;
  done.seq = row_.is_none() ? 0 : seq_;
  done.capacity_tokens = table_.blocks() * tokens_per_block_;
  out.send(std::move(done));
  finish_call(out);
}

void request_cache::finish_call(outbox& out) {
  running_.reset();
  if (queue_.empty())
    return;
  call next = std::move(queue_.front());
  queue_.pop_front();
  start(next, out);
}

void request_cache::check_touched() const {
  if (status_ == status::closed || status_ == status::dropped)
    return;
  KVFERRY_REQUIRE(committed_ * tokens_per_block_ <= history_,
                  "2: request {}: {} blocks are committed, history is {} tokens", id_.value(), committed_, history_);
  KVFERRY_REQUIRE(history_ <= table_.blocks() * tokens_per_block_, "2: request {}: history is {} tokens, capacity {}",
                  id_.value(), history_, table_.blocks() * tokens_per_block_);
}

} // namespace kvferry
