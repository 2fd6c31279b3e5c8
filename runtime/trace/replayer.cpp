#include "runtime/trace/replayer.hpp"

#include "messages/json.hpp"
#include "messages/message_kind.hpp"

namespace kvferry {

namespace {

/// Of the kinds that an actor handles, or the engine.
bool is_message(const trace_record& record) {
  return record.to.kind != actor_kind::device && !record.is<create_batch>() && !record.is<end_of_run>();
}

bool same(const trace_record& recorded, const any_message& replayed) {
  if (recorded.kind != replayed.index())
    return false;
  std::string text;
  print_body(replayed, text);
  return text == recorded.body;
}

} // namespace

replayer::replayer(const trace_file& file, std::optional<address> only)
    : file_(file), only_(only), actors_(file.config(), device_) {
  for (const trace_record& record : file.records()) {
    if (is_message(record))
      last_handled_[record.to] = record.seq;
    last_cause_[{record.from, record.to}] = record.cause;
  }
}

bool replayer::is_live(const address& who) const {
  return who.kind != actor_kind::engine && who.kind != actor_kind::device && (!only_ || *only_ == who);
}

void replayer::run(replay_observer* observer) {
  for (const trace_record& record : file_.records()) {
    if (observer != nullptr)
      observer->about_to_handle(record);
    if (!step(record, observer))
      return;
  }
  judge_left();
}

/// False: nothing can be said from here on.
bool replayer::step(const trace_record& record, replay_observer* observer) {
  if (record.to.kind == actor_kind::device) { // compared with the handling that made the call
    if (record.is<device_create_stream>() && record.is_input() && is_live(record.from) && !actors_.has_storage())
      make_storage();
    return !difference_;
  }
  if (record.is<end_of_run>())
    return true;
  if (record.is<create_batch>()) {
    auto made = trace_file::message_of(record);
    if (made && is_live(record.to))
      actors_.make_publisher(batch_id{static_cast<std::uint32_t>(record.to.number)}, *made->get_if<create_batch>());
    return true;
  }
  if (!record.is_input() && !waiting_.contains(record.seq) && is_live(record.from))
    return differ(handling_difference::kind::not_made, record.cause, &record, std::nullopt);
  if (is_live(record.to))
    return replay_handling(record, observer);
  waiting_.erase(record.seq);
  return true;
}

void replayer::make_storage() {
  device_.expect(calls_of(0, {actor_kind::storage, 0}));
  try {
    actors_.make_storage();
  } catch (device_call_differs& call) {
    if (call.recorded != nullptr || file_.ended()) // else the record ends here
      differ(handling_difference::kind::other, 0, call.recorded,
             outgoing{{actor_kind::device, 0}, std::move(call.made)});
  }
}

expected<any_message> replayer::take_message(const trace_record& record) {
  auto sent = waiting_.extract(record.seq);
  return sent ? expected<any_message>{std::move(sent.mapped())} : trace_file::message_of(record);
}

bool replayer::replay_handling(const trace_record& record, replay_observer* observer) {
  auto message = take_message(record);
  if (!message)
    return differ(handling_difference::kind::not_taken, record.seq, &record, std::nullopt);
  if (const auto* down = message->get_if<request_down>())
    actors_.kill(down->request);
  device_.expect(calls_of(record.seq, record.to));
  outbox out;
  auto outcome = replayed_actors::outcome::handled;
  try {
    outcome = actors_.handle(record.to, *message, out);
  } catch (device_call_differs& call) {
    if (call.recorded == nullptr && is_cut_in(record))
      return false;
    const auto what =
        call.recorded != nullptr ? handling_difference::kind::other : handling_difference::kind::not_recorded;
    return differ(what, record.seq, call.recorded, outgoing{{actor_kind::device, 0}, std::move(call.made)});
  }
  if (outcome == replayed_actors::outcome::not_there || outcome == replayed_actors::outcome::not_for_it)
    return differ(handling_difference::kind::not_taken, record.seq, &record, std::nullopt);
  ++handlings_;
  compared_ += device_.made();
  if (const trace_record* call = device_.not_made())
    return differ(handling_difference::kind::not_made, record.seq, call, std::nullopt);
  std::vector<outgoing> sent = out.take();
  if (observer != nullptr)
    observer->handled(record, *message, sent, actors_);
  return compare(record, record.to, sent);
}

std::vector<const trace_record*> replayer::calls_of(std::uint64_t handling, const address& caller) const {
  std::vector<const trace_record*> calls;
  for (std::uint64_t seq : file_.sent_by(handling)) {
    const trace_record& record = file_.at(seq);
    if (record.to.kind == actor_kind::device && record.from == caller)
      calls.push_back(&record);
  }
  return calls;
}

/// What was sent to one receiver is handled in the order in which it was sent.
bool replayer::compare(const trace_record& handling, const address& actor, std::vector<outgoing>& sent) {
  std::vector<bool> found(sent.size());
  for (std::uint64_t seq : file_.sent_by(handling.seq)) {
    const trace_record& recorded = file_.at(seq);
    if (!is_message(recorded) || recorded.from != actor)
      continue;
    std::size_t next = 0;
    while (next < sent.size() && (found[next] || sent[next].to != recorded.to))
      ++next;
    if (next == sent.size())
      return differ(handling_difference::kind::not_made, handling.seq, &recorded, std::nullopt);
    if (!same(recorded, sent[next].body))
      return differ(handling_difference::kind::other, handling.seq, &recorded, std::move(sent[next]));
    ++compared_;
    found[next] = true;
    waiting_.emplace(seq, std::move(sent[next].body));
  }
  for (std::size_t i = 0; i < sent.size(); ++i) {
    if (found[i])
      continue;
    auto last = last_cause_.find({actor, sent[i].to});
    if (last != last_cause_.end() && last->second > handling.seq) // what was sent later was handled
      return differ(handling_difference::kind::not_recorded, handling.seq, nullptr, std::move(sent[i]));
    left_.push_back({handling.seq, std::move(sent[i])});
  }
  return true;
}

/// The record may end in the middle of this handling.
bool replayer::is_cut_in(const trace_record& handling) const {
  return !file_.ended() && last_handled_.at(handling.to) == handling.seq;
}

/// Under `stepped` a run ends when nothing is on its way, but for words to the engine and to actors that have ended.
void replayer::judge_left() {
  if (!file_.ended() || file_.config().scheduler != scheduler_kind::stepped)
    return;
  for (left_message& left : left_)
    if (is_live(left.what.to) && !only_ && !actors_.is_gone(left.what.to)) {
      differ(handling_difference::kind::not_recorded, left.handling, nullptr, std::move(left.what));
      return;
    }
}

std::optional<outgoing> replayer::sent_instead(const trace_record& damaged) {
  for (left_message& left : left_)
    if (left.handling == damaged.cause && left.what.to == damaged.to && left.what.body.index() == damaged.kind)
      return std::move(left.what);
  return std::nullopt;
}

bool replayer::differ(handling_difference::kind what, std::uint64_t handling, const trace_record* recorded,
                      std::optional<outgoing> replayed) {
  difference_ = handling_difference{what, handling, recorded, std::move(replayed)};
  return false;
}

} // namespace kvferry
