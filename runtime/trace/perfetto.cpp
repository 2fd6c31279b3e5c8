#include "runtime/trace/perfetto.hpp"

#include <deque>
#include <map>

#include <fmt/format.h>

#include "messages/message_kind.hpp"
#include "runtime/trace/concerned_claims.hpp"
#include "runtime/trace/perfetto_events.hpp"
#include "runtime/trace/replayer.hpp"

namespace kvferry {

namespace {

constexpr std::uint32_t actors_process = 1;
constexpr std::uint32_t device_process = 2;

// Where things are drawn in the 10 microseconds of a record.
constexpr std::uint64_t sends = 0;    // the engine's slice for an input …
constexpr std::uint64_t sent = 3;     // … and its end
constexpr std::uint64_t handles = 4;  // the handling's slice begins
constexpr std::uint64_t handled = 9;  // and ends, behind its last call on the device
constexpr std::uint64_t call_end = 8; // of a call's slice
std::uint64_t time_of(std::uint64_t seq, std::uint64_t part) { return seq * 10 + part; }

/// Counters, which only the registry itself knows.
class registry_counters final : public replay_observer {
public:
  registry_counters(const configuration& config, perfetto_events& events) : config_(config), events_(events) {}

  void handled(const trace_record& record, const any_message& message, const std::vector<outgoing>& sent,
               const replayed_actors& actors) override {
    if (record.to.kind != actor_kind::page_registry)
      return;
    const page_registry& registry = *actors.registry();
    for (std::size_t g = 0; g < config_.groups.size(); ++g)
      for (tier on : {tier::gpu, tier::host}) {
        const auto group = group_id{static_cast<std::uint8_t>(g)};
        show(record, fmt::format("free {} slots, {}", on == tier::gpu ? "GPU" : "host", config_.groups[g].name),
             registry.ledger().free_count(group, on));
      }
    for (request_id request : requests_of(message, sent))
      if (const claim* c = registry.find_claim(request))
        for (const auto& table : c->tables)
          for (const claim_entry& entry : table)
            if (entry.held != nullptr && entry.held->deferred_at != 0)
              deferred_[entry.held] = entry.held->id;
    std::erase_if(deferred_, [](const auto& d) { return d.first->id != d.second || d.first->deferred_at == 0; });
    show(record, "deferred blocks", deferred_.size());
  }

private:
  void show(const trace_record& record, const std::string& name, std::uint64_t value) {
    auto [place, fresh] = shown_.try_emplace(name, value);
    if (fresh || place->second != value)
      events_.counter(time_of(record.seq, handles), name, value);
    place->second = value;
  }

  const configuration& config_;
  perfetto_events& events_;
  std::map<std::string, std::uint64_t> shown_;
  std::map<const block*, block_id> deferred_; // records of blocks are reused, never freed
};

/// What is on its way on the device's streams: drawn from its submission, behind what was there, to its passing.
class stream_tracks {
public:
  explicit stream_tracks(perfetto_events& events) : events_(events) {}

  void name(stream_id stream, const std::string& name) { named_[stream] = name; }

  /// Work whose fence is not known yet (sequence 0) passes with the stream's next one.
  void submit(stream_id stream, std::uint64_t at, std::string what, std::uint64_t sequence) {
    track& t = tracks_[stream];
    t.pending.push_back({at, std::move(what), sequence});
    if (sequence != 0)
      for (work& each : t.pending)
        each.sequence = each.sequence == 0 ? sequence : each.sequence;
  }

  void recorded(fence f) {
    for (work& each : tracks_[f.stream].pending)
      each.sequence = each.sequence == 0 ? f.sequence : each.sequence;
  }

  void passed(const fence_set& fences, std::uint64_t at) {
    fences.for_each([&](fence f) { end_up_to(f, at); });
  }

  void waits(stream_id stream, std::uint64_t at) { events_.instant(on(stream), at, "wait"); }

  void finish(std::uint64_t at) {
    for (auto& [stream, t] : tracks_) {
      end_up_to({stream, ~std::uint64_t{0}}, at);
      auto name = named_.find(stream);
      events_.name_track(on(stream), name == named_.end() ? fmt::format("stream {}", stream.value()) : name->second);
    }
  }

private:
  struct work {
    std::uint64_t at = 0;
    std::string what;
    std::uint64_t sequence = 0;
  };

  struct track {
    std::deque<work> pending;
    std::uint64_t busy_until = 0;
  };

  static perfetto_track on(stream_id stream) { return {device_process, stream.value() + 1}; }

  void end_up_to(fence f, std::uint64_t at) {
    track& t = tracks_[f.stream];
    const bool all = f.sequence == ~std::uint64_t{0};
    while (!t.pending.empty() &&
           (all || (t.pending.front().sequence != 0 && t.pending.front().sequence <= f.sequence))) {
      const work& done = t.pending.front();
      const std::uint64_t begin = std::max(done.at, t.busy_until);
      t.busy_until = std::max(at, begin + 1);
      events_.slice(on(f.stream), begin, t.busy_until, done.what);
      t.pending.pop_front();
    }
  }

  perfetto_events& events_;
  std::map<stream_id, track> tracks_;
  std::map<stream_id, std::string> named_;
};

class picture {
public:
  explicit picture(const trace_file& file) : file_(file), streams_(events_) {}

