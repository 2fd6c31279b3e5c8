#include "device/cuda/stream_table.hpp"

#include <algorithm>

#include "kvferry/contract.hpp"

namespace kvferry::cuda {

stream_id stream_table::add(std::string_view name, stream owned) {
  stream_id id = add(name, owned.ref());
  streams_.back().owned = std::move(owned);
  return id;
}

stream_id stream_table::add(std::string_view name, stream_ref of_engine) {
  streams_.push_back({std::string(name), std::nullopt, of_engine, 0, 0, {}});
  return stream_id{size() - 1};
}

std::uint32_t stream_table::index_of(stream_id id) const {
  KVFERRY_REQUIRE(id.value() < streams_.size(), "stream {} of {}", id.value(), streams_.size());
  return id.value();
}

bool stream_table::capturing(stream_id id) const {
  const entry& on = streams_[index_of(id)];
  if (on.owned || abandoned_)
    return false; // nobody else captures it
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  (void)cleared(cudaStreamIsCapturing(on.ref.get(), &status));
  return status != cudaStreamCaptureStatusNone;
}

void stream_table::require_usable(stream_id id, std::string_view call) const {
  KVFERRY_REQUIRE(!capturing(id), "'{}' on '{}', which is being captured", call, name(id));
}

cudaError_t stream_table::record(stream_id id, fence& recorded) {
  recorded = promise(id);
  return keep(recorded);
}

fence stream_table::promise(stream_id id) {
  entry& on = streams_[index_of(id)];
  ++on.recorded;
  if (abandoned_)
    on.passed = on.recorded;
  return {id, on.recorded};
}

cudaError_t stream_table::keep(fence promised) {
  entry& on = streams_[index_of(promised.stream)];
  KVFERRY_REQUIRE(promised.sequence <= on.recorded &&
                      (on.in_flight.empty() || on.in_flight.back().sequence < promised.sequence),
                  "{}:{} is enqueued out of turn", on.name, promised.sequence);
  if (abandoned_)
    return cudaSuccess;
  auto taken = events_.take();
  cudaError_t status = taken ? cleared(cudaEventRecord(taken->get(), on.ref.get())) : cudaErrorMemoryAllocation;
  if (status == cudaSuccess)
    on.in_flight.push_back({promised.sequence, std::move(*taken)});
  return status;
}

cudaError_t stream_table::wait(stream_id id, const fence_set& fences) {
  entry& on = streams_[index_of(id)];
  cudaError_t status = cudaSuccess;
  fences.for_each([&](fence f) {
    const entry& before = recorded_on(f, on.name);
    if (f.stream == id || f.sequence <= before.passed)
      return;
    auto found = std::lower_bound(before.in_flight.begin(), before.in_flight.end(), f.sequence,
                                  [](const position& p, std::uint64_t sequence) { return p.sequence < sequence; });
    if (found != before.in_flight.end() && status == cudaSuccess)
      status = cleared(cudaStreamWaitEvent(on.ref.get(), found->at.get(), 0));
  });
  return status;
}

std::optional<stream_table::fault> stream_table::poll() {
  for (std::uint32_t i = 0; i < streams_.size(); ++i) {
    entry& on = streams_[i];
    while (!on.in_flight.empty()) {
      cudaError_t status = cleared(cudaEventQuery(on.in_flight.front().at.get()));
      if (status == cudaErrorNotReady)
        break;
      on.passed = on.in_flight.front().sequence;
      if (status != cudaSuccess)
        return fault{{stream_id{i}, on.passed}, status};
      events_.give_back(std::move(on.in_flight.front().at));
      on.in_flight.pop_front();
    }
  }
  return std::nullopt;
}

bool stream_table::passed(fence f, std::string_view asked_by) const {
  return f.sequence <= recorded_on(f, asked_by).passed;
}

fence_set stream_table::passed() const {
  fence_set all;
  for (std::uint32_t i = 0; i < streams_.size(); ++i)
    all.add({stream_id{i}, streams_[i].passed});
  return all;
}

bool stream_table::anything_in_flight() const {
  return std::any_of(streams_.begin(), streams_.end(), [](const entry& on) { return !on.in_flight.empty(); });
}

void stream_table::abandon() {
  abandoned_ = true;
  for (entry& on : streams_) {
    on.in_flight.clear();
    on.passed = on.recorded;
  }
}

const stream_table::entry& stream_table::recorded_on(fence f, std::string_view asked_by) const {
  const entry& on = streams_[index_of(f.stream)];
  KVFERRY_REQUIRE(f.sequence <= on.recorded, "'{}' waits for {}:{}, which was never recorded; recorded up to: {}",
                  asked_by, on.name, f.sequence, on.recorded);
  return on;
}

} // namespace kvferry::cuda
