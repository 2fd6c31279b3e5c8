// kvferry-replay: replays a record of a run and says where it differs, tells the life of a block or a request, or
// writes a picture of the run. What it does is kvferry/trace.hpp.
#include <cstdio>

#include <fmt/format.h>

#include "examples/replay/options.hpp"
#include "kvferry/trace.hpp"

namespace {

constexpr int same = 0;
constexpr int different = 1;
constexpr int unusable = 2; // damaged, or not there

int refuse(const kvferry::error& why) {
  fmt::print(stderr, "kvferry-replay: {}\n", why.message);
  return unusable;
}

/// Status of a trace of which no difference was found.
int status_of(const kvferry::trace& trace) { return trace.state() == kvferry::trace_state::damaged ? unusable : same; }

int tell(const kvferry::trace& trace, const kvferry::expected<std::string>& life) {
  if (!life)
    return refuse(life.error());
  fmt::print("{}", *life);
  return status_of(trace);
}

int compare(const kvferry::trace& trace, const std::string& actor) {
  auto result = trace.replay(actor);
  if (!result)
    return refuse(result.error());
  if (result->difference) {
    fmt::print("{}", result->difference->text);
    return different;
  }
  const char* who = actor.empty() ? "all actors" : actor.c_str();
  fmt::print("{}: {} records, {} handlings replayed, {} messages and device calls compared: the same\n", who,
             result->records, result->handlings, result->compared);
  if (result->undelivered > 0)
    fmt::print("messages that nobody had handled when the record ended: {}\n", result->undelivered);
  fmt::print("{}", result->damage);
  return status_of(trace);
}

} // namespace

int main(int argc, char** argv) {
  auto options = replay::parse_options(argc, argv);
  if (!options) {
    fmt::print(options.error().status == 0 ? stdout : stderr, "{}", options.error().text);
    return options.error().status;
  }
  auto trace = kvferry::trace::read(options->trace);
  if (!trace)
    return refuse(trace.error());
  if (trace->state() != kvferry::trace_state::whole)
    fmt::print("{}: {}\n", options->trace, trace->trouble());
  if (options->block)
    return tell(*trace, trace->life_of(kvferry::block_id{*options->block}));
  if (options->request)
    return tell(*trace, trace->life_of(kvferry::request_id{*options->request}));
  if (!options->perfetto.empty())
    if (auto written = trace->write_perfetto(options->perfetto); !written)
      return refuse(written.error());
  return compare(*trace, options->actor);
}
