#include "device/cuda/cuda_gpu.hpp"

#include <algorithm>
#include <bit>
#include <thread>
#include <utility>

#include "cuda_kernels/table_write.hpp"
#include "kvferry/contract.hpp"

namespace kvferry::cuda {

namespace {

constexpr auto end_wait_max = std::chrono::seconds(10);

// Table entries go to the kernel as they lie in memory.
static_assert(std::endian::native == std::endian::little && sizeof(table_entry) == sizeof(cuda_kernels::table_word));

} // namespace

cuda_gpu::cuda_gpu(int ordinal, std::string name, copy_planner planner, copy_lane to_host, copy_lane to_gpu,
                   copy_costs costs, cuda_device_options options)
    : ordinal_(ordinal), name_(std::move(name)), options_(std::move(options)), costs_(costs), streams_(ordinal),
      work_(new in_use{page_copier(streams_, std::move(planner), std::move(to_host), std::move(to_gpu),
                                   {ordinal, options_.copies_in_flight_bytes_max,
                                    planned_failures(~options_.seed, options_.fail_copies)}),
                       {}}) {}

cuda_gpu::~cuda_gpu() {
  auto in = enter();
  if (!wait_for_all(end_wait_max)) {
    say("work is in flight since {} s; its memory is left allocated", end_wait_max.count());
    (void)work_.release(); // NOLINT(bugprone-unused-return-value): the GPU may still write there
  }
}

copy_counts cuda_gpu::copies() const {
  std::lock_guard lock(guard_);
  return work_->copier.counts();
}

// Streams -------------------------------------------------------------------------------------------------------------

stream_id cuda_gpu::create_stream(std::string_view name) {
  auto in = enter();
  auto made = stream::make(ordinal_);
  if (made)
    return streams_.add(name, std::move(*made));
  lose(made.error().message);
  return streams_.add(name, stream_ref());
}

expected<stream_id> cuda_gpu::register_stream(void* handle, std::string_view name) {
  auto in = enter();
  auto* given = static_cast<cudaStream_t>(handle);
#if CUDART_VERSION >= 12080
  int of = ordinal_;
  if (given != nullptr)
    if (auto asked = checked(cudaStreamGetDevice(given, &of), "cudaStreamGetDevice", error_code::invalid_argument);
        !asked)
      return tl::unexpected(asked.error());
  if (of != ordinal_)
    return fail(error_code::invalid_argument,
                fmt::format("stream '{}' is of GPU {}, this is GPU {}", name, of, ordinal_));
#endif
  return streams_.add(name, stream_ref(given));
}

void* cuda_gpu::handle(stream_id stream) const {
  std::lock_guard lock(guard_);
  return streams_.ref(stream).get();
}

bool cuda_gpu::capturing(stream_id stream) const {
  auto in = enter();
  return streams_.capturing(stream);
}

fence cuda_gpu::record(stream_id stream) {
  auto in = enter();
  require_usable(stream, "record");
  return record_on(stream);
}

void cuda_gpu::wait(stream_id stream, const fence_set& fences) {
  auto in = enter();
  streams_.require_usable(stream, "wait");
  must(work_->copier.wait(stream, fences), "cudaStreamWaitEvent");
}

device_progress cuda_gpu::poll() {
  auto in = enter();
  look();
  return {streams_.passed(), work_->copier.take_failed(), lost_};
}

bool cuda_gpu::passed(fence f) {
  auto in = enter();
  look();
  return streams_.passed(f, "passed");
}

void cuda_gpu::wait_for(fence until) {
  while (!passed(until))
    std::this_thread::yield();
}

void cuda_gpu::finish() {
  auto in = enter();
  wait_for_all(std::nullopt);
}

// Copies ----------------------------------------------------------------------------------------------------------

fence cuda_gpu::copy_pages(stream_id stream, copy_direction direction, std::span<const page_copy> copies) {
  const copy_list list{stream, direction, copies, {}};
  return copy_lists({&list, 1}).front();
}

std::vector<fence> cuda_gpu::copy_lists(std::span<const copy_list> lists) {
  auto in = enter();
  for (const copy_list& list : lists)
    streams_.require_usable(list.stream, "copy_pages");
  std::vector<fence> behind(lists.size());
  must(work_->copier.copy(lists, behind), "cudaEventRecord");
  return behind;
}

// Memory ----------------------------------------------------------------------------------------------------------

expected<std::vector<group_pools>> cuda_gpu::make_pools(const configuration& config) {
  auto in = enter();
  if (lost_)
    return tl::unexpected<error>(*lost_);
  KVFERRY_REQUIRE(wait_for_all(end_wait_max), "the pools would be replaced under work that does not end");
  work_->copier.use({});
  work_->groups.clear();
  auto made = make_group_memories(config, {ordinal_, options_.pinned_piece_bytes, &allocation_failures_, options_.log});
  if (!made)
    return tl::unexpected(made.error());
  work_->groups = std::move(*made);
  work_->copier.use(work_->groups);
  std::vector<group_pools> pools;
  for (const group_memory& group : work_->groups)
    pools.push_back(group.pools);
  return pools;
}

template <class Memory>
expected<Memory> cuda_gpu::allocate(std::uint64_t bytes, const char* what) {
  if (lost_)
    return tl::unexpected<error>(*lost_);
  if (allocation_failures_.next_fails())
    return fail(error_code::out_of_memory, fmt::format("{}: {} bytes could not be allocated", what, bytes));
  return Memory::allocate(ordinal_, bytes, what);
}

expected<std::unique_ptr<device_memory>> cuda_gpu::allocate_tables(std::uint64_t bytes, std::uint64_t ones_bytes) {
  auto in = enter();
  KVFERRY_REQUIRE(ones_bytes <= bytes, "{} of {} bytes are to be 0xff", ones_bytes, bytes);
  auto memory = allocate<gpu_memory>(bytes, "GPU memory of a batch's tables (rows, max_blocks)");
  if (!memory)
    return tl::unexpected(memory.error());
  if (ones_bytes != 0) {
    cudaError_t status = cudaMemsetAsync(memory->data(), 0xff, ones_bytes, cudaStreamPerThread);
    if (status == cudaSuccess)
      status = cudaStreamSynchronize(cudaStreamPerThread);
    if (auto set = checked(status, "cudaMemsetAsync", error_code::device_lost); !set)
      return tl::unexpected(set.error());
  }
  return std::make_unique<held_memory<gpu_memory>>(std::move(*memory));
}

expected<std::unique_ptr<device_memory>> cuda_gpu::allocate_staging(std::uint64_t bytes) {
  auto in = enter();
  auto memory = allocate<pinned_memory>(bytes, "host memory for staging table entries (rows, max_blocks)");
  if (!memory)
    return tl::unexpected(memory.error());
  return std::make_unique<held_memory<pinned_memory>>(std::move(*memory));
}

void cuda_gpu::write_tables(stream_id stream, device_memory& tables, std::span<const table_entry> entries) {
  auto in = enter();
  if (entries.empty() || lost_)
    return;
  require_usable(stream, "write_tables");
  for (const table_entry& entry : entries) {
    const std::uint64_t offset = entry.offset;
    const std::uint64_t width = entry.width;
    KVFERRY_REQUIRE((width == 1 || width == 4 || width == 8) && offset % width == 0 &&
                        offset + width <= tables.size_bytes(),
                    "a table entry of {} bytes at {} of {}", width, offset, tables.size_bytes());
  }
  static_assert(cuda_kernels::words_by_value == table_entries_by_value);
  std::span words(reinterpret_cast<const cuda_kernels::table_word*>(entries.data()), entries.size());
  must(cleared(cuda_kernels::write_table_words(tables.data(), words, streams_.ref(stream).get())), "write_table_words");
}

// Failing on purpose ----------------------------------------------------------------------------------------------

void cuda_gpu::fail_copy(std::uint64_t nth) {
  std::lock_guard lock(guard_);
  work_->copier.failures().plan(nth);
}

void cuda_gpu::fail_allocation(std::uint64_t nth) {
  std::lock_guard lock(guard_);
  allocation_failures_.plan(nth);
}

void cuda_gpu::refuse_submission(std::uint64_t nth) {
  std::lock_guard lock(guard_);
  work_->copier.refusals().plan(nth);
}

// Together --------------------------------------------------------------------------------------------------------

/// Also has what waits on the host and stands before what comes next enqueued.
void cuda_gpu::require_usable(stream_id stream, std::string_view call) {
  streams_.require_usable(stream, call);
  must(work_->copier.submit_all(stream), "cudaEventRecord");
}

fence cuda_gpu::record_on(stream_id stream) {
  fence recorded;
  must(streams_.record(stream, recorded), "cudaEventRecord");
  return recorded;
}

/// What cannot fail unless the GPU has a fault: without it, later work would not be in order.
void cuda_gpu::must(cudaError_t status, std::string_view call) {
  if (status != cudaSuccess && !lost_)
    lose(describe(status, call));
}

void cuda_gpu::lose(const std::string& why) {
  lost_ = error{error_code::device_lost, fmt::format("GPU {} ({}) is lost: {}", ordinal_, name_, why), {}};
  streams_.abandon();
  work_->copier.abandon();
  say("lost: {}", why);
}

/// Takes in what has passed, and has more enqueued where that made room.
void cuda_gpu::look() {
  if (!lost_)
    if (auto fault = streams_.poll())
      lose(fmt::format("{} when {}:{} passed", describe(fault->status, "cudaEventQuery"),
                       streams_.name(fault->at.stream), fault->at.sequence));
  if (!lost_)
    must(work_->copier.go_on(), "cudaEventRecord");
  work_->copier.settle();
}

/// False: not within `at_most`.
bool cuda_gpu::wait_for_all(std::optional<std::chrono::seconds> at_most) {
  const auto begin = std::chrono::steady_clock::now();
  auto too_long = [&] { return at_most && std::chrono::steady_clock::now() - begin > *at_most; };
  for (; !lost_ && work_->copier.anything_waits(); look()) {
    if (too_long())
      return false;
    std::this_thread::yield();
  }
  for (std::uint32_t i = 0; i < streams_.size() && !lost_; ++i)
    record_on(stream_id{i});
  for (look(); streams_.anything_in_flight(); look()) {
    if (too_long())
      return false;
    std::this_thread::yield();
  }
  return true;
}

} // namespace kvferry::cuda
