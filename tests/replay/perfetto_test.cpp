// The picture of a run keeps the rules of the JSON trace format.
#include "runtime/trace/perfetto.hpp"

#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "tests/replay/edited.hpp"
#include "tests/replay/recorded_run.hpp"

namespace kvferry::test {

namespace {

using picture_json = nlohmann::json;
using track = std::pair<std::uint64_t, std::uint64_t>;

struct slice {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

track track_of(const picture_json& event) {
  return {event.at("pid").get<std::uint64_t>(), event.at("tid").get<std::uint64_t>()};
}

std::vector<picture_json> events_of(const std::string& record) {
  const picture_json picture = picture_json::parse(perfetto_of(parsed(record)));
  return picture.at("traceEvents").get<std::vector<picture_json>>();
}

std::map<track, std::vector<slice>> slices_of(const std::vector<picture_json>& events) {
  std::map<track, std::vector<slice>> slices;
  for (const picture_json& event : events)
    if (event.at("ph") == "X") {
      const auto begin = event.at("ts").get<std::uint64_t>();
      slices[track_of(event)].push_back({begin, begin + event.at("dur").get<std::uint64_t>()});
    }
  return slices;
}

/// Each slice lies inside of, or behind, the one before.
bool nests(const std::vector<slice>& slices) {
  std::vector<slice> open;
  for (const slice& each : slices) {
    while (!open.empty() && open.back().end <= each.begin)
      open.pop_back();
    if (each.end <= each.begin || (!open.empty() && each.end > open.back().end))
      return false;
    open.push_back(each);
  }
  return true;
}

bool inside_some(const std::vector<slice>& slices, std::uint64_t at) {
  for (const slice& each : slices)
    if (each.begin <= at && at <= each.end)
      return true;
  return false;
}

void require_rules(const std::vector<picture_json>& events) {
  std::uint64_t last = 0;
  for (const picture_json& event : events) {
    for (const char* field : {"ph", "pid", "tid", "ts", "name"})
      REQUIRE(event.contains(field));
    REQUIRE(event.at("ts").get<std::uint64_t>() >= last);
    last = event.at("ts").get<std::uint64_t>();
  }
  const auto slices = slices_of(events);
  for (const auto& [on, list] : slices) {
    INFO("track " << on.first << " " << on.second);
    REQUIRE(nests(list));
  }
  std::map<std::uint64_t, int> arrows, spans;
  std::set<track> named;
  for (const picture_json& event : events) {
    INFO(event.dump());
    const auto phase = event.at("ph").get<std::string>();
    const auto id = event.value("id", std::uint64_t{0});
    if (phase == "s" || phase == "f") {
      REQUIRE(inside_some(slices.at(track_of(event)), event.at("ts").get<std::uint64_t>()));
      REQUIRE(arrows[id] == (phase == "s" ? 0 : 1)); // it begins, then it ends
      ++arrows[id];
    } else if (phase == "b" || phase == "n" || phase == "e") {
      REQUIRE(spans[id] == (phase == "b" ? 0 : 1));
      spans[id] += phase == "n" ? 0 : 1;
    } else if (phase == "M" && event.at("name") == "thread_name") {
      REQUIRE(named.insert(track_of(event)).second);
    } else if (phase == "C") {
      REQUIRE(event.at("args").at("value").is_number_unsigned());
    }
  }
  for (const auto& [id, ends] : arrows)
    REQUIRE(ends == 2);
  for (const auto& [id, ends] : spans)
    REQUIRE(ends == 2);
  for (const auto& [on, list] : slices)
    REQUIRE(named.contains(on));
}

std::set<std::string> names_of(const std::vector<picture_json>& events, const std::string& phase) {
  std::set<std::string> names;
  for (const picture_json& event : events)
    if (event.at("ph") == phase)
      names.insert(event.at("ph") == "M" ? event.at("args").value("name", "") : event.at("name").get<std::string>());
  return names;
}

} // namespace

TEST_CASE("a picture keeps the format's rules: arrows bind to slices, slices nest, time does not go back") {
  require_rules(events_of(record_of_shared_block()));
  require_rules(events_of(record_of_workload(rough_options(), 6)));
}

TEST_CASE("a picture of a record that is cut keeps the rules too") {
  const auto lines = lines_of(record_of_workload(rough_options(), 6));
  require_rules(events_of(joined({lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(lines.size() / 2)})));
}

TEST_CASE("a picture shows actors, streams, page moves, versions, free slots and deferred blocks") {
  const auto events = events_of(record_of_shared_block());
  const auto tracks = names_of(events, "M");
  for (const char* name : {"engine", "page_registry", "storage", "completions", "request_cache/1", "request_cache/3",
                           "batch_publisher/1", "copies to host", "actors", "device"})
    REQUIRE(tracks.contains(name));
  REQUIRE(names_of(events, "b").contains("offload block 1"));
  REQUIRE(names_of(events, "i").contains("version 1"));
  const auto counters = names_of(events, "C");
  REQUIRE(counters.contains("free GPU slots, attention"));
  REQUIRE(counters.contains("deferred blocks"));
  std::set<std::uint64_t> deferred;
  for (const picture_json& event : events)
    if (event.at("ph") == "C" && event.at("name") == "deferred blocks")
      deferred.insert(event.at("args").at("value").get<std::uint64_t>());
  REQUIRE(deferred == std::set<std::uint64_t>{0, 1}); // the shared block, until request 2 decodes
}

} // namespace kvferry::test
