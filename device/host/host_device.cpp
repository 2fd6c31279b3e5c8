// The emulated GPU: one object behind the engine's view (`host_device`) and the runtime's (`device`). It gives each
// operation its place in the order and has it run when its turn has come.
#include "kvferry/host_device.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <mutex>

#include "device/device.hpp"
#include "device/host/host_memory.hpp"
#include "device/host/host_pools.hpp"
#include "device/host/operation_runner.hpp"
#include "device/host/order_checker.hpp"
#include "device/host/stream_order.hpp"
#include "device/host/stream_queues.hpp"
#include "kvferry/contract.hpp"

namespace kvferry {

namespace {

std::string_view name_of(copy_direction direction) {
  switch (direction) {
  case copy_direction::to_host: return "copy to_host";
  case copy_direction::to_gpu: return "copy to_gpu";
  case copy_direction::within_gpu: return "copy within_gpu";
  }
  return "copy";
}

class emulated_gpu final : public host_device, public device, public std::enable_shared_from_this<emulated_gpu> {
public:
  explicit emulated_gpu(host_device_options options)
      : drive_(options.drive), random_(options.seed), copy_failures_(~options.seed, options.fail_copies),
        checker_(options.check), runner_(pools_, checker_) {}

  std::shared_ptr<device> interface() override { return shared_from_this(); }

  // Enqueueing ------------------------------------------------------------------------------------------------------

  stream_id create_stream(std::string_view name) override {
    auto lock = enter();
    stream_id added = order_.add_stream(name);
    queues_.add_stream();
    checker_.add_stream(name);
    return added;
  }

  std::optional<stream_id> find_stream(std::string_view name) const override {
    auto lock = enter();
    for (std::uint32_t i = 0; i < order_.size(); ++i)
      if (order_.name(i) == name)
        return stream_id{i};
    return std::nullopt;
  }

  fence record(stream_id stream) override {
    auto lock = enter();
    return enqueue(order_.index_of(stream), "record", record_point{}, true);
  }

  void wait(stream_id stream, const fence_set& fences) override {
    auto lock = enter();
    std::uint32_t on = order_.index_of(stream);
    order_.wait(on, fences);
    if (!fences.empty())
      enqueue(on, "wait", wait_for{fences}, false);
  }

  void launch(stream_id stream, std::string_view name, std::function<void(kernel&)> body) override {
    auto lock = enter();
    KVFERRY_REQUIRE(body != nullptr, "'{}' has no function", name);
    enqueue(order_.index_of(stream), name, launched{std::move(body)}, false);
  }

  fence copy_pages(stream_id stream, copy_direction direction, std::span<const page_copy> copies) override {
    auto lock = enter();
    copy_batch batch{direction, {copies.begin(), copies.end()}, {}};
    for (std::uint32_t i = 0; i < batch.copies.size(); ++i) {
      (void)pools_.ends_of(direction, batch.copies[i]); // checked here, where the caller is seen
      if (copy_failures_.next_fails())
        batch.failing.push_back(i);
    }
    return enqueue(order_.index_of(stream), name_of(direction), std::move(batch), true);
  }

  void write_tables(stream_id stream, device_memory& tables, std::span<const table_entry> entries) override {
    auto lock = enter();
    if (entries.empty())
      return;
    const auto* target = dynamic_cast<host_device_memory*>(&tables);
    KVFERRY_REQUIRE(target != nullptr, "tables of {} bytes are not from allocate_tables", tables.size_bytes());
    table_write work{target->memory(), {}, nullptr, {}, 0};
    if (entries.size() <= table_entries_by_value) {
      work.by_value.assign(entries.begin(), entries.end());
    } else {
      work.staging = staging_of(entries);
      work.staged = entries;
      if (checker_.enabled())
        work.checksum = staging_checksum(entries);
    }
    enqueue(order_.index_of(stream), "write_tables", std::move(work), false);
  }

  // Memory ----------------------------------------------------------------------------------------------------------

