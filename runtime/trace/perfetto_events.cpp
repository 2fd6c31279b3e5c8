#include "runtime/trace/perfetto_events.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace kvferry {

namespace {

std::string quoted(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

} // namespace

void perfetto_events::add(char phase, perfetto_track on, std::uint64_t at, std::string_view name,
                          std::string_view rest) {
  events_.push_back({at, fmt::format(R"({{"ph":"{}","pid":{},"tid":{},"ts":{},"name":{}{}}})", phase, on.process,
                                     on.thread, at, quoted(name), rest)});
}

void perfetto_events::name_process(std::uint32_t process, std::string_view name) {
  add('M', {process, 0}, 0, "process_name", fmt::format(R"(,"args":{{"name":{}}})", quoted(name)));
}

void perfetto_events::name_track(perfetto_track track, std::string_view name) {
  add('M', track, 0, "thread_name", fmt::format(R"(,"args":{{"name":{}}})", quoted(name)));
  add('M', track, 0, "thread_sort_index", fmt::format(R"(,"args":{{"sort_index":{}}})", track.thread));
}

void perfetto_events::slice(perfetto_track on, std::uint64_t begin, std::uint64_t end, std::string_view name,
                            std::string_view args) {
  add('X', on, begin, name, fmt::format(R"(,"dur":{},"args":{})", end - begin, args));
}

void perfetto_events::instant(perfetto_track on, std::uint64_t at, std::string_view name) {
  add('i', on, at, name, R"(,"s":"t")");
}

void perfetto_events::arrow_begins(perfetto_track on, std::uint64_t at, std::uint64_t id, std::string_view name) {
  add('s', on, at, name, fmt::format(R"(,"cat":"message","id":{})", id));
}

void perfetto_events::arrow_ends(perfetto_track on, std::uint64_t at, std::uint64_t id, std::string_view name) {
  add('f', on, at, name, fmt::format(R"(,"cat":"message","id":{},"bp":"e")", id));
}

void perfetto_events::span(char phase, std::uint64_t at, std::uint64_t id, std::string_view name,
                           std::string_view args) {
  add(phase, {actors_process, 0}, at, name, fmt::format(R"(,"cat":"page move","id":{},"args":{})", id, args));
}

void perfetto_events::counter(std::uint64_t at, std::string_view name, std::uint64_t value) {
  add('C', {actors_process, 0}, at, name, fmt::format(R"(,"args":{{"value":{}}})", value));
}

std::string perfetto_events::text() {
  std::stable_sort(events_.begin(), events_.end(), [](const event& a, const event& b) { return a.at < b.at; });
  std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  for (const event& each : events_)
    text.append(&each == &events_.front() ? "" : ",\n").append(each.json);
  return text + "\n]}\n";
}

} // namespace kvferry
