// Every way of copying pages gives the same bytes, at any alignment and size, over pieces of pinned memory and beyond
// 4 GiB, and touches nothing else.
#include <algorithm>
#include <chrono>
#include <random>

#include "tests/catch.hpp"
#include "tests/cuda/cuda_under_test.hpp"

namespace kvferry::test {

namespace {

cuda_device_options going(copy_way way) {
  cuda_device_options options = cuda_under_test::uncalibrated();
  options.only = way;
  return options;
}

std::vector<std::byte> random_bytes(std::uint64_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(count);
  std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<std::byte>(random() >> 24); });
  return bytes;
}

void put(std::byte* to, const std::vector<std::byte>& bytes) {
  KVFERRY_CUDA_OK(cudaMemcpy(to, bytes.data(), bytes.size(), cudaMemcpyDefault));
  // It may return before the last bytes are there, and streams that do not block do not wait for them.
  KVFERRY_CUDA_OK(cudaDeviceSynchronize());
}

std::uint64_t pages_gone(const cuda_under_test& d, copy_way way) {
  const copy_counts counts = d.gpu->copies();
  return way == copy_way::kernel   ? counts.kernel_pages
         : way == copy_way::engine ? counts.engine_pages
                                   : counts.staged_pages;
}

/// A group of two buffers in an engine's tensor that begins `shift` bytes behind an aligned address.
configuration in_tensor(std::byte* tensor, std::uint64_t shift, std::uint64_t first, std::uint64_t second,
                        std::uint32_t slots) {
  configuration config = config_of({group_of({first, second}, slots, slots)});
  auto& buffers = config.groups[0].buffers;
  const std::uint64_t stride = first + second + 3;
  buffers[0].base_address = reinterpret_cast<std::uintptr_t>(tensor) + shift;
  buffers[0].slot_stride_bytes = stride;
  buffers[1].base_address = buffers[0].base_address + first + 1;
  buffers[1].slot_stride_bytes = stride;
  return config;
}

} // namespace