  expected<std::vector<group_pools>> make_pools(const configuration& config) override {
    auto lock = enter();
    KVFERRY_REQUIRE(queues_.empty(), "the pools would be replaced under work: {}", queues_.describe(order_));
    auto made = host_pools::make(config, allocator_);
    if (!made)
      return tl::unexpected(made.error());
    pools_ = std::move(*made);
    std::vector<order_checker::pool_slots> slots;
    for (const group_pools& group : pools_.groups())
      slots.push_back({group.gpu_slots, group.host_slots});
    checker_.set_pools(slots);
    return pools_.groups();
  }

  expected<std::unique_ptr<device_memory>> allocate_tables(std::uint64_t bytes, std::uint64_t ones_bytes) override {
    auto lock = enter();
    KVFERRY_REQUIRE(ones_bytes <= bytes, "{} of {} bytes are to be 0xff", ones_bytes, bytes);
    auto memory = allocator_.allocate(bytes, "GPU memory of a batch's tables (rows, max_blocks)");
    if (!memory)
      return tl::unexpected(memory.error());
    std::fill_n(memory->data(), ones_bytes, std::byte{0xff});
    return std::make_unique<host_device_memory>(std::move(*memory));
  }

  expected<std::unique_ptr<device_memory>> allocate_staging(std::uint64_t bytes) override {
    auto lock = enter();
    auto memory = allocator_.allocate(bytes, "host memory for staging table entries (rows, max_blocks)");
    if (!memory)
      return tl::unexpected(memory.error());
    auto made = std::make_unique<host_device_memory>(std::move(*memory));
    std::erase_if(staging_, [](const std::weak_ptr<host_memory>& gone) { return gone.expired(); });
    staging_.push_back(made->memory());
    return made;
  }

  // Running ---------------------------------------------------------------------------------------------------------

  bool run_one() override {
    auto lock = enter();
    run_clock clock(run_time_ns_);
    return run_next();
  }

  bool run_to_fence(stream_id stream) override {
    auto lock = enter();
    run_clock clock(run_time_ns_);
    const std::uint32_t at = order_.index_of(stream);
    const std::uint32_t passed = queues_.passed_sequence(at);
    bool ran = false;
    for (; queues_.passed_sequence(at) == passed && queues_.can_run(at); ran = true)
      run(queues_.take_of(at));
    return ran;
  }

  bool can_run(stream_id stream) const override {
    auto lock = enter();
    return queues_.can_run(order_.index_of(stream));
  }

  void run_all() override {
    auto lock = enter();
    run_clock clock(run_time_ns_);
    while (run_next()) {
    }
  }

  void run_until(fence until) override {
    auto lock = enter();
    order_.require_recorded(until, "run_until");
    run_clock clock(run_time_ns_);
    while (!queues_.passed(until)) {
      bool ran = run_next();
      KVFERRY_REQUIRE(ran, "nothing can run, and {}:{} has not passed: {}", order_.name(until.stream.value()),
                      until.sequence, queues_.describe(order_));
    }
  }

  void hold_stream(stream_id stream) override {
    auto lock = enter();
    queues_.hold(order_.index_of(stream), true);
  }

  void release_stream(stream_id stream) override {
    auto lock = enter();
    queues_.hold(order_.index_of(stream), false);
    run_when_eager();
  }

  void begin_capture(stream_id stream) override {
    auto lock = enter();
    const std::uint32_t at = order_.index_of(stream);
    KVFERRY_REQUIRE(!capturing_[at], "stream {} is being captured already", at);
    capturing_[at] = true;
  }

  void end_capture(stream_id stream) override {
    auto lock = enter();
    const std::uint32_t at = order_.index_of(stream);
    KVFERRY_REQUIRE(capturing_[at], "stream {} is not being captured", at);
    capturing_[at] = false;
  }

  // Asking ----------------------------------------------------------------------------------------------------------

  device_progress poll() override {
    auto lock = enter();
    device_progress progress;
    for (std::uint32_t i = 0; i < order_.size(); ++i) {
      fence passed{stream_id{i}, queues_.passed_sequence(i)};
      order_.host_learns(passed);
      progress.passed.add(passed);
    }
    progress.failed = runner_.take_failed();
    return progress;
  }

  bool capturing(stream_id stream) const override {
    auto lock = enter();
    return capturing_[order_.index_of(stream)];
  }

  bool passed(fence f) const override {
    auto lock = enter();
    order_.require_recorded(f, "passed");
    return queues_.passed(f);
  }