  std::string draw() {
    events_.name_process(actors_process, "actors");
    events_.name_process(device_process, "device");
    track_of({actor_kind::engine, 0}); // the first row
    for (const trace_record& record : file_.records())
      draw_record(record);
    const std::uint64_t end = time_of(file_.records().size() + 1, 0);
    for (const auto& [move, name] : moving_)
      events_.span('e', end, move.value(), name);
    streams_.finish(end);
    registry_counters counters{file_.config(), events_};
    replayer{file_}.run(&counters);
    return events_.text();
  }

private:
  perfetto_track track_of(const address& who) {
    auto [place, fresh] = tracks_.try_emplace(who, static_cast<std::uint32_t>(tracks_.size() + 1));
    const perfetto_track track{actors_process, place->second};
    if (fresh)
      events_.name_track(track, to_string(who));
    return track;
  }

  void draw_record(const trace_record& record) {
    if (record.to.kind == actor_kind::device)
      return draw_call(record);
    const std::string_view name = message_kinds()[record.kind].name;
    const address engine{actor_kind::engine, 0};
    std::uint64_t end = time_of(record.seq, handled);
    for (std::uint64_t seq : file_.sent_by(record.seq))
      if (file_.at(seq).to.kind == actor_kind::device)
        end = time_of(seq, handled);
    events_.slice(track_of(record.to), time_of(record.seq, handles), end, name,
                  fmt::format(R"({{"record":{},"step":{},"cause":{}}})", record.seq, record.step, record.cause));
    if (record.is_input()) {
      const address sender = record.from.kind == actor_kind::engine ? record.from : engine; // a death has no slice
      events_.slice(track_of(sender), time_of(record.seq, sends), time_of(record.seq, sent), name);
      events_.arrow_begins(track_of(sender), time_of(record.seq, sends + 1), record.seq, name);
    } else {
      events_.arrow_begins(track_of(file_.at(record.cause).to), time_of(record.cause, handles + 1), record.seq, name);
    }
    events_.arrow_ends(track_of(record.to), time_of(record.seq, handles + 1), record.seq, name);
    if (is_drawn(record))
      if (auto message = trace_file::message_of(record))
        draw_message(record, *message);
  }

  static bool is_drawn(const trace_record& record) {
    return record.is<copy_pages>() || record.is<copies_submitted>() || record.is<copies_done>() ||
           record.is<published>() || record.is<streams_progressed>();
  }

  void draw_message(const trace_record& record, const any_message& message) {
    const std::uint64_t at = time_of(record.seq, handles);
    if (const auto* copies = message.get_if<copy_pages>()) {
      for (const page_move& move : copies->moves) {
        const std::string& name = moving_[move.move] =
            fmt::format("{} block {}", to_string(move.kind), move.block.value());
        events_.span('b', at, move.move.value(), name,
                     fmt::format(R"({{"group":{},"gpu_slot":{},"host_slot":{}}})", move.group.value(), move.gpu.value(),
                                 move.host.value()));
      }
    } else if (const auto* submitted = message.get_if<copies_submitted>()) {
      for (const page_move& move : submitted->moves)
        if (auto name = moving_.find(move.move); name != moving_.end())
          events_.span('n', at, move.move.value(), name->second, R"({"is":"submitted"})");
    } else if (const auto* done = message.get_if<copies_done>()) {
      for (const move_result& result : done->results)
        if (auto name = moving_.extract(result.move))
          events_.span('e', at, result.move.value(), name.mapped(), result.ok ? "{}" : R"({"failed":true})");
    } else if (const auto* told = message.get_if<published>()) {
      if (std::uint64_t& last = versions_[record.from]; told->version > last) {
        last = told->version;
        events_.instant(track_of(record.from), time_of(record.cause, handles + 2),
                        fmt::format("version {}", told->version));
      }
    } else if (const auto* progress = message.get_if<streams_progressed>()) {
      streams_.passed(progress->passed, at);
    }
  }

  void draw_call(const trace_record& record) {
    auto call = trace_file::message_of(record);
    if (!call)
      return;
    const std::uint64_t at = time_of(record.seq, handles);
    if (record.cause != 0)
      events_.slice(track_of(record.from), at, time_of(record.seq, call_end), message_kinds()[record.kind].name);
    if (const auto* made = call->get_if<device_create_stream>())
      streams_.name(made->stream, made->name);
    else if (const auto* copies = call->get_if<device_copy_pages>())
      streams_.submit(copies->stream, at, fmt::format("{} pages", copies->pages), copies->submitted.sequence);
    else if (const auto* written = call->get_if<device_write_tables>())
      streams_.submit(written->stream, at, fmt::format("{} entries", written->entries), 0);
    else if (const auto* recorded = call->get_if<device_record>())
      streams_.recorded(recorded->recorded);
    else if (const auto* waits = call->get_if<device_wait>())
      streams_.waits(waits->stream, at);
  }

  const trace_file& file_;
  perfetto_events events_;
  stream_tracks streams_;
  std::map<address, std::uint32_t> tracks_;
  std::map<move_id, std::string> moving_;
  std::map<address, std::uint64_t> versions_;
};

} // namespace

std::string perfetto_of(const trace_file& file) { return picture{file}.draw(); }

} // namespace kvferry
