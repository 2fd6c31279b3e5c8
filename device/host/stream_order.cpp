#include "device/host/stream_order.hpp"

#include <algorithm>
#include <limits>

#include "kvferry/contract.hpp"

namespace kvferry {

stream_id stream_order::add_stream(std::string_view name) {
  KVFERRY_REQUIRE(streams_.size() < host_device::streams_max, "stream '{}' would be number {}, the limit is {}", name,
                  streams_.size() + 1, host_device::streams_max);
  stream_id added{static_cast<std::uint32_t>(streams_.size())};
  streams_.push_back({std::string(name), {}, 0, {}, 0});
  return added;
}

std::uint32_t stream_order::index_of(stream_id stream) const {
  KVFERRY_REQUIRE(stream.value() < streams_.size(), "stream {} of {}", stream.value(), streams_.size());
  return stream.value();
}

stamp stream_order::enqueue(std::uint32_t stream) {
  auto& on = streams_[stream];
  KVFERRY_REQUIRE(on.enqueued < std::numeric_limits<std::uint32_t>::max(), "stream '{}' is at its last position",
                  on.name);
  on.clock.merge(host_);
  on.clock.advance(stream, ++on.enqueued);
  return {stream, on.enqueued, on.clock};
}

fence stream_order::make_fence(const stamp& at) {
  auto& on = streams_[at.stream];
  KVFERRY_REQUIRE(at.sequence == on.enqueued, "stream '{}': position {} is not its latest, {}", on.name, at.sequence,
                  on.enqueued);
  on.fences.push_back({at.sequence, at.before});
  return {stream_id{at.stream}, at.sequence};
}

void stream_order::wait(std::uint32_t stream, const fence_set& fences) {
  fences.for_each([&](fence f) {
    if (const recorded* found = find(f, streams_[stream].name))
      streams_[stream].clock.merge(found->before);
  });
}

void stream_order::host_learns(fence passed) {
  const recorded* found = find(passed, "the host");
  if (!found)
    return;
  host_.merge(found->before);
  auto& on = streams_[passed.stream.value()];
  on.learned = found->sequence;
  auto later = std::upper_bound(on.fences.begin(), on.fences.end(), on.learned,
                                [](std::uint32_t sequence, const recorded& r) { return sequence < r.sequence; });
  on.fences.erase(on.fences.begin(), later);
}

void stream_order::require_recorded(fence f, std::string_view asked_by) const { find(f, asked_by); }

const stream_order::recorded* stream_order::find(fence f, std::string_view asked_by) const {
  const auto& on = streams_[index_of(f.stream)];
  if (f.sequence <= on.learned)
    return nullptr;
  auto found = std::lower_bound(on.fences.begin(), on.fences.end(), f.sequence,
                                [](const recorded& r, std::uint64_t sequence) { return r.sequence < sequence; });
  KVFERRY_REQUIRE(found != on.fences.end() && found->sequence == f.sequence,
                  "'{}' waits for {}:{}, which was never recorded; enqueued there: {}, recorded up to: {}", asked_by,
                  on.name, f.sequence, on.enqueued, on.fences.empty() ? on.learned : on.fences.back().sequence);
  return &*found;
}

} // namespace kvferry
