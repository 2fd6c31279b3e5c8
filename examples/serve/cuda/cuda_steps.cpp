#include "examples/serve/cuda/cuda_steps.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace serve {
namespace {

/// Lays arrays out one behind the other, on both sides at once.
class upload_layout {
public:
  /// The offset of `count` elements.
  template <class T>
  std::size_t add(std::size_t count) {
    const std::size_t begin = (bytes_ + 15) / 16 * 16;
    bytes_ = begin + count * sizeof(T);
    return begin;
  }

  std::size_t bytes() const { return bytes_; }

private:
  std::size_t bytes_ = 0;
};

const char* words_for(finding_kind kind) {
  switch (kind) {
  case finding_kind::active_rows: return "active_rows should name a row of its own";
  case finding_kind::num_active: return "num_active is not the step's count";
  case finding_kind::behind_last: return "active_rows should be -1 behind the last";
  case finding_kind::row_request: return "its row is of another request";
  case finding_kind::row_version: return "its row's version is 0 or to come";
  case finding_kind::num_blocks: return "num_blocks is too large";
  case finding_kind::no_page: return "should be a page, attention reads it";
  case finding_kind::no_slot: return "no such slot";
  case finding_kind::not_on_gpu: return "should be a gpu page";
  case finding_kind::not_on_host: return "num_blocks counts it as a host page";
  case finding_kind::wrong_byte: return "wrong byte";
  case finding_kind::no_capacity: return "should be a gpu page, there is capacity";
  case finding_kind::past_end: return "should be empty, it is past the capacity";
  case finding_kind::not_writable: return "to be written, but is no gpu page";
  case finding_kind::hole_not_empty: return "a hole should be empty";
  case finding_kind::row_of_the_absent: return "the row's request should have none";
  }
  return "unknown";
}

template <class T>
kvferry::expected<gpu_array<T>> on_gpu(const std::vector<T>& values) {
  auto made = gpu_array<T>::make(values.size());
  if (made)
    if (auto copied = cuda_right(
            cudaMemcpy(made->data(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
        !copied)
      return tl::unexpected(copied.error());
  // cudaMemcpy may return before the last bytes are there, and streams that do not block do not wait for them.
  if (auto there = cuda_right(cudaDeviceSynchronize(), "cudaDeviceSynchronize"); !there)
    return tl::unexpected(there.error());
  return made;
}

} // namespace

kvferry::expected<std::unique_ptr<device_steps>> cuda_steps::make(kvferry::cuda_device& device,
                                                                  kvferry::stream_id stream,
                                                                  const serve_options& options,
                                                                  const step_inputs& inputs) {
  std::unique_ptr<cuda_steps> made(new cuda_steps(device, stream, options, inputs));
  if (auto prepared = made->prepare(options, inputs); !prepared)
    return tl::unexpected(prepared.error());
  return std::unique_ptr<device_steps>(std::move(made));
}

cuda_steps::~cuda_steps() { device_.finish(); }

kvferry::expected<void> cuda_steps::prepare(const serve_options& options, const step_inputs& inputs) {
  const kvferry::table_view& tables = inputs.tables;
  std::vector<gpu_group> groups;
  std::vector<gpu_fragment> fragments;
  for (std::size_t g = 0; g < layout_.groups.size(); ++g) {
    const kvferry::group_pools& pools = inputs.pools[g];
    const pages::group_layout& layout = layout_.groups[g];
    groups.push_back({tables.groups[g].page_index, tables.groups[g].page_tier, tables.groups[g].num_blocks,
                      pools.gpu_slots, pools.host_slots, pools.host_base, pools.host_slot_bytes,
                      static_cast<std::uint32_t>(fragments.size()), static_cast<std::uint32_t>(layout.buffers.size())});
    std::uint64_t blob_offset = 0;
    for (std::size_t b = 0; b < layout.buffers.size(); ++b) {
      fragments.push_back({layout.buffers[b], pools.buffers[b].base, pools.buffers[b].slot_stride_bytes, blob_offset});
      blob_offset += pools.buffers[b].bytes_per_slot;
    }
  }
  run_.group_count = static_cast<std::uint32_t>(groups.size());
  run_.tokens_per_block = layout_.tokens_per_block;
  run_.rows = tables.rows;
  run_.max_blocks = tables.max_blocks;
  run_.chain_tokens = std::uint64_t{tables.max_blocks} * layout_.tokens_per_block;
  run_.row_request = tables.row_request;
  run_.row_version = tables.row_version;
  run_.active_rows = tables.active_rows;
  run_.num_active = tables.num_active;
  run_.stride = options.verify == verify_mode::sampled ? 16 : 1;
  for (std::uint32_t slot = tables.rows; slot > 0; --slot)
    free_slots_.push_back(slot - 1);

  auto keep = [](auto made, auto& kept, auto& pointer) -> kvferry::expected<void> {
    if (!made)
      return tl::unexpected(made.error());
    kept = std::move(*made);
    pointer = kept.data();
    return {};
  };
  if (auto kept = keep(on_gpu(groups), groups_, run_.groups); !kept)
    return kept;
  if (auto kept = keep(on_gpu(fragments), fragments_, run_.fragments); !kept)
    return kept;
  if (auto kept = keep(gpu_array<std::uint64_t>::make(run_.rows * run_.chain_tokens), chains_, run_.chains); !kept)
    return kept;
  if (auto kept = keep(gpu_array<std::uint32_t>::make(std::uint64_t{run_.rows} * run_.group_count * run_.max_blocks),
                       seen_, run_.seen);
      !kept)
    return kept;
  return keep(on_gpu(std::vector<findings>(1)), found_, run_.found);
}

void cuda_steps::launch(pages::step_plan plan) { note(try_launch(plan)); }

kvferry::expected<void> cuda_steps::try_launch(const pages::step_plan& plan) {
  retire_to(uploads_.size() - 1); // then the next upload's last step is over
  forget_absent(plan);
  std::vector<gpu_row> rows;
  std::uint32_t words = 0;
  for (const pages::planned_row& row : plan.rows) {
    rows.push_back(row_of(row, words));
    words += rows.back().written_tokens - rows.back().known_tokens;
  }
  upload_layout layout;
  const std::size_t rows_at = layout.add<gpu_row>(rows.size());
  const std::size_t rules_at = layout.add<pages::row_rules>(rows.size() * run_.group_count);
  const std::size_t resting_at = layout.add<std::uint64_t>(plan.resting.size());
  const std::size_t words_at = layout.add<std::uint64_t>(words);

  upload& to = uploads_[launched_++ % uploads_.size()];
  if (auto room = make_room(to, layout.bytes()); !room)
    return room;
  auto at = [&]<class T>(std::size_t offset, T*) { return reinterpret_cast<T*>(to.host.data() + offset); };
  std::copy(rows.begin(), rows.end(), at(rows_at, static_cast<gpu_row*>(nullptr)));
  auto* rules = at(rules_at, static_cast<pages::row_rules*>(nullptr));
  auto* word = at(words_at, static_cast<std::uint64_t*>(nullptr));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const pages::group_layout& group : layout_.groups)
      *rules++ = pages::row_rules::of(plan.rows[i], group, layout_);
    auto fresh = plan.rows[i].chain->words(rows[i].known_tokens, rows[i].written_tokens);
    word = std::copy(fresh.begin(), fresh.end(), word);
  }
  std::transform(plan.resting.begin(), plan.resting.end(), at(resting_at, static_cast<std::uint64_t*>(nullptr)),
                 [](kvferry::request_id request) { return request.value(); });

  auto stream = static_cast<cudaStream_t>(device_.handle(stream_));
  if (auto sent =
          cuda_right(cudaMemcpyAsync(to.gpu.data(), to.host.data(), layout.bytes(), cudaMemcpyHostToDevice, stream),
                     "cudaMemcpyAsync");
      !sent)
    return sent;
  auto on_gpu_at = [&]<class T>(std::size_t offset, T*) { return reinterpret_cast<const T*>(to.gpu.data() + offset); };
  const gpu_step step{plan.step,
                      plan.version,
                      static_cast<std::uint32_t>(rows.size()),
                      static_cast<std::uint32_t>(plan.resting.size()),
                      on_gpu_at(rows_at, static_cast<gpu_row*>(nullptr)),
                      on_gpu_at(rules_at, static_cast<pages::row_rules*>(nullptr)),
                      on_gpu_at(resting_at, static_cast<std::uint64_t*>(nullptr)),
                      on_gpu_at(words_at, static_cast<std::uint64_t*>(nullptr))};
  auto launched = cuda_right(launch_step(run_, step, verify_, stream), "launch_step");
  in_flight_.push_back(device_.record(stream_));
  return launched;
}

/// A larger one replaces it; no step uses it.
kvferry::expected<void> cuda_steps::make_room(upload& of, std::size_t bytes) {
  if (of.host.size() >= bytes)
    return {};
  auto host = pinned_array<std::byte>::make(bytes * 2);
  auto gpu = gpu_array<std::byte>::make(bytes * 2);
  if (!host || !gpu)
    return tl::unexpected(host ? gpu.error() : host.error());
  of.host = std::move(*host);
  of.gpu = std::move(*gpu);
  return {};
}

/// Requests that are neither in the step nor resting have been closed. What steps in flight read of their words is
/// overwritten behind them.
void cuda_steps::forget_absent(const pages::step_plan& plan) {
  std::erase_if(places_, [&](const auto& entry) {
    const bool here =
        std::ranges::binary_search(plan.resting, entry.first) ||
        std::ranges::any_of(plan.rows, [&](const pages::planned_row& row) { return row.request == entry.first; });
    if (!here)
      free_slots_.push_back(entry.second.slot);
    return !here;
  });
}

gpu_row cuda_steps::row_of(const pages::planned_row& row, std::uint32_t words_from) {
  auto [found, fresh] = places_.try_emplace(row.request);
  chain_place& place = found->second;
  if (fresh) {
    place.slot = free_slots_.back(); // as many as rows, and a request in a step has one
    free_slots_.pop_back();
  }
  gpu_row made{row.request.value(),
               place.slot,
               row.history_tokens,
               row.written_tokens,
               words_from,
               std::min(place.known_tokens, row.written_tokens),
               fresh};
  place.known_tokens = std::max(place.known_tokens, row.written_tokens);
  return made;
}

void cuda_steps::retire_to(std::size_t steps) {
  for (; in_flight_.size() > steps; in_flight_.pop_front())
    device_.wait_for(in_flight_.front());
  if (steps == 0)
    take_findings();
}

void cuda_steps::finish() {
  device_.finish();
  if (in_flight_.empty())
    take_findings();
}

void cuda_steps::take_findings() {
  findings found;
  auto taken = cuda_right(cudaMemcpy(&found, found_.data(), sizeof found, cudaMemcpyDeviceToHost), "cudaMemcpy");
  if (!taken)
    return note(taken);
  pages_verified_ = found.pages_verified;
  for (; mismatches_told_ < std::min<std::uint64_t>(found.mismatches, findings_kept); ++mismatches_told_) {
    const finding& f = found.first[mismatches_told_];
    log_.add("step {}, version {}, request {}, row {}, group {}, ordinal {}, tier {}, slot {}, buffer {}, byte {}: {} "
             "(expected {}, found {})",
             f.step, f.version, f.request, f.row, f.group, f.ordinal, f.tier, f.slot, f.buffer, f.offset,
             words_for(f.kind), f.expected, f.found);
  }
  if (found.mismatches > mismatches_told_)
    log_.add_undescribed(found.mismatches - std::exchange(mismatches_told_, found.mismatches));
}

/// A step that could not be launched is a mismatch: nothing was checked.
void cuda_steps::note(const kvferry::expected<void>& done) {
  if (!done)
    log_.add("on the GPU: {}", done.error().message);
}

} // namespace serve
