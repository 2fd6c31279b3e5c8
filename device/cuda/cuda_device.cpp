// The CUDA device: one object behind the engine's view (`cuda_device`) and the runtime's (`device`). It keeps the
// streams, makes the pools, and has copies planned and submitted; a fault of the GPU ends all of it in an orderly way.
#include "kvferry/cuda_device.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <mutex>
#include <numeric>
#include <thread>

#include <fmt/format.h>

#include "cuda_kernels/page_copy.hpp"
#include "cuda_kernels/table_write.hpp"
#include "device/cuda/calibration.hpp"
#include "device/cuda/copy_lane.hpp"
#include "device/cuda/copy_planner.hpp"
#include "device/cuda/cuda_pools.hpp"
#include "device/cuda/stream_table.hpp"
#include "device/device.hpp"
#include "device/planned_failures.hpp"
#include "kvferry/contract.hpp"

namespace kvferry {

namespace {

using namespace cuda;

constexpr auto end_wait_max = std::chrono::seconds(10);

// Table entries go to the kernel as they lie in memory.
static_assert(std::endian::native == std::endian::little && sizeof(table_entry) == sizeof(cuda_kernels::table_word));

class cuda_gpu final : public cuda_device, public device, public std::enable_shared_from_this<cuda_gpu> {
public:
  cuda_gpu(int ordinal, std::string name, copy_planner planner, copy_lane to_host, copy_lane to_gpu, copy_costs costs,
           cuda_device_options options)
      : ordinal_(ordinal), name_(std::move(name)), options_(std::move(options)), costs_(costs),
        copy_failures_(~options_.seed, options_.fail_copies), planner_(std::move(planner)),
        work_(std::make_unique<in_use>(std::move(to_host), std::move(to_gpu))), streams_(ordinal) {}

  cuda_gpu(const cuda_gpu&) = delete;
  cuda_gpu& operator=(const cuda_gpu&) = delete;

  ~cuda_gpu() override {
    auto in = enter();
    if (!wait_for_all(end_wait_max)) {
      say("work is in flight since {} s; its memory is left allocated", end_wait_max.count());
      (void)work_.release(); // NOLINT(bugprone-unused-return-value): the GPU may still write there
    }
  }

  std::shared_ptr<device> interface() override { return shared_from_this(); }
  int ordinal() const override { return ordinal_; }
  std::string name() const override { return name_; }
  const copy_costs& costs() const override { return costs_; }

  copy_counts copies() const override {
    std::lock_guard lock(guard_);
    return counts_;
  }

  // Streams ---------------------------------------------------------------------------------------------------------

  stream_id create_stream(std::string_view name) override {
    auto in = enter();
    auto made = stream::make(ordinal_);
    if (made)
      return streams_.add(name, std::move(*made));
    lose(made.error().message);
    return streams_.add(name, stream_ref());
  }

