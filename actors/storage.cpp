#include "actors/storage.hpp"

#include <algorithm>
#include <unordered_set>

#include "actors/planted_fault.hpp"
#include "actors/slot_ledger.hpp"

namespace kvferry {

namespace {

std::uint64_t key_of_submission(fence f) { return std::uint64_t{f.stream.value()} << 48 | f.sequence; }

} // namespace

storage::storage(device& target)
    : device_(target), to_host_{copy_direction::to_host, target.create_stream("copies to host"), {}, {}},
      to_gpu_{copy_direction::to_gpu, target.create_stream("copies to gpu"), {}, {}},
      branches_{copy_direction::within_gpu, to_gpu_.stream, {}, {}} {}

void storage::handle(const copy_pages& message, outbox& out) {
  for (const page_move& move : message.moves)
    lane_of(move).queued.push_back(move);
  to_host_.before.add(message.before_to_host);
  to_gpu_.before.add(message.before_to_gpu);
  if (message.urgent)
    handle(submit_copies{}, out);
}

storage::lane& storage::lane_of(const page_move& move) {
  if (!goes_to_gpu(move.kind))
    return to_host_;
  return move.host.is_none() ? branches_ : to_gpu_;
}

/// Each move is answered once: here only what never got to a stream.
void storage::handle(const cancel_copies& message, outbox& out) {
  copies_done done;
  for (lane* from : {&to_host_, &to_gpu_, &branches_})
    std::erase_if(from->queued, [&](const page_move& move) {
      const bool cancelled = std::ranges::find(message.moves, move.move) != message.moves.end();
      if (cancelled)
        done.results.push_back({move.move, move.block, move_outcome::cancelled});
      return cancelled;
    });
  if (!done.results.empty())
    out.send(std::move(done));
}

void storage::handle(const submit_copies&, outbox& out) {
  const bool both = !to_host_.queued.empty() && !to_gpu_.queued.empty();
  if (both && branches_.queued.empty() && !loads_follow_demotions()) {
    const std::vector<page_copy> down = copies_of(to_host_);
    const std::vector<page_copy> up = copies_of(to_gpu_);
    const copy_list lists[] = {list_of(to_host_, down), list_of(to_gpu_, up)};
    const std::vector<fence> behind = device_.copy_lists(lists);
    submitted(to_host_, behind[0], out);
    submitted(to_gpu_, behind[1], out);
    return;
  }
  submit(to_host_, out);           // first: a load may go to a slot whose page is on its way to the host
  if (!branches_.queued.empty()) { // on the same stream as loads, which may come first
    branches_.before.add(to_gpu_.before);
    submit(branches_, out);
  }
  submit(to_gpu_, out);
}

/// A queued load goes to a slot whose page is queued to go to the host.
bool storage::loads_follow_demotions() const {
  std::unordered_set<std::uint64_t> leaving;
  for (const page_move& move : to_host_.queued)
    if (move.kind == move_kind::demote)
      leaving.insert(key_of(move.group, move.gpu).packed());
  return !leaving.empty() && std::ranges::any_of(to_gpu_.queued, [&](const page_move& move) {
    return leaving.contains(key_of(move.group, move.gpu).packed());
  });
}

void storage::submit(lane& from, outbox& out) {
  if (from.queued.empty())
    return;
  const std::vector<page_copy> copies = copies_of(from);
  const copy_list list = list_of(from, copies);
  submitted(from, device_.copy_lists({&list, 1}).front(), out);
}

/// What is queued, as the device takes it. Notes what it has to come after.
std::vector<page_copy> storage::copies_of(lane& from) {
  std::vector<page_copy> copies;
  copies.reserve(from.queued.size());
  for (const page_move& move : from.queued) {
    copies.push_back({move.group, move.gpu, move.host, move.from});
    if (from.direction != copy_direction::to_host && !planted(fault::load_wait_dropped))
      if (auto demoted = demoted_.find(key_of(move.group, move.gpu).packed()); demoted != demoted_.end())
        from.before.add(demoted->second);
  }
  return copies;
}

copy_list storage::list_of(lane& from, const std::vector<page_copy>& copies) {
  return {from.stream, from.direction, copies, std::exchange(from.before, {})};
}

void storage::submitted(lane& from, fence behind, outbox& out) {
  for (const page_move& move : from.queued)
    if (move.kind == move_kind::demote)
      demoted_[key_of(move.group, move.gpu).packed()] = behind;
  out.send(copies_submitted{from.queued, behind});
  out.send(watch_copies{behind});
  in_flight_.emplace(key_of_submission(behind), std::exchange(from.queued, {}));
}

void storage::handle(const copy_completed& message, outbox& out) {
  auto found = in_flight_.find(key_of_submission(message.submitted));
  if (found == in_flight_.end())
    return; // answered already
  std::vector<page_move> moves = std::move(found->second);
  in_flight_.erase(found);
  copies_done done;
  done.results.reserve(moves.size());
  for (const page_move& move : moves) {
    done.results.push_back({move.move, move.block, move_outcome::completed});
    auto demoted = demoted_.find(key_of(move.group, move.gpu).packed());
    if (demoted != demoted_.end() && demoted->second == message.submitted)
      demoted_.erase(demoted);
  }
  for (std::uint32_t position : message.failed)
    done.results[position].outcome = move_outcome::failed;
  out.send(std::move(done));
}

std::size_t storage::unfinished() const {
  std::size_t count = to_host_.queued.size() + to_gpu_.queued.size() + branches_.queued.size();
  for (const auto& [submission, moves] : in_flight_)
    count += moves.size();
  return count;
}

} // namespace kvferry
