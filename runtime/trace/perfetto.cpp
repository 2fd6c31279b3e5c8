#include "runtime/trace/perfetto.hpp"

#include <map>

#include <fmt/format.h>

#include "messages/message_kind.hpp"
#include "runtime/trace/perfetto_counters.hpp"
#include "runtime/trace/perfetto_streams.hpp"
#include "runtime/trace/replayer.hpp"

namespace kvferry {

namespace {

// Where things are drawn in the 10 microseconds of a record.
constexpr std::uint64_t sends = 0;    // the engine's slice for an input …
constexpr std::uint64_t sent = 3;     // … and its end
constexpr std::uint64_t handles = 4;  // the handling's slice begins
constexpr std::uint64_t handled = 9;  // and ends, behind its last call on the device
constexpr std::uint64_t call_end = 8; // of a call's slice

std::uint64_t time_of(std::uint64_t seq, std::uint64_t part) { return seq * 10 + part; }

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
    registry_counters counters{file_.config(), events_, [](std::uint64_t seq) { return time_of(seq, handles); }};
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
          events_.span('e', at, result.move.value(), name.mapped(),
                       result.outcome == move_outcome::completed ? "{}" : R"({"failed":true})");
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
