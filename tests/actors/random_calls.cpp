#include "tests/actors/random_calls.hpp"

namespace kvferry::test {

std::vector<configuration> small_pools() {
  std::vector<configuration> all{sparse_only(6, 3), sparse_only(7, 2), sparse_and_dense(6, 4),
                                 sparse_and_dense(8, 3, 5), sparse_only(5, 8)};
  all[0].copy_retries = 0;
  all[1].on_host_full = host_full_policy::defer;
  all[1].defer_steps_max = 2;
  all[2].copy_retries = 0;
  all[2].on_host_full = host_full_policy::defer;
  all[3].copy_retries = 1;
  all[3].defer_steps_max = 1;
  all[4].defer_steps_max = 0;
  all[4].copy_retries = 0;
  return all;
}

void random_calls::step() {
  const std::uint32_t drawn = below(100);
  if (drawn < 10)
    open();
  else if (drawn < 58) {
    if (!open_.empty())
      call(open_[below(static_cast<std::uint32_t>(open_.size()))]);
  } else if (drawn < 63)
    publish();
  else if (drawn < 66) {
    if (!unburied_.empty())
      bury(unburied_[below(static_cast<std::uint32_t>(unburied_.size()))]);
  } else if (drawn < 94)
    copies();
  else
    pass();
}

void random_calls::open() {
  if (open_.size() >= 4)
    return;
  const request_id id{++last_request_};
  std::string text;
  for (std::uint32_t blocks = 1 + below(3); text.size() < blocks;)
    text += "ABab"[below(4)];
  const auto opened = rig_.open(id, text);
  open_.push_back(id);
  if (opened.refused)
    close(id);
  else if (chance(50))
    rig_.join(id, chance(80) ? the_batch : other_batch);
}

void random_calls::call(request_id id) {
  const claim& c = *rig_.registry.find_claim(id);
  if (chance(3)) {
    die(id);
    return;
  }
  if (!rig_.requests.at(id).answered) // one call at a time
    return;
  const std::uint32_t drawn = below(100);
  if (drawn < 12 || dropped_.contains(id))
    close(id);
  else if (!c.active && drawn < 70)
    rig_.resume(id);
  else if (!c.active && drawn < 80) {
    rig_.drop(id);
    dropped_.insert(id);
  } else if (drawn < 28 && !c.load_lost)
    c.active ? rig_.suspend(id, next_fence()) : rig_.shrink(id, below(c.blocks + 1), next_fence());
  else if (!c.active || c.loads > 0)
    return;
  else if (drawn < 36)
    rig_.shrink(id, below(c.blocks + 1), next_fence());
  else
    progress(id);
}

/// History, capacity, commit and decode entry, alone or together.
void random_calls::progress(request_id id) {
  const claim& c = *rig_.registry.find_claim(id);
  registry_rig::replica& r = rig_.requests.at(id);
  while (r.text.size() < c.blocks + 2)
    r.text += "ABab"[below(4)]; // what it generates
  std::uint32_t history = c.history_tokens;
  if (chance(60))
    history += below(c.blocks * block_tokens - history + 1);
  const fence_set written = history > c.history_tokens ? fence_set{next_fence()} : fence_set{};
  if (chance(30)) {
    rig_.transit(id, transition::enter_decode, history, 0, {}, written);
    return;
  }
  const std::uint32_t complete = history / block_tokens;
  block_keys commit;
  if (chance(50) && complete > c.committed)
    commit = rig_.keys_of(r.text, c.committed, complete);
  rig_.transit(id, transition::advance, history, chance(60) ? c.blocks + below(3) : 0, std::move(commit), written);
}

void random_calls::close(request_id id) {
  rig_.close(id, chance(50) ? fence_set{next_fence()} : fence_set{});
  std::erase(open_, id);
}

void random_calls::die(request_id id) {
  rig_.die(id);
  std::erase(open_, id);
  if (rig_.requests.at(id).batch.is_none())
    unburied_.push_back(id);
}

void random_calls::bury(request_id id) {
  rig_.send(bury_request{id, {rig_.requests.at(id).history, {}, next_fence()}});
  std::erase(unburied_, id);
}

void random_calls::publish() {
  const batch_id batch = chance(70) ? the_batch : other_batch;
  rig_.publish(chance(50) ? fence_set{next_fence()} : fence_set{}, batch);
}

void random_calls::copies() {
  switch (below(6)) {
  case 0: rig_.copies_end_if([&](const page_move& move) { return ends_well(move); }); break;
  case 1: cancel(); break;
  case 2: rig_.submit(fence{stream_id{9}, ++submissions_}); break;
  default: end_copy(); break;
  }
}

/// A branch fails only under an active owner: see "a suspended request whose branch is lost is told of it".
bool random_calls::ends_well(const page_move& move) {
  if (chance(75))
    return true;
  if (move.kind != move_kind::branch)
    return false;
  return std::none_of(open_.begin(), open_.end(), [&](request_id id) {
    const claim& c = *rig_.registry.find_claim(id);
    const auto& table = c.tables[move.group.value()];
    return c.active && std::any_of(table.begin(), table.end(), [&](const claim_entry& entry) {
             return entry.held != nullptr && entry.held->id == move.block;
           });
  });
}

/// One of those that are on a stream.
void random_calls::end_copy() {
  auto submitted = [&](const page_move& move) {
    return std::none_of(rig_.unsubmitted.begin(), rig_.unsubmitted.end(),
                        [&](const page_move& other) { return other.move == move.move; });
  };
  auto at = std::find_if(rig_.under_way.begin(), rig_.under_way.end(), submitted);
  if (at == rig_.under_way.end())
    return;
  const page_move move = *at;
  rig_.under_way.erase(at);
  rig_.send(copies_done{{{move.move, move.block, ends_well(move) ? move_outcome::completed : move_outcome::failed}}});
}

/// What was asked for and is on no stream yet.
void random_calls::cancel() {
  std::erase_if(rig_.cancels, [&](move_id asked) {
    return std::none_of(rig_.unsubmitted.begin(), rig_.unsubmitted.end(),
                        [&](const page_move& move) { return move.move == asked; });
  });
  if (!rig_.cancels.empty())
    rig_.cancel();
}

void random_calls::pass() {
  if (sequence_ != passed_)
    pass(passed_ + 1 + below(static_cast<std::uint32_t>(sequence_ - passed_)));
}

void random_calls::pass(std::uint64_t up_to) {
  passed_ = up_to;
  fence_set passed;
  passed.add(fence{stream_id{1}, passed_});
  passed.add(fence{stream_id{2}, passed_});
  passed.add(fence{stream_id{9}, submissions_});
  rig_.send(fence_passed{passed});
}

void random_calls::settle() {
  rig_.all_copies_end();
  pass(sequence_);
}

void random_calls::end() {
  rig_.all_copies_end();
  while (!open_.empty())
    close(open_.back());
  while (!unburied_.empty())
    bury(unburied_.back());
  for (batch_id batch : {the_batch, other_batch})
    rig_.publish({}, batch);
  rig_.all_copies_end();
}

} // namespace kvferry::test
