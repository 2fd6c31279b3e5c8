// The device's streams in a picture of a run: work is drawn from its submission, or from the end of what was there
// before it, to the moment at which the host learned that it had passed.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <string>

#include <fmt/format.h>

#include "kvferry/fence.hpp"
#include "runtime/trace/perfetto_events.hpp"

namespace kvferry {

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

} // namespace kvferry
