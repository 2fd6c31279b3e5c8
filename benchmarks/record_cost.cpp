// What recording costs where messages are handled: processor time of the handling thread for a message of each kind,
// with a recorder and without. The recorder's own thread writes to /dev/null meanwhile.
#include <algorithm>
#include <ctime>
#include <vector>

#include <fmt/format.h>

#include "actors/actor_environment.hpp"
#include "runtime/message_recorder.hpp"

using namespace kvferry;

namespace {

constexpr int messages = 2'000; // at once; a run's recorder keeps up with it, so it does here
constexpr int rounds = 500;

double thread_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

/// A message's making, its beginning to be handled, and its end, in nanoseconds each.
template <class Make>
double cost(actor_environment& environment, Make make) {
  const address from{actor_kind::engine, 0}, to{actor_kind::page_registry, 0};
  const double begin = thread_ns();
  for (int i = 0; i < messages; ++i) {
    auto message = make(static_cast<std::uint32_t>(i));
    using message_type = decltype(message);
    (void)environment.begin_handling(from, to, 0, message_index<message_type>, &message);
  }
  return (thread_ns() - begin) / messages;
}

template <class Make>
void compare(std::string_view what, message_recorder& recorder, Make make) {
  actor_environment plain, recorded;
  recorded.observer = &recorder;
  std::vector<double> without, with;
  for (int round = 0; round < rounds; ++round) {
    without.push_back(cost(plain, make));
    with.push_back(cost(recorded, make));
    recorder.flush();
  }
  auto median = [](std::vector<double>& all) {
    std::nth_element(all.begin(), all.begin() + rounds / 2, all.end());
    return all[rounds / 2];
  };
  const double before = median(without), after = median(with);
  fmt::print("{:<44} {:>8.1f} {:>8.1f} {:>8.1f}\n", what, before, after, after - before);
}

} // namespace

int main() {
  configuration config;
  config.groups = {{"g", group_kind::sparse, 0, {{"kv", 64}}, 8, 8}};
  auto recorder = message_recorder::create("/dev/null", config);
  if (!recorder)
    return 1;
  fmt::print("{:<44} {:>8} {:>8} {:>8}\n", "ns a message, of the handling thread", "without", "with", "costs");
  compare("row_acknowledged (2 numbers)", **recorder, [](std::uint32_t i) {
    return row_acknowledged{request_id{i}, i};
  });
  compare("fence_passed (a fence)", **recorder, [](std::uint32_t i) { return fence_passed{fence{stream_id{1}, i}}; });
  compare("copies_done (4 results)", **recorder, [](std::uint32_t i) {
    return copies_done{std::vector<move_result>(4, move_result{move_id{i}, block_id{i}, move_outcome::completed})};
  });
  compare("row_changed (3 pages, 1 group)", **recorder, [](std::uint32_t i) {
    return row_changed{request_id{i}, i, false, std::vector<page_change>(3), std::vector<group_history>(1)};
  });
  compare("advance (1 token)", **recorder, [](std::uint32_t i) {
    return advance{call_id{i}, {i, fence{stream_id{1}, i}, {}}, {7}, 0, false};
  });
  return 0;
}
