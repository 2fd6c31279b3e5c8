#include "device/cuda/copy_lane.hpp"

#include <algorithm>

#include "cuda_kernels/page_copy.hpp"

namespace kvferry::cuda {

namespace {

// Of lists with some two thousand entries in one call, those from the 811th on had other bytes than were there when
// their turn came, now and then and without an error (CUDA 13.0, driver 580.159; docs/gpu.md). Shorter calls never did,
// and the engine begins with them earlier.
constexpr std::size_t entries_per_call = 512;

/// One call for many copies where the toolkit has it.
cudaError_t copy_batch(std::span<void*> to, std::span<const void*> from, std::span<std::size_t> bytes, bool refuse,
                       stream_ref on) {
  if (to.size() > 1 && on.get() != nullptr) { // the default stream takes no batches
#if CUDART_VERSION >= 12080
    cudaMemcpyAttributes attributes{};
    attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    attributes.flags = cudaMemcpyFlagPreferOverlapWithCompute;
    std::size_t first = 0;
    const std::size_t count = refuse ? 0 : 1;
#if CUDART_VERSION >= 13000
    return cudaMemcpyBatchAsync(to.data(), from.data(), bytes.data(), to.size(), &attributes, &first, count, on.get());
#else
    std::size_t failed = 0;
    return cudaMemcpyBatchAsync(to.data(), const_cast<void**>(from.data()), bytes.data(), to.size(), &attributes,
                                &first, count, &failed, on.get());
#endif
#endif
  }
  if (refuse) // a row that is longer than the way to the next
    return cudaMemcpy2DAsync(to.front(), 1, from.front(), 1, 2, 1, cudaMemcpyDefault, on.get());
  for (std::size_t i = 0; i < to.size(); ++i)
    if (cudaError_t status = cudaMemcpyAsync(to[i], from[i], bytes[i], cudaMemcpyDefault, on.get());
        status != cudaSuccess)
      return status;
  return cudaSuccess;
}

/// The first that is no success.
template <class... Calls>
cudaError_t in_turn(Calls... calls) {
  cudaError_t status = cudaSuccess;
  (void)((status = calls(), status == cudaSuccess) && ...);
  return status;
}

} // namespace

expected<copy_lane> copy_lane::make(int ordinal, copy_direction direction, const copy_limits& limits) {
  auto link = stream::make(ordinal);
  auto edge = event::make(ordinal);
  if (!link || !edge)
    return tl::unexpected(link ? edge.error() : link.error());
  std::vector<buffer> made;
  for (int i = 0; i < 2; ++i) {
    auto memory = gpu_memory::allocate(ordinal, limits.staged_bytes_max, "GPU memory for staging page copies");
    auto filled = event::make(ordinal);
    auto free = event::make(ordinal);
    if (!memory || !filled || !free)
      return tl::unexpected(!memory ? memory.error() : !filled ? filled.error() : free.error());
    made.push_back({std::move(*memory), std::move(*filled), std::move(*free)});
  }
  return copy_lane(ordinal, direction, std::move(*link), {std::move(made[0]), std::move(made[1])}, std::move(*edge));
}

void copy_lane::begin() {
  link_begun_ = false;
  link_used_ = false;
}

std::vector<std::uint32_t> copy_lane::submit(stream_ref on, const group_memory& group, const copy_plan& plan,
                                             planned_failures& refusals) {
  constexpr lane_blocks blocks;
  const std::uint32_t mapped = direction_ == copy_direction::to_host ? blocks.to_host : blocks.to_gpu;
  std::vector<std::uint32_t> refused;
  const cudaError_t link = cleared(begin_link(on, plan));
  for (const copy_piece& piece : plan.pieces) {
    const auto pages = std::span(plan.pages).subspan(piece.first, piece.count);
    const bool refuse = refusals.next_fails();
    cudaError_t status = cudaSuccess;
    if (piece.way == copy_way::kernel) {
      status = submit_kernel(on, group, pages, refuse ? 0 : mapped);
    } else if (piece.way == copy_way::engine && !piece.beside) {
      status = submit_engine(on, group, pages, refuse);
    } else if (piece.way == copy_way::engine) {
      link_used_ = true;
      status = in_turn([&] { return link; }, [&] { return submit_engine(link_.ref(), group, pages, refuse); });
    } else {
      link_used_ = link_used_ || direction_ == copy_direction::to_host; // to the GPU, kernels on `on` are last
      status =
          in_turn([&] { return link; }, [&] { return submit_staged(on, group, pages, refuse ? 0 : blocks.on_gpu); });
    }
    if (cleared(status) != cudaSuccess)
      for (const planned_page& page : pages)
        refused.push_back(page.position);
  }
  return refused;
}

/// Before what begins on the link's stream: it, too, comes after what `on` has waited for. To the host, staged
/// transfers wait for their kernels instead.
cudaError_t copy_lane::begin_link(stream_ref on, const copy_plan& plan) {
  const auto begins_there = [&](const copy_piece& piece) {
    return piece.beside || (piece.way == copy_way::staged && direction_ == copy_direction::to_gpu);
  };
  if (link_begun_ || std::none_of(plan.pieces.begin(), plan.pieces.end(), begins_there))
    return cudaSuccess;
  const cudaError_t status = in_turn([&] { return cudaEventRecord(edge_.get(), on.get()); },
                                     [&] { return cudaStreamWaitEvent(link_.get(), edge_.get(), 0); });
  link_begun_ = status == cudaSuccess;
  return status;
}

cudaError_t copy_lane::end(stream_ref on) {
  if (!link_used_)
    return cudaSuccess;
  return cleared(in_turn([&] { return cudaEventRecord(edge_.get(), link_.get()); },
                         [&] { return cudaStreamWaitEvent(on.get(), edge_.get(), 0); }));
}

cudaError_t copy_lane::submit_kernel(stream_ref on, const group_memory& group, std::span<const planned_page> pages,
                                     std::uint32_t blocks) {
  pairs_.resize(pages.size());
  for (std::size_t i = 0; i < pages.size(); ++i)
    pairs_[i] = {pages[i].gpu, pages[i].host};
  const auto memory = group.with_blobs(group.pools.host_base);
  return direction_ == copy_direction::to_host ? cuda_kernels::gather_pages(memory, pairs_, blocks, on.get())
                                               : cuda_kernels::scatter_pages(memory, pairs_, blocks, on.get());
}

cudaError_t copy_lane::submit_engine(stream_ref on, const group_memory& group, std::span<const planned_page> pages,
                                     bool refuse) {
  to_.clear();
  from_.clear();
  bytes_.clear();
  for (const planned_page& page : pages)
    for (const group_memory::fragment& of : group.fragments)
      add_entry(group, of.in_slot(page.gpu), group.host_page(page.host) + of.blob_offset, of.bytes);
  return submit_entries(on, refuse);
}

/// A kernel and transfers, one behind the other on two streams; the next piece uses the other buffer meanwhile.
cudaError_t copy_lane::submit_staged(stream_ref on, const group_memory& group, std::span<const planned_page> pages,
                                     std::uint32_t blocks) {
  buffer& by = buffers_[staged_pieces_++ % 2];
  slots_.resize(pages.size());
  for (std::uint32_t i = 0; i < pages.size(); ++i)
    slots_[i] = pages[i].gpu;
  const auto memory = group.with_blobs(by.memory.data());
  if (direction_ == copy_direction::to_host)
    return in_turn([&] { return cudaStreamWaitEvent(on.get(), by.free.get(), 0); },
                   [&] { return cuda_kernels::gather_slots(memory, slots_, blocks, on.get()); },
                   [&] { return cudaEventRecord(by.filled.get(), on.get()); },
                   [&] { return cudaStreamWaitEvent(link_.get(), by.filled.get(), 0); },
                   [&] { return transfer(group, pages, by.memory.data()); },
                   [&] { return cudaEventRecord(by.free.get(), link_.get()); });
  return in_turn([&] { return cudaStreamWaitEvent(link_.get(), by.free.get(), 0); },
                 [&] { return transfer(group, pages, by.memory.data()); },
                 [&] { return cudaEventRecord(by.filled.get(), link_.get()); },
                 [&] { return cudaStreamWaitEvent(on.get(), by.filled.get(), 0); },
                 [&] { return cuda_kernels::scatter_slots(memory, slots_, blocks, on.get()); },
                 [&] { return cudaEventRecord(by.free.get(), on.get()); });
}

/// Between the buffer and runs of host slots.
cudaError_t copy_lane::transfer(const group_memory& group, std::span<const planned_page> pages, std::byte* staged) {
  to_.clear();
  from_.clear();
  bytes_.clear();
  const std::uint64_t page_bytes = group.pools.host_slot_bytes;
  for (std::size_t first = 0, end = 0; first < pages.size(); first = end) {
    for (end = first + 1; end < pages.size() && pages[end].host == pages[end - 1].host + 1;)
      ++end;
    add_entry(group, staged + first * page_bytes, group.host_page(pages[first].host), (end - first) * page_bytes);
  }
  return submit_entries(link_.ref(), false);
}

/// Lengthens the last entry where both sides go on behind it. No entry crosses a piece of pinned memory.
void copy_lane::add_entry(const group_memory& group, std::byte* gpu, std::byte* host, std::uint64_t bytes) {
  const bool to_host = direction_ == copy_direction::to_host;
  while (bytes > 0) {
    const std::uint64_t now = std::min(bytes, group.host.bytes_to_piece_end(host));
    void* to = to_host ? host : gpu;
    const void* from = to_host ? gpu : host;
    const bool goes_on = !to_.empty() && static_cast<std::byte*>(to_.back()) + bytes_.back() == to &&
                         static_cast<const std::byte*>(from_.back()) + bytes_.back() == from &&
                         !group.host.begins_piece(host);
    if (goes_on) {
      bytes_.back() += now;
    } else {
      to_.push_back(to);
      from_.push_back(from);
      bytes_.push_back(now);
    }
    gpu += now;
    host += now;
    bytes -= now;
  }
}

cudaError_t copy_lane::submit_entries(stream_ref on, bool refuse) {
  for (std::size_t first = 0; first < to_.size(); first += entries_per_call) {
    const std::size_t count = std::min(entries_per_call, to_.size() - first);
    if (cudaError_t status = copy_batch(std::span(to_).subspan(first, count), std::span(from_).subspan(first, count),
                                        std::span(bytes_).subspan(first, count), refuse, on);
        status != cudaSuccess)
      return status;
  }
  return cudaSuccess;
}

} // namespace kvferry::cuda
