#include "benchmarks/cuda/cells.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <numeric>
#include <random>
#include <thread>

#include "benchmarks/cuda/cuda_right.hpp"
#include "benchmarks/timing.hpp"
#include "cuda_kernels/page_copy.hpp"
#include "device/cuda/copy_lane.hpp"

namespace bench {
namespace {

using clock = std::chrono::steady_clock;
using namespace kvferry;

configuration pools_of(std::uint64_t page_bytes, std::uint32_t slots) {
  configuration config;
  group_config group;
  group.name = "pages";
  group.gpu_slots = slots;
  group.host_slots = slots;
  buffer_config buffer;
  buffer.name = "kv";
  buffer.bytes_per_slot = page_bytes;
  group.buffers = {buffer};
  config.groups = {group};
  return config;
}

/// One way's rounds.
struct series {
  std::string name;
  std::function<timing()> run;
  std::vector<double> total;
  std::vector<double> submit;
  double seconds = 0.0;
};

} // namespace

page_bench::page_bench(int ordinal, const bench_options& options) : options_(options) {
  const std::pair<const char*, std::optional<copy_way>> ways[] = {
      {"kvferry", std::nullopt}, {"kernel", copy_way::kernel}, {"staged", copy_way::staged}};
  for (const auto& [name, only] : ways) {
    if (only && options.kvferry_only)
      continue;
    cuda_device_options device;
    device.only = only;
    device.pinned_piece_bytes = options.pinned_piece_bytes;
    device.calibrate = !only;
    if (!only)
      device.log = [](std::string_view line) { fmt::print(stderr, "{}\n", line); };
    auto gpu = cuda_device::create(ordinal, device);
    KVFERRY_REQUIRE(gpu.has_value(), "{}", gpu.error().message);
    auto view = (*gpu)->interface();
    devices_.push_back({name, *gpu, view, view->create_stream("to host"), view->create_stream("to gpu"), {}});
  }
  KVFERRY_CUDA_RIGHT(cudaDeviceGetAttribute(&sms_, cudaDevAttrMultiProcessorCount, ordinal));
  load_.start();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  products_alone_ = load_.stop();
}

void page_bench::use_pages(std::uint64_t page_bytes, std::uint32_t pages_max) {
  page_bytes_ = page_bytes;
  pages_max_ = pages_max;
  for (device_way& way : devices_) {
    auto pools = way.view->make_pools(pools_of(page_bytes, pages_max));
    KVFERRY_REQUIRE(pools.has_value(), "{}", pools.error().message);
    way.pools = pools->front();
  }
}

/// Both at once: half of the pages each way, from different halves of the pools. GPU slots are always scattered.
page_bench::lists page_bench::lists_of(const cell_shape& shape) const {
  std::mt19937 random(7);
  auto list = [&](std::uint32_t first, std::uint32_t slots, std::uint32_t pages) {
    std::vector<std::uint32_t> gpu(slots), host(slots);
    std::iota(gpu.begin(), gpu.end(), first);
    std::shuffle(gpu.begin(), gpu.end(), random);
    std::iota(host.begin(), host.end(), first);
    if (shape.scattered_host)
      std::shuffle(host.begin(), host.end(), random);
    std::vector<page_copy> copies;
    for (std::uint32_t i = 0; i < pages; ++i)
      copies.push_back({group_id{0}, gpu_slot{gpu[i]}, host_slot{host[i]}});
    return copies;
  };
  lists made;
  const std::uint32_t half = pages_max_ / 2;
  if (shape.direction == "to host")
    made.to_host = list(0, pages_max_, shape.pages);
  else if (shape.direction == "to gpu")
    made.to_gpu = list(0, pages_max_, shape.pages);
  else
    made = {list(0, half, shape.pages / 2), list(half, half, shape.pages / 2)};
  return made;
}

timing page_bench::run_device(device_way& way, const lists& copies) {
  std::vector<copy_list> asked;
  if (!copies.to_host.empty())
    asked.push_back({way.to_host, copy_direction::to_host, copies.to_host, {}});
  if (!copies.to_gpu.empty())
    asked.push_back({way.to_gpu, copy_direction::to_gpu, copies.to_gpu, {}});
  const auto begin = clock::now();
  const std::vector<fence> behind = way.view->copy_lists(asked);
  const double submit = us_since(begin);
  for (fence each : behind)
    way.gpu->wait_for(each);
  const timing taken{us_since(begin), submit};
  const device_progress progress = way.view->poll();
  KVFERRY_REQUIRE(progress.failed.empty() && !progress.lost, "{}: copies failed", way.name);
  return taken;
}

timing page_bench::run_baseline(baseline how, baseline_copies* down, baseline_copies* up) {
  const device_way& way = devices_.front();
  auto down_stream = static_cast<cudaStream_t>(way.gpu->handle(way.to_host));
  auto up_stream = static_cast<cudaStream_t>(way.gpu->handle(way.to_gpu));
  const auto begin = clock::now();
  if (down != nullptr)
    down->submit(how, down_stream);
  if (up != nullptr)
    up->submit(how, up_stream);
  const double submit = us_since(begin);
  for (cudaStream_t stream : {down_stream, up_stream})
    while (cudaStreamQuery(stream) == cudaErrorNotReady) {
    }
  KVFERRY_CUDA_RIGHT(cudaGetLastError());
  return {us_since(begin), submit};
}

cell page_bench::measure(const cell_shape& shape) {
  const lists copies = lists_of(shape);
  baseline_copies down(devices_.front().pools, copy_direction::to_host, copies.to_host);
  baseline_copies up(devices_.front().pools, copy_direction::to_gpu, copies.to_gpu);
  baseline_copies* with_down = copies.to_host.empty() ? nullptr : &down;
  baseline_copies* with_up = copies.to_gpu.empty() ? nullptr : &up;
  auto against = [&](const char* name, baseline how) {
    return series{name, [=, this] { return run_baseline(how, with_down, with_up); }, {}, {}, 0.0};
  };
  std::vector<series> all{against("contiguous", baseline::contiguous), against("batch call", baseline::batch_call)};
  if (shape.pages <= options_.copies_a_page_max)
    all.push_back(against("copy a page", baseline::copy_a_page));
  for (device_way& way : devices_)
    if (way.name != "staged" || !shape.scattered_host)
      all.push_back({way.name, [this, &way, &copies] { return run_device(way, copies); }, {}, {}, 0.0});

  if (shape.beside_matrix)
    load_.start();
  for (series& each : all) // the first round is a warm-up
    each.run();
  std::mt19937 random(11);
  std::vector<series*> turn;
  for (series& each : all)
    turn.push_back(&each);
  for (std::uint32_t round = 0; round < options_.rounds_max; ++round) {
    std::shuffle(turn.begin(), turn.end(), random); // what ran before leaves caches to its liking
    for (series* next : turn) {
      series& each = *next;
      if (round >= 3 && each.seconds > options_.seconds_per_way)
        continue;
      const timing taken = each.run();
      each.total.push_back(taken.total_us);
      each.submit.push_back(taken.submit_us);
      each.seconds += taken.total_us * 1e-6;
    }
  }
  cell measured{page_bytes_,
                shape.pages,
                shape.direction,
                shape.scattered_host ? "scattered" : "run",
                shape.beside_matrix ? "matrix" : "idle",
                {},
                0.0,
                0.0};
  if (shape.beside_matrix) { // how much kvferry's copies alone cost the product
    load_.stop();
    load_.start();
    for (const auto begin = clock::now(); us_since(begin) < 200'000;)
      run_device(devices_.front(), copies);
    measured.matrix_slowdown = products_alone_ / load_.stop();
  }
  for (series& each : all)
    measured.ways[each.name] = {median(each.total), median(each.submit)};
  const copy_counts before = devices_.front().gpu->copies();
  const timing once = run_device(devices_.front(), copies);
  measured.sm_share = sm_share(shape, copies, once, before);
  return measured;
}

/// Resident threads of kvferry's kernels over 2,048, times how long they run, over SMs times the whole time.
double page_bench::sm_share(const cell_shape& shape, const lists& copies, const timing& ours,
                            const copy_counts& before) {
  const copy_counts after = devices_.front().gpu->copies();
  constexpr cuda::lane_blocks blocks;
  const double block = cuda_kernels::threads_per_block / 2048.0;
  const double mapped = shape.direction == "to host"  ? blocks.to_host
                        : shape.direction == "to gpu" ? blocks.to_gpu
                                                      : blocks.to_host + blocks.to_gpu;
  const auto pages = static_cast<double>(copies.to_host.size() + copies.to_gpu.size());
  const double by_kernel = static_cast<double>(after.kernel_pages - before.kernel_pages) / pages;
  const double by_staging = static_cast<double>(after.staged_pages - before.staged_pages) / pages;
  double share = by_kernel * mapped * block / sms_;
  if (by_staging > 0.0)
    share += by_staging * blocks.on_gpu * block * gather_us(copies) / (sms_ * ours.total_us);
  return share;
}

/// How long the kernels of staged pieces run, measured alone on the GPU, for all pages of the lists.
double page_bench::gather_us(const lists& copies) {
  using namespace cuda_kernels;
  const auto& list = copies.to_host.empty() ? copies.to_gpu : copies.to_host;
  const device_way& way = devices_.front();
  const auto count =
      static_cast<std::uint32_t>(std::min<std::uint64_t>({list.size(), pages_per_launch, (16ull << 20) / page_bytes_}));
  if (count == 0)
    return 0.0;
  std::vector<page_chunk> chunks;
  for (std::uint64_t at = 0; at < page_bytes_; at += chunk_bytes_max)
    chunks.push_back({way.pools.buffers[0].base + at, page_bytes_, at,
                      static_cast<std::uint32_t>(std::min<std::uint64_t>(chunk_bytes_max, page_bytes_ - at))});
  page_chunk* on_gpu = nullptr;
  std::byte* blobs = nullptr;
  KVFERRY_CUDA_RIGHT(cudaMalloc(reinterpret_cast<void**>(&on_gpu), chunks.size() * sizeof(page_chunk)));
  KVFERRY_CUDA_RIGHT(cudaMalloc(reinterpret_cast<void**>(&blobs), count * page_bytes_));
  KVFERRY_CUDA_RIGHT(cudaMemcpy(on_gpu, chunks.data(), chunks.size() * sizeof(page_chunk), cudaMemcpyHostToDevice));
  KVFERRY_CUDA_RIGHT(cudaDeviceSynchronize()); // it may return before the last bytes are there
  std::vector<page_pair> pairs;
  for (std::uint32_t i = 0; i < count; ++i)
    pairs.push_back({list[i].gpu.value(), i});
  auto stream = static_cast<cudaStream_t>(way.gpu->handle(way.to_host));
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  KVFERRY_CUDA_RIGHT(cudaEventCreate(&begin));
  KVFERRY_CUDA_RIGHT(cudaEventCreate(&end));
  std::vector<double> taken;
  for (int i = 0; i < 7; ++i) {
    float ms = 0.0f;
    KVFERRY_CUDA_RIGHT(cudaEventRecord(begin, stream));
    KVFERRY_CUDA_RIGHT(gather_pages({on_gpu, static_cast<std::uint32_t>(chunks.size()), blobs, page_bytes_}, pairs,
                                    cuda::lane_blocks{}.on_gpu, stream));
    KVFERRY_CUDA_RIGHT(cudaEventRecord(end, stream));
    KVFERRY_CUDA_RIGHT(cudaEventSynchronize(end));
    KVFERRY_CUDA_RIGHT(cudaEventElapsedTime(&ms, begin, end));
    taken.push_back(ms * 1e3);
  }
  (void)cudaEventDestroy(begin);
  (void)cudaEventDestroy(end);
  (void)cudaFree(on_gpu);
  (void)cudaFree(blobs);
  return median(taken) * static_cast<double>(copies.to_host.size() + copies.to_gpu.size()) / count;
}

} // namespace bench