  std::uint64_t unordered_accesses() const override {
    auto lock = enter();
    return checker_.found();
  }

  std::vector<unordered_access> first_unordered() const override {
    auto lock = enter();
    return checker_.first_found();
  }

  std::uint64_t run_time_ns() const override { return run_time_ns_; }

  // Failing on purpose ----------------------------------------------------------------------------------------------

  void fail_copy(std::uint64_t nth) override {
    auto lock = enter();
    copy_failures_.plan(nth);
  }

  void fail_allocation(std::uint64_t nth) override {
    auto lock = enter();
    allocator_.failures().plan(nth);
  }

  void forget_failures() override {
    auto lock = enter();
    copy_failures_.forget();
    allocator_.failures().forget();
  }

private:
  /// Adds the wall time of its scope to a counter.
  class run_clock {
  public:
    explicit run_clock(std::atomic<std::uint64_t>& total) : total_(total) {}
    run_clock(const run_clock&) = delete;
    run_clock& operator=(const run_clock&) = delete;

    ~run_clock() {
      auto taken = std::chrono::steady_clock::now() - began_;
      total_ += static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(taken).count());
    }

  private:
    std::atomic<std::uint64_t>& total_;
    std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  };

  /// Marks an operation as being run, and as run when it ends, by an exception too.
  class running_operation {
  public:
    running_operation(emulated_gpu& of, const operation& work) : of_(of), work_(work) { of_.running_ = true; }
    running_operation(const running_operation&) = delete;
    running_operation& operator=(const running_operation&) = delete;

    ~running_operation() {
      of_.running_ = false;
      of_.queues_.ran(work_.at, work_.is_fence);
    }

  private:
    emulated_gpu& of_;
    const operation& work_;
  };

  /// Every call begins with this. The mutex is recursive only so that a launched function which calls back is told so
  /// instead of waiting for itself for ever.
  [[nodiscard]] std::unique_lock<std::recursive_mutex> enter() const {
    std::unique_lock lock(mutex_);
    KVFERRY_REQUIRE(!running_, "a launched function calls the device; it may only touch its kernel");
    return lock;
  }

  template <class Work>
  fence enqueue(std::uint32_t stream, std::string_view what, Work work, bool is_fence) {
    KVFERRY_REQUIRE(!capturing_[stream], "'{}' on stream {}, which is being captured", what, stream);
    operation added{order_.enqueue(stream), is_fence, std::move(work)};
    fence position = is_fence ? order_.make_fence(added.at) : fence{};
    checker_.enqueued(stream, what);
    queues_.enqueue(std::move(added));
    run_when_eager();
    return position;
  }

  void run_when_eager() {
    if (drive_ != drive_mode::eager)
      return;
    run_clock clock(run_time_ns_);
    while (run_next()) {
    }
  }

  bool run_next() {
    auto next = drive_ == drive_mode::random ? queues_.take_random(random_) : queues_.take_oldest();
    if (next)
      run(*next);
    return next.has_value();
  }

  void run(const operation& next) {
    running_operation running(*this, next);
    runner_.run(next);
  }

  std::shared_ptr<host_memory> staging_of(std::span<const table_entry> entries) const {
    for (const auto& candidate : staging_)
      if (auto memory = candidate.lock())
        if (memory->contains(reinterpret_cast<const std::byte*>(entries.data()), entries.size_bytes()))
          return memory;
    KVFERRY_REQUIRE(false, "{} table entries do not lie in memory from allocate_staging", entries.size());
    return nullptr;
  }

  mutable std::recursive_mutex mutex_;
  bool running_ = false;
  std::atomic<std::uint64_t> run_time_ns_{0};

  drive_mode drive_;
  std::mt19937_64 random_; // which stream is next
  planned_failures copy_failures_;

  host_allocator allocator_;
  host_pools pools_;
  std::vector<std::weak_ptr<host_memory>> staging_;

  std::array<bool, streams_max> capturing_{}; // by stream
  stream_order order_;
  stream_queues queues_;
  order_checker checker_;
  operation_runner runner_;
};

} // namespace

std::shared_ptr<host_device> host_device::create(host_device_options options) {
  return std::make_shared<emulated_gpu>(options);
}

} // namespace kvferry
