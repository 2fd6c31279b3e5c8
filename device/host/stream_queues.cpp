#include "device/host/stream_queues.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace kvferry {

void stream_queues::add_stream() { streams_.emplace_back(); }

void stream_queues::enqueue(operation added) {
  auto& on = streams_[added.at.stream];
  on.work.push_back({enqueued_++, std::move(added)});
}

std::optional<operation> stream_queues::take_oldest() {
  std::optional<std::size_t> oldest;
  for (std::size_t i = 0; i < streams_.size(); ++i)
    if (can_run(streams_[i]) && (!oldest || streams_[i].work.front().number < streams_[*oldest].work.front().number))
      oldest = i;
  if (!oldest)
    return std::nullopt;
  return take(*oldest);
}

std::optional<operation> stream_queues::take_random(std::mt19937_64& random) {
  std::array<std::size_t, host_device::streams_max> runnable{};
  std::size_t count = 0;
  for (std::size_t i = 0; i < streams_.size(); ++i)
    if (can_run(streams_[i]))
      runnable[count++] = i;
  if (count == 0)
    return std::nullopt;
  return take(runnable[random() % count]);
}

void stream_queues::ran(const stamp& at, bool is_fence) {
  if (is_fence)
    streams_[at.stream].passed = at.sequence;
}

bool stream_queues::empty() const {
  return std::all_of(streams_.begin(), streams_.end(), [](const stream& s) { return s.work.empty(); });
}

std::string stream_queues::describe(const stream_order& order) const {
  std::string text;
  for (std::uint32_t i = 0; i < streams_.size(); ++i) {
    const stream& s = streams_[i];
    if (s.work.empty())
      continue;
    const operation& next = s.work.front().work;
    text += fmt::format("{}{} (held: {}, next: {}, queued: {}", text.empty() ? "" : "; ", order.name(i), s.held,
                        next.at.sequence, s.work.size());
    if (const auto* waiting = std::get_if<wait_for>(&next.work))
      waiting->fences.for_each([&](fence f) {
        if (!passed(f))
          text += fmt::format(", waits for {}:{}", order.name(f.stream.value()), f.sequence);
      });
    text += ")";
  }
  return text.empty() ? "nothing is enqueued" : text;
}

bool stream_queues::can_run(const stream& s) const {
  if (s.held || s.work.empty())
    return false;
  const auto* waiting = std::get_if<wait_for>(&s.work.front().work.work);
  bool passed_all = true;
  if (waiting)
    waiting->fences.for_each([&](fence f) { passed_all = passed_all && passed(f); });
  return passed_all;
}

operation stream_queues::take(std::size_t stream) {
  operation next = std::move(streams_[stream].work.front().work);
  streams_[stream].work.pop_front();
  return next;
}

} // namespace kvferry
