// Events of the JSON trace format, gathered in any order and written in the order of time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kvferry {

/// The two groups of rows.
constexpr std::uint32_t actors_process = 1;
constexpr std::uint32_t device_process = 2;

/// A row of the picture.
struct perfetto_track {
  std::uint32_t process = 0;
  std::uint32_t thread = 0;
};

class perfetto_events {
public:
  void name_process(std::uint32_t process, std::string_view name);
  void name_track(perfetto_track track, std::string_view name);

  /// From `begin` to `end`. `args` is JSON of an object.
  void slice(perfetto_track on, std::uint64_t begin, std::uint64_t end, std::string_view name,
             std::string_view args = "{}");
  void instant(perfetto_track on, std::uint64_t at, std::string_view name);

  /// An arrow; both ends lie inside of slices of their tracks.
  void arrow_begins(perfetto_track on, std::uint64_t at, std::uint64_t id, std::string_view name);
  void arrow_ends(perfetto_track on, std::uint64_t at, std::uint64_t id, std::string_view name);

  /// A span that lies on no track: phase 'b' begins, 'n' marks, 'e' ends it.
  void span(char phase, std::uint64_t at, std::uint64_t id, std::string_view name, std::string_view args = "{}");

  void counter(std::uint64_t at, std::string_view name, std::uint64_t value);

  /// The file's text.
  std::string text();

private:
  struct event {
    std::uint64_t at = 0;
    std::string json;
  };

  void add(char phase, perfetto_track on, std::uint64_t at, std::string_view name, std::string_view rest);

  std::vector<event> events_;
};

} // namespace kvferry