  expected<stream_id> register_stream(void* handle, std::string_view name) override {
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

  void* handle(stream_id stream) const override {
    std::lock_guard lock(guard_);
    return streams_.ref(stream).get();
  }

  bool capturing(stream_id stream) const override {
    auto in = enter();
    return streams_.capturing(stream);
  }

  fence record(stream_id stream) override {
    auto in = enter();
    streams_.require_usable(stream, "record");
    return record_on(stream);
  }

  void wait(stream_id stream, const fence_set& fences) override {
    auto in = enter();
    streams_.require_usable(stream, "wait");
    must(streams_.wait(stream, fences), "cudaStreamWaitEvent");
  }

  device_progress poll() override {
    auto in = enter();
    look();
    device_progress progress{streams_.passed(), std::exchange(failed_, {}), lost_};
    return progress;
  }

  bool passed(fence f) override {
    auto in = enter();
    look();
    return streams_.passed(f, "passed");
  }

  void wait_for(fence until) override {
    while (!passed(until))
      std::this_thread::yield();
  }

  void finish() override {
    auto in = enter();
    wait_for_all(std::nullopt);
  }

  // Copies ----------------------------------------------------------------------------------------------------------

  fence copy_pages(stream_id stream, copy_direction direction, std::span<const page_copy> copies) override {
    auto in = enter();
    streams_.require_usable(stream, "copy_pages");
    std::vector<std::uint32_t> failed;
    if (direction == copy_direction::within_gpu)
      copy_within(streams_.ref(stream), copies, failed);
    else
      copy_over_link(streams_.ref(stream), direction, copies, failed);
    const fence submitted = record_on(stream);
    in_flight_.push_back({submitted, static_cast<std::uint32_t>(copies.size()), std::move(failed)});
    return submitted;
  }

  // Memory ----------------------------------------------------------------------------------------------------------

  expected<std::vector<group_pools>> make_pools(const configuration& config) override {
    auto in = enter();
    if (lost_)
      return tl::unexpected<error>(*lost_);
    KVFERRY_REQUIRE(wait_for_all(end_wait_max), "the pools would be replaced under work that does not end");
    work_->groups.clear();
    auto made =
        make_group_memories(config, {ordinal_, options_.pinned_piece_bytes, &allocation_failures_, options_.log});
    if (!made)
      return tl::unexpected(made.error());
    work_->groups = std::move(*made);
    std::vector<group_pools> pools;
    for (const group_memory& group : work_->groups)
      pools.push_back(group.pools);
    return pools;
  }

  expected<std::unique_ptr<device_memory>> allocate_tables(std::uint64_t bytes, std::uint64_t ones_bytes) override {
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

  expected<std::unique_ptr<device_memory>> allocate_staging(std::uint64_t bytes) override {
    auto in = enter();
    auto memory = allocate<pinned_memory>(bytes, "host memory for staging table entries (rows, max_blocks)");
    if (!memory)
      return tl::unexpected(memory.error());
    return std::make_unique<held_memory<pinned_memory>>(std::move(*memory));
  }

  void write_tables(stream_id stream, device_memory& tables, std::span<const table_entry> entries) override {
    auto in = enter();
    if (entries.empty() || lost_)
      return;
    streams_.require_usable(stream, "write_tables");
    for (const table_entry& entry : entries) {
      const std::uint64_t offset = entry.offset;
      const std::uint64_t width = entry.width;
      KVFERRY_REQUIRE((width == 1 || width == 4 || width == 8) && offset % width == 0 &&
                          offset + width <= tables.size_bytes(),
                      "a table entry of {} bytes at {} of {}", width, offset, tables.size_bytes());
    }
    std::span words(reinterpret_cast<const cuda_kernels::table_word*>(entries.data()), entries.size());
    must(cleared(cuda_kernels::write_table_words(tables.data(), words, streams_.ref(stream).get())),
         "write_table_words");
  }

  // Failing on purpose ----------------------------------------------------------------------------------------------

  void fail_copy(std::uint64_t nth) override {
    std::lock_guard lock(guard_);
    copy_failures_.plan(nth);
  }

  void fail_allocation(std::uint64_t nth) override {
    std::lock_guard lock(guard_);
    allocation_failures_.plan(nth);
  }

  void refuse_submission(std::uint64_t nth) override {
    std::lock_guard lock(guard_);
    refusals_.plan(nth);
  }

private:
  /// What the GPU may be using.
  struct in_use {
    in_use(copy_lane down, copy_lane up) : to_host(std::move(down)), to_gpu(std::move(up)) {}
    copy_lane to_host;
    copy_lane to_gpu;
    std::vector<group_memory> groups;
  };

  struct submitted_copies {
    fence at;
    std::uint32_t count = 0;
    std::vector<std::uint32_t> failed; ///< so far
  };

  /// Every call begins with this.
  struct entered {
    explicit entered(const cuda_gpu& of) : lock(of.guard_), current(of.ordinal_) {}
    std::unique_lock<std::mutex> lock;
    current_device current;
  };

  [[nodiscard]] entered enter() const { return entered(*this); }

  template <class... Args>
  void say(fmt::format_string<Args...> format, Args&&... args) const {
    if (options_.log)
      options_.log(fmt::format("GPU {} ({}): {}", ordinal_, name_, fmt::format(format, std::forward<Args>(args)...)));
  }

  fence record_on(stream_id stream) {
    fence recorded;
    must(streams_.record(stream, recorded), "cudaEventRecord");
    return recorded;
  }

  /// What cannot fail unless the GPU has a fault: without it, later work would not be in order.
  void must(cudaError_t status, std::string_view call) {
    if (status != cudaSuccess && !lost_)
      lose(describe(status, call));
  }

  void lose(const std::string& why) {
    lost_ = error{error_code::device_lost, fmt::format("GPU {} ({}) is lost: {}", ordinal_, name_, why), {}};
    streams_.abandon();
    say("lost: {}", why);
  }

  /// Takes in what has passed.
  void look() {
    if (!lost_)
      if (auto fault = streams_.poll())
        lose(fmt::format("{} when {}:{} passed", describe(fault->status, "cudaEventQuery"),
                         streams_.name(fault->at.stream), fault->at.sequence));
    std::erase_if(in_flight_, [&](submitted_copies& copies) {
      if (!streams_.passed(copies.at, "poll"))
        return false;
      if (lost_) {
        copies.failed.resize(copies.count);
        for (std::uint32_t i = 0; i < copies.count; ++i)
          copies.failed[i] = i;
      }
      if (!copies.failed.empty())
        failed_.push_back({copies.at, std::move(copies.failed)});
      return true;
    });
  }

  /// False: not within `at_most`.
  bool wait_for_all(std::optional<std::chrono::seconds> at_most) {
    const auto begin = std::chrono::steady_clock::now();
    for (std::uint32_t i = 0; i < streams_.size() && !lost_; ++i)
      record_on(stream_id{i});
    for (look(); streams_.anything_in_flight(); look()) {
      if (at_most && std::chrono::steady_clock::now() - begin > *at_most)
        return false;
      std::this_thread::yield();
    }
    return true;
  }

  void require_slots(copy_direction direction, const page_copy& copy) const {
    KVFERRY_REQUIRE(copy.group.value() < work_->groups.size(), "copy of group {} of {}", copy.group.value(),
                    work_->groups.size());
    const group_pools& pools = work_->groups[copy.group.value()].pools;
    const bool within = direction == copy_direction::within_gpu;
    const std::uint32_t other = within ? copy.from.value() : copy.host.value();
    const std::uint32_t others = within ? pools.gpu_slots : pools.host_slots;
    KVFERRY_REQUIRE(copy.gpu.value() < pools.gpu_slots && other < others,
                    "copy between gpu slot {} of {} and {} slot {} of {} of group {}", copy.gpu.value(),
                    pools.gpu_slots, within ? "gpu" : "host", other, others, copy.group.value());
  }

  /// A page at a time: there are a few when a request is opened, and none else.
  void copy_within(stream_ref on, std::span<const page_copy> copies, std::vector<std::uint32_t>& failed) {
    for (std::uint32_t i = 0; i < copies.size(); ++i) {
      const page_copy& copy = copies[i];
      require_slots(copy_direction::within_gpu, copy);
      if (copy_failures_.next_fails() || lost_) {
        failed.push_back(i);
        continue;
      }
      cudaError_t status = refusals_.next_fails() ? cudaErrorInvalidValue : cudaSuccess;
      for (const group_memory::fragment& of : work_->groups[copy.group.value()].fragments)
        if (status == cudaSuccess)
          status = cleared(cudaMemcpyAsync(of.in_slot(copy.gpu.value()), of.in_slot(copy.from.value()), of.bytes,
                                           cudaMemcpyDeviceToDevice, on.get()));
      if (status == cudaSuccess)
        continue;
      failed.push_back(i);
      ++counts_.refused_pages;
    }
  }

  /// Part by part, each of up to four times the pages of the one before: looking at a part hides behind that.
  void copy_over_link(stream_ref on, copy_direction direction, std::span<const page_copy> copies,
                      std::vector<std::uint32_t>& failed) {
    copy_lane& lane = direction == copy_direction::to_host ? work_->to_host : work_->to_gpu;
    const copy_limits& limits = planner_.limits();
    const auto all = static_cast<std::uint32_t>(copies.size());
    by_group_.resize(work_->groups.size());
    lane.begin();
    std::uint32_t part_pages = limits.part_pages_first;
    for (std::uint32_t first = 0, end = 0; first < all; first = end) {
      end = first + std::min(part_pages, all - first);
      take_in(direction, copies, first, end, failed);
      for (std::size_t group = 0; group < by_group_.size(); ++group)
        if (!by_group_[group].empty())
          submit(lane, on, direction, group, {first, all - end}, failed);
      part_pages = std::min(part_pages * limits.part_growth, limits.part_pages_max);
    }
    if (lane.end(on) != cudaSuccess) {
      failed.resize(copies.size());
      std::iota(failed.begin(), failed.end(), 0u);
    }
    std::sort(failed.begin(), failed.end());
  }

  /// Sorts copies [first, end) into `by_group_`. Most of the time that submitting small pages takes is spent here.
  void take_in(copy_direction direction, std::span<const page_copy> copies, std::uint32_t first, std::uint32_t end,
               std::vector<std::uint32_t>& failed) {
    const bool may_fail = copy_failures_.possible() || lost_;
    if (!may_fail)
      copy_failures_.pass(end - first);
    for (std::uint32_t i = first; i < end;) {
      const group_id group = copies[i].group;
      require_slots(direction, copies[i]);
      const group_pools& pools = work_->groups[group.value()].pools;
      std::vector<planned_page>& pages = by_group_[group.value()];
      pages.reserve(end - first);
      for (; i < end && copies[i].group == group; ++i) {
        const page_copy& copy = copies[i];
        if (copy.gpu.value() >= pools.gpu_slots || copy.host.value() >= pools.host_slots)
          require_slots(direction, copy);
        if (may_fail && (copy_failures_.next_fails() || lost_))
          failed.push_back(i);
        else
          pages.push_back({copy.gpu.value(), copy.host.value(), i});
      }
    }
  }

  void submit(copy_lane& lane, stream_ref on, copy_direction direction, std::size_t number, part_of_list part,
              std::vector<std::uint32_t>& failed) {
    const group_memory& group = work_->groups[number];
    copy_plan plan = planner_.plan(direction, group.shape, std::move(by_group_[number]), part);
    for (const copy_piece& piece : plan.pieces)
      (piece.way == copy_way::kernel   ? counts_.kernel_pages
       : piece.way == copy_way::engine ? counts_.engine_pages
                                       : counts_.staged_pages) += piece.count;
    const auto refused = lane.submit(on, group, plan, refusals_);
    counts_.refused_pages += refused.size();
    failed.insert(failed.end(), refused.begin(), refused.end());
    by_group_[number] = std::move(plan.pages); // for its memory
    by_group_[number].clear();
  }

  template <class Memory>
  expected<Memory> allocate(std::uint64_t bytes, const char* what) {
    if (lost_)
      return tl::unexpected<error>(*lost_);
    if (allocation_failures_.next_fails())
      return fail(error_code::out_of_memory, fmt::format("{}: {} bytes could not be allocated", what, bytes));
    return Memory::allocate(ordinal_, bytes, what);
  }

  int ordinal_;
  std::string name_;
  cuda_device_options options_;
  copy_costs costs_;

  mutable std::mutex guard_;
  planned_failures copy_failures_;
  planned_failures allocation_failures_;
  planned_failures refusals_;
  copy_planner planner_;
  std::unique_ptr<in_use> work_;
  stream_table streams_;
  std::vector<std::vector<planned_page>> by_group_; ///< of the part that is being planned
  std::vector<submitted_copies> in_flight_;
  std::vector<device_progress::failed_copies> failed_;
  std::optional<error> lost_;
  copy_counts counts_;
};

/// Loads kernels now: loaded by their first launch they would hold that launch up, and whoever captures a stream.
expected<void> load_kernels() {
  for (cudaError_t status : {cuda_kernels::load_page_copies(), cuda_kernels::load_table_writes()})
    if (auto loaded = checked(status, "cudaFuncGetAttributes"); !loaded)
      return loaded;
  return {};
}

std::string describe(const copy_costs::direction& costs) {
  return fmt::format("link {:.1f} GB/s, kernel {:.1f} GB/s, {:.2f} us an entry; starts: engine {:.1f}, kernel {:.1f}, "
                     "staged {:.1f} us",
                     costs.link_bytes_per_us / 1e3, costs.kernel_bytes_per_us / 1e3, costs.engine_op_us,
                     costs.engine_start_us, costs.kernel_start_us, costs.staged_start_us);
}

} // namespace

expected<int> cuda_device::count() {
  int found = 0;
  if (auto asked = checked(cudaGetDeviceCount(&found), "cudaGetDeviceCount"); !asked)
    return tl::unexpected(asked.error());
  if (found == 0)
    return fail(error_code::no_device, "cudaGetDeviceCount: this machine has no GPU that CUDA can use");
  return found;
}

expected<std::shared_ptr<cuda_device>> cuda_device::create(int ordinal, cuda_device_options options) {
  auto found = count();
  if (!found)
    return tl::unexpected(found.error());
  if (ordinal < 0 || ordinal >= *found)
    return fail(error_code::no_device, fmt::format("no GPU {}, there are {}", ordinal, *found));
  current_device current(ordinal);
  cudaDeviceProp properties{};
  if (auto asked = checked(cudaGetDeviceProperties(&properties, ordinal), "cudaGetDeviceProperties"); !asked)
    return tl::unexpected(asked.error());
  if (auto loaded = load_kernels(); !loaded)
    return tl::unexpected(loaded.error());

  const copy_limits limits;
  auto to_host = copy_lane::make(ordinal, copy_direction::to_host, limits);
  auto to_gpu = copy_lane::make(ordinal, copy_direction::to_gpu, limits);
  if (!to_host || !to_gpu)
    return tl::unexpected(to_host ? to_gpu.error() : to_host.error());
  copy_costs costs = options.costs.value_or(copy_costs{});
  if (!options.costs && options.calibrate) {
    const auto begin = std::chrono::steady_clock::now();
    auto measured = calibrate(ordinal, *to_host, *to_gpu, limits);
    if (!measured)
      return tl::unexpected(measured.error());
    costs = *measured;
    const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - begin;
    if (options.log) {
      options.log(fmt::format("GPU {} ({}): calibrated in {:.0f} ms", ordinal, properties.name, taken.count()));
      options.log(fmt::format("  to host: {}", describe(costs.to_host)));
      options.log(fmt::format("  to GPU:  {}", describe(costs.to_gpu)));
    }
  }
  copy_planner planner(costs, limits, options.only);
  return std::make_shared<cuda_gpu>(ordinal, properties.name, std::move(planner), std::move(*to_host),
                                    std::move(*to_gpu), costs, std::move(options));
}

} // namespace kvferry