TEST_CASE("pages of any alignment and size come back byte for byte, and nothing beside them is touched") {
  auto way = GENERATE(copy_way::kernel, copy_way::engine, copy_way::staged);
  KVFERRY_NEEDS_GPU(d, config_of({group_of({8}, 1, 1)}), going(way));
  stream_id s = d.create_stream("compute");
  constexpr std::uint32_t slots = 12;
  std::byte* tensor = d.engine_tensor(1 << 20, std::byte{0});
  std::uint64_t copied = 0;
  for (std::uint64_t shift = 1; shift <= 16; ++shift)
    for (std::uint64_t size : {1, 2, 7, 15, 16, 17, 48, 100, 1021, 4096, 4097, 10'003}) {
      CAPTURE(shift, size, static_cast<int>(way));
      d.use_pools(in_tensor(tensor, shift, size, size % 5 + 1, slots));
      const std::uint64_t extent = slots * (size + size % 5 + 4) + 32;
      const auto before = random_bytes(extent, static_cast<std::uint32_t>(size * 17 + shift));
      put(tensor, before);
      // Slots 0 … 5 go to the host, and come back as 11 … 6.
      std::vector<page_copy> down, up;
      for (std::uint32_t i = 0; i < 6; ++i) {
        down.push_back(copy_of(i, 3 + i));
        up.push_back(copy_of(11 - i, 3 + i));
      }
      d.copy(s, copy_direction::to_host, down);
      d.copy(s, copy_direction::to_gpu, up);
      copied += 12;
      d.finish();
      auto expected = before;
      for (const gpu_buffer& buffer : d.pools[0].buffers)
        for (std::uint64_t i = 0; i < 6; ++i) {
          const std::uint64_t first = static_cast<std::uint64_t>(buffer.base - tensor);
          std::copy_n(before.begin() + static_cast<std::ptrdiff_t>(first + i * buffer.slot_stride_bytes),
                      buffer.bytes_per_slot,
                      expected.begin() + static_cast<std::ptrdiff_t>(first + (11 - i) * buffer.slot_stride_bytes));
        }
      REQUIRE(d.bytes_at(tensor, extent) == expected);
      REQUIRE(std::all_of(d.pools[0].host_base, d.pools[0].host_base + 3 * d.pools[0].host_slot_bytes,
                          [](std::byte b) { return b == std::byte{0}; }));
    }
  REQUIRE(pages_gone(d, way) == copied);
}

TEST_CASE("pages that lie across pieces of pinned memory are copied whole") {
  auto way = GENERATE(copy_way::kernel, copy_way::engine, copy_way::staged);
  cuda_device_options options = going(way);
  options.pinned_piece_bytes = 64 << 10;
  constexpr std::uint32_t slots = 200;
  constexpr std::uint64_t size = 5'000; // 13 pages a piece, and part of one
  KVFERRY_NEEDS_GPU(d, config_of({group_of({size}, slots, slots)}), options);
  stream_id s = d.create_stream("compute");
  const auto before = random_bytes(slots * size, 5);
  put(d.pools[0].buffers[0].base, before);
  std::vector<page_copy> down, up;
  for (std::uint32_t i = 0; i < slots; ++i) {
    down.push_back(copy_of(i, i));
    up.push_back(copy_of((i * 7) % slots, i));
  }
  d.copy(s, copy_direction::to_host, down);
  d.copy(s, copy_direction::to_gpu, up);
  d.finish();
  REQUIRE(std::equal(before.begin(), before.end(), d.pools[0].host_base));
  auto expected = before;
  for (std::uint64_t i = 0; i < slots; ++i)
    std::copy_n(before.begin() + static_cast<std::ptrdiff_t>(i * size), size,
                expected.begin() + static_cast<std::ptrdiff_t>(i * 7 % slots * size));
  REQUIRE(d.bytes_at(d.pools[0].buffers[0].base, slots * size) == expected);
}

TEST_CASE("every way reaches slots beyond 4 GiB") {
  auto way = GENERATE(copy_way::kernel, copy_way::engine, copy_way::staged);
  configuration config = config_of({group_of({4096, 100}, 4, 4)});
  for (buffer_config& buffer : config.groups[0].buffers)
    buffer.slot_stride_bytes = 3ull << 30;
  KVFERRY_NEEDS_GPU(d, config, going(way));
  stream_id s = d.create_stream("compute");
  d.fill(s, gpu_page(3), 3);
  d.copy(s, copy_direction::to_host, {copy_of(3, 1)});
  d.copy(s, copy_direction::to_gpu, {copy_of(2, 1)});
  auto host = d.compare(s, host_page(1), 3);
  auto gpu = d.compare(s, gpu_page(2), 3);
  d.finish();
  REQUIRE(*host);
  REQUIRE(*gpu);
}

TEST_CASE("lists of more than one piece and launch are copied whole, whatever the mixture of runs") {
  auto way = GENERATE(copy_way::kernel, copy_way::engine, copy_way::staged);
  constexpr std::uint32_t slots = 20'000;
  constexpr std::uint64_t size = 2'048; // 39 MiB
  KVFERRY_NEEDS_GPU(d, config_of({group_of({size - 512, 512}, slots, slots)}), going(way));
  stream_id s = d.create_stream("compute");
  std::vector<std::vector<std::byte>> before;
  for (std::uint32_t b = 0; b < 2; ++b) {
    before.push_back(random_bytes(slots * d.pools[0].buffers[b].bytes_per_slot, b));
    put(d.pools[0].buffers[b].base, before[b]);
  }
  std::vector<std::uint32_t> host(slots);
  for (std::uint32_t i = 0; i < slots; ++i)
    host[i] = i;
  std::shuffle(host.begin() + slots / 2, host.end(), std::mt19937(3)); // half of it in a run, half scattered
  std::vector<page_copy> down, up;
  for (std::uint32_t i = 0; i < slots; ++i) {
    down.push_back(copy_of(i, host[i]));
    up.push_back(copy_of((i + 1) % slots, host[i]));
  }
  d.copy(s, copy_direction::to_host, down);
  d.copy(s, copy_direction::to_gpu, up);
  d.finish();
  REQUIRE(d.gpu->copies().refused_pages == 0);
  for (std::uint32_t b = 0; b < 2; ++b) {
    const auto bytes = static_cast<std::ptrdiff_t>(d.pools[0].buffers[b].bytes_per_slot);
    auto expected = before[b];
    std::rotate(expected.begin(), expected.end() - bytes, expected.end());
    const auto found = d.bytes_at(d.pools[0].buffers[b].base, expected.size());
    std::vector<std::uint32_t> wrong;
    for (std::uint32_t page = 0; page < slots; ++page)
      if (!std::equal(found.begin() + page * bytes, found.begin() + (page + 1) * bytes,
                      expected.begin() + page * bytes))
        wrong.push_back(page);
    CAPTURE(static_cast<int>(way), b, wrong.empty() ? 0 : wrong.front(), wrong.empty() ? 0 : wrong.back());
    REQUIRE(wrong.size() == 0); // a vector would be printed whole
  }
}

TEST_CASE("a long run and thousands of single slots come back whole, each direction behind the other") {
  // The copy engine's list has thousands of entries here, each transfer behind one the other way.
  constexpr std::uint32_t run = 5'000, singles = 3'000, host_slots = run + 2 * singles;
  constexpr std::uint64_t size = 2'048;
  configuration config = config_of({group_of({size}, run + singles, host_slots)});
  KVFERRY_NEEDS_GPU(d, config, going(copy_way::staged));
  stream_id s = d.create_stream("compute");
  std::vector<page_copy> down, up;
  for (std::uint32_t i = 0; i < run + singles; ++i) {
    const std::uint32_t host = i < run ? i : run + 2 * (i - run);
    down.push_back(copy_of(i, host));
    up.push_back(copy_of((i + 1) % (run + singles), host));
  }
  for (std::uint32_t round = 0; round < 10; ++round) {
    const auto before = random_bytes((run + singles) * size, round);
    put(d.pools[0].buffers[0].base, before);
    d.copy(s, copy_direction::to_host, down);
    d.copy(s, copy_direction::to_gpu, up);
    d.finish();
    auto expected = before;
    std::rotate(expected.begin(), expected.end() - static_cast<std::ptrdiff_t>(size), expected.end());
    const bool same = d.bytes_at(d.pools[0].buffers[0].base, expected.size()) == expected;
    CAPTURE(round);
    REQUIRE(d.gpu->copies().refused_pages == 0);
    REQUIRE(same);
  }
}

TEST_CASE("5,000 pages are submitted while the stream is held: nothing waits") {
  auto direction = GENERATE(copy_direction::to_host, copy_direction::to_gpu);
  constexpr std::uint32_t slots = 5'000;
  KVFERRY_NEEDS_GPU(d, config_of({group_of({16'384}, slots, slots)}));
  stream_id s = d.create_stream("compute");
  std::vector<page_copy> copies;
  for (std::uint32_t i = 0; i < slots; ++i)
    copies.push_back(copy_of((i * 7) % slots, i));
  d.hold(s);
  auto begin = std::chrono::steady_clock::now();
  fence submitted = d.copy(s, direction, copies);
  std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - begin;
  REQUIRE_FALSE(d.passed(submitted)); // the stream is held until here
  d.release(s);
  d.finish();
  REQUIRE(d.passed(submitted));
  REQUIRE(taken.count() < 50);
}

TEST_CASE("calibration ends within 200 ms and finds costs that a link can have") {
  cuda_device_options options;
  std::vector<std::string> lines;
  options.log = [&](std::string_view line) { lines.emplace_back(line); };
  KVFERRY_NEEDS_GPU(d, config_of({group_of({8}, 1, 1)}), options);
  REQUIRE(lines.size() >= 3);
  const auto at = lines[0].find("calibrated in ");
  REQUIRE(at != std::string::npos);
  REQUIRE(std::stoi(lines[0].substr(at + 14)) < 200);
  for (const auto& costs : {d.gpu->costs().to_host, d.gpu->costs().to_gpu}) {
    REQUIRE(costs.link_bytes_per_us > 1'000);
    REQUIRE(costs.link_bytes_per_us < 1'000'000);
    REQUIRE(costs.kernel_bytes_per_us < costs.link_bytes_per_us);
    REQUIRE(costs.kernel_start_us > 1);
    REQUIRE(costs.kernel_start_us < 1'000);
  }
}

} // namespace kvferry::test
