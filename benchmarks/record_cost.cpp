// What recording costs where messages are handled: processor time of the handling thread for a message of each kind,
// with a recorder and without. The recorder's own thread writes to /dev/null meanwhile.
//
// With a record as its argument: the same for the messages of that run, in their order.
#include <algorithm>
#include <ctime>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "actors/actor_environment.hpp"
#include "benchmarks/timing.hpp"
#include "messages/message_kind.hpp"
#include "runtime/message_recorder.hpp"
#include "runtime/trace/trace_file.hpp"

using namespace kvferry;

namespace {

constexpr std::size_t messages_at_once = 2'000; // a run's recorder keeps up with it, so it does here
constexpr std::size_t bytes_at_once = 256 << 10;
constexpr int rounds = 500;
constexpr int rounds_of_a_run = 5;
constexpr std::size_t large_bytes = 1'024;

const address engine{actor_kind::engine, 0}, registry{actor_kind::page_registry, 0};

double thread_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

/// Messages [begin, end) that are handled one behind the other; then the recorder has time to write.
struct stretch {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// `handle_one(environment, i)` makes message i and begins to handle it.
template <class HandleOne>
double cost_ns(actor_environment& environment, const stretch& some, HandleOne handle_one) {
  const double begin = thread_ns();
  for (std::size_t i = some.begin; i < some.end; ++i)
    handle_one(environment, i);
  return thread_ns() - begin;
}

/// Nanoseconds a message without a recorder and with it.
template <class HandleOne>
void compare(std::string_view what, message_recorder& recorder, const std::vector<stretch>& stretches, int times,
             HandleOne handle_one) {
  actor_environment plain, recorded;
  recorded.observer = &recorder;
  const auto count = static_cast<double>(stretches.back().end);
  std::vector<double> without, with;
  for (int round = 0; round < times; ++round) {
    double before = 0, after = 0;
    for (const stretch& some : stretches) {
      (void)cost_ns(plain, some, handle_one); // what it reads is in the cache from then on
      before += cost_ns(plain, some, handle_one);
      after += cost_ns(recorded, some, handle_one);
      recorder.flush();
    }
    without.push_back(before / count);
    with.push_back(after / count);
  }
  const double before = bench::median(without), after = bench::median(with);
  fmt::print("{:<44} {:>8.1f} {:>8.1f} {:>8.1f}\n", what, before, after, after - before);
}

template <class Make>
void compare(std::string_view what, message_recorder& recorder, Make make) {
  compare(what, recorder, {{0, messages_at_once}}, rounds, [&](actor_environment& environment, std::size_t i) {
    auto message = make(static_cast<std::uint32_t>(i));
    (void)environment.begin_handling(engine, registry, 0, message_index<decltype(message)>, &message);
  });
}

void compare_kinds(message_recorder& recorder) {
  compare("row_acknowledged (2 numbers)", recorder, [](std::uint32_t i) { return row_acknowledged{request_id{i}, i}; });
  compare("fence_passed (a fence)", recorder, [](std::uint32_t i) { return fence_passed{fence{stream_id{1}, i}}; });
  compare("copies_done (4 results)", recorder, [](std::uint32_t i) {
    return copies_done{std::vector<move_result>(4, move_result{move_id{i}, block_id{i}, move_outcome::completed})};
  });
  compare("row_changed (3 pages, 1 group)", recorder, [](std::uint32_t i) {
    return row_changed{request_id{i}, i, false, std::vector<page_change>(3), std::vector<group_history>(1)};
  });
  compare("advance (1 token)", recorder, [](std::uint32_t i) {
    return advance{call_id{i}, {i, fence{stream_id{1}, i}, {}}, {7}, 0, false};
  });
  compare("row_changed (60 pages, 3 groups)", recorder, [](std::uint32_t i) {
    return row_changed{request_id{i}, i, false, std::vector<page_change>(60), std::vector<group_history>(3)};
  });
}

/// A message of a run, as bytes from which it is made when its turn comes.
struct kept_message {
  std::uint32_t kind = 0;
  std::vector<std::byte> bytes;
};

std::vector<kept_message> messages_of(const trace_file& record) {
  std::vector<kept_message> kept;
  for (const trace_record& each : record.records())
    if (auto message = trace_file::message_of(each)) {
      const message_kind& kind = message_kinds()[each.kind];
      kept.push_back({each.kind, std::vector<std::byte>(kind.write(message->body(), nullptr, 0))});
      (void)kind.write(message->body(), kept.back().bytes.data(), kept.back().bytes.size());
    }
  return kept;
}

void compare_run(std::string_view what, message_recorder& recorder, const std::vector<kept_message>& run) {
  if (run.empty())
    return;
  std::vector<std::optional<any_message>> made(message_kinds().size());
  std::vector<stretch> stretches{{0, 0}};
  std::size_t bytes = 0, in_stretch = 0;
  for (std::size_t i = 0; i < run.size(); ++i) {
    if (in_stretch > bytes_at_once || i - stretches.back().begin == messages_at_once) {
      stretches.push_back({i, i});
      in_stretch = 0;
    }
    stretches.back().end = i + 1;
    made[run[i].kind] = message_kinds()[run[i].kind].blank();
    bytes += run[i].bytes.size();
    in_stretch += run[i].bytes.size();
  }
  const std::string line = fmt::format("{}: {} of {} bytes", what, run.size(), bytes / run.size());
  compare(line, recorder, stretches, rounds_of_a_run, [&](actor_environment& environment, std::size_t i) {
    const kept_message& each = run[i];
    message_kinds()[each.kind].read(each.bytes.data(), made[each.kind]->body());
    (void)environment.begin_handling(engine, registry, 0, each.kind, made[each.kind]->body());
  });
}

int compare_record(const char* file, message_recorder& recorder) {
  auto record = trace_file::read(file);
  if (!record) {
    fmt::print(stderr, "{}\n", record.error().message);
    return 1;
  }
  const std::vector<kept_message> all = messages_of(*record);
  std::vector<kept_message> small, large;
  for (const kept_message& each : all)
    (each.bytes.size() < large_bytes ? small : large).push_back(each);
  compare_run("all", recorder, all);
  compare_run(fmt::format("below {} bytes", large_bytes), recorder, small);
  compare_run("others", recorder, large);
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  configuration config;
  config.groups = {{"g", group_kind::sparse, 0, {{"kv", 64}}, 8, 8}};
  auto recorder = message_recorder::create("/dev/null", config);
  if (!recorder)
    return 1;
  fmt::print("{:<44} {:>8} {:>8} {:>8}\n", "ns a message, of the handling thread", "without", "with", "costs");
  if (argc > 1)
    return compare_record(argv[1], **recorder);
  compare_kinds(**recorder);
  return 0;
}
