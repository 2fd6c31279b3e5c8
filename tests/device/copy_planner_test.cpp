// Which way page copies go, by the costs measured on an H200 (the defaults). Needs no GPU.
#include "device/cuda/copy_planner.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "tests/catch.hpp"
#include "tests/properties.hpp"

namespace kvferry::test {

namespace {

constexpr std::uint64_t KiB = 1024;
constexpr std::uint64_t MiB = 1024 * KiB;

/// Pages whose GPU slots are scattered, in runs of `run` host slots that are far from each other.
std::vector<planned_page> in_runs(std::uint32_t count, std::uint32_t run) {
  std::vector<planned_page> pages;
  for (std::uint32_t i = 0; i < count; ++i)
    pages.push_back({(i * 7919u) % (4 * count), i / run * (run + 100) + i % run, i});
  return pages;
}

page_shape shape_of(std::uint64_t bytes, std::uint32_t fragments = 1) {
  page_shape shape;
  shape.page_bytes = bytes;
  shape.fragments = fragments;
  return shape;
}

copy_plan plan_of(std::uint64_t page_bytes, std::vector<planned_page> pages,
                  copy_direction direction = copy_direction::to_host) {
  return copy_planner(copy_costs{}).plan(direction, shape_of(page_bytes), std::move(pages));
}

std::set<copy_way> ways_of(const copy_plan& plan) {
  std::set<copy_way> ways;
  for (const copy_piece& piece : plan.pieces)
    ways.insert(piece.way);
  return ways;
}

using only = std::set<copy_way>;

std::uint64_t largest_piece(const copy_plan& plan) {
  std::uint64_t most = 0;
  for (const copy_piece& piece : plan.pieces)
    most = std::max<std::uint64_t>(most, piece.count);
  return most;
}

} // namespace

TEST_CASE("few small pages go by one kernel: it has ended first") {
  // The probe: 16 pages of 4 KiB take 11 us by a kernel, 14 by gather and copy.
  auto plan = plan_of(4 * KiB, in_runs(16, 16));
  REQUIRE(ways_of(plan) == only{copy_way::kernel});
  REQUIRE(plan.pieces.size() == 1);
  REQUIRE(ways_of(plan_of(16 * KiB, in_runs(64, 64))) == only{copy_way::kernel});
}

TEST_CASE("many pages in a run of host slots go through the buffer, whatever their size and direction") {
  auto bytes = GENERATE(4 * KiB, 16 * KiB, 64 * KiB, 256 * KiB);
  auto direction = GENERATE(copy_direction::to_host, copy_direction::to_gpu);
  auto count = static_cast<std::uint32_t>(64 * MiB / bytes);
  auto plan = plan_of(bytes, in_runs(count, count), direction);
  REQUIRE(ways_of(plan) == only{copy_way::staged});
  REQUIRE(largest_piece(plan) * bytes <= 32 * MiB);
  // 64 MiB at the link's speed and 2 percent.
  REQUIRE(plan.estimated_us < 64.0 * MiB / 55'300 * 1.02 + 10);
}

TEST_CASE("many small pages in scattered host slots go by a kernel") {
  REQUIRE(ways_of(plan_of(4 * KiB, in_runs(10'000, 1))) == only{copy_way::kernel});
  REQUIRE(ways_of(plan_of(64 * KiB, in_runs(1'000, 1), copy_direction::to_gpu)) == only{copy_way::kernel});
}

TEST_CASE("large scattered pages are given to the copy engine, one entry each") {
  REQUIRE(ways_of(plan_of(2 * MiB, in_runs(1, 1))) == only{copy_way::engine});
  REQUIRE(ways_of(plan_of(64 * MiB, in_runs(8, 1))) == only{copy_way::engine}); // fit no buffer
}

TEST_CASE("long runs go through the buffer and what lies scattered beside them does not") {
  auto pages = in_runs(16'384, 16'384); // 64 MiB
  for (std::uint32_t i = 0; i < 1000; ++i)
    pages.push_back({100'000 + i, 100'000 + 3 * i, 16'384 + i});
  std::shuffle(pages.begin(), pages.end(), std::mt19937(1));
  auto plan = plan_of(4 * KiB, pages);
  REQUIRE(ways_of(plan) == only{copy_way::kernel, copy_way::staged});
  for (const copy_piece& piece : plan.pieces)
    for (std::uint32_t i = piece.first; i < piece.first + piece.count; ++i)
      REQUIRE((plan.pages[i].host < 100'000) == (piece.way == copy_way::staged));
}

TEST_CASE("runs are worth the buffer from the length on at which an entry costs less than the kernel loses") {
  // 0.77 us an entry; to the host a kernel loses 1/51.4 - 1/55.3 us on each 1000 bytes: 561 KB.
  REQUIRE(ways_of(plan_of(4 * KiB, in_runs(100 * 100, 100))) == only{copy_way::kernel});
  REQUIRE(ways_of(plan_of(4 * KiB, in_runs(300 * 100, 300))) == only{copy_way::staged});
}

TEST_CASE("the piece whose kernel nothing hides is small: the first to the host, the last to the GPU") {
  auto pages = in_runs(16'384, 16'384);
  auto down = plan_of(4 * KiB, pages).pieces;
  auto up = plan_of(4 * KiB, pages, copy_direction::to_gpu).pieces;
  REQUIRE(down.size() > 3);
  REQUIRE(down.front().count * 4 * KiB == 1 * MiB);
  REQUIRE(up.back().count * 4 * KiB == 1 * MiB);
  REQUIRE(up.front().count * 4 * KiB > 4 * MiB);
}

TEST_CASE("on the copy engine's list, what is consecutive on both sides is one entry") {
  std::vector<planned_page> pages;
  for (std::uint32_t i = 0; i < 64; ++i)
    pages.push_back({i, i, i});
  page_shape dense = shape_of(16 * KiB);
  dense.dense = true;
  REQUIRE(ways_of(copy_planner(copy_costs{}).plan(copy_direction::to_host, dense, pages)) == only{copy_way::engine});
  REQUIRE(ways_of(plan_of(16 * KiB, pages)) == only{copy_way::kernel});
}

TEST_CASE("costs that say otherwise are believed") {
  copy_costs costs;
  costs.to_host.kernel_start_us = 1000;
  costs.to_host.staged_start_us = 1000;
  auto plan = copy_planner(costs).plan(copy_direction::to_host, shape_of(4 * KiB), in_runs(16, 1));
  REQUIRE(ways_of(plan) == only{copy_way::engine});
}

TEST_CASE("a way that is asked for is taken") {
  auto way = GENERATE(copy_way::kernel, copy_way::engine, copy_way::staged);
  copy_planner planner(copy_costs{}, {}, way);
  REQUIRE(ways_of(planner.plan(copy_direction::to_gpu, shape_of(4 * KiB, 3), in_runs(100, 1))) == only{way});
}

TEST_CASE("a long list's first part goes the way that is best for the whole list, and starts count once") {
  copy_planner planner(copy_costs{});
  const auto shape = shape_of(4 * KiB);
  REQUIRE(ways_of(planner.plan(copy_direction::to_host, shape, in_runs(256, 256))) == only{copy_way::kernel});
  const auto first = planner.plan(copy_direction::to_host, shape, in_runs(256, 256), {0, 16'000});
  REQUIRE(ways_of(first) == only{copy_way::staged});
  const auto next = planner.plan(copy_direction::to_host, shape, in_runs(1024, 1024), {256, 0});
  REQUIRE(ways_of(next) == only{copy_way::staged});
  REQUIRE(next.estimated_us < 80); // the link alone needs 76
}

TEST_CASE(
    "staged pieces are small where nothing hides their kernel: at a list's begin to the host, at its end to the GPU") {
  copy_planner planner(copy_costs{});
  const auto shape = shape_of(64 * KiB);
  auto pieces = [&](copy_direction direction, part_of_list part) {
    return planner.plan(direction, shape, in_runs(128, 128), part).pieces;
  };
  REQUIRE(pieces(copy_direction::to_host, {0, 500}).front().count == 16);
  REQUIRE(pieces(copy_direction::to_host, {500, 0}).size() == 1);
  REQUIRE(pieces(copy_direction::to_gpu, {0, 500}).size() == 1);
  REQUIRE(pieces(copy_direction::to_gpu, {500, 0}).back().count == 16);
}

TEST_CASE("beside a kernel the copy engine takes a share of large scattered pages, bounded by the caller's time") {
  const auto plan = plan_of(256 * KiB, in_runs(1'000, 1), copy_direction::to_gpu);
  std::uint32_t by_engine = 0, by_kernel = 0;
  for (const copy_piece& piece : plan.pieces) {
    REQUIRE(piece.beside == (piece.way == copy_way::engine));
    (piece.way == copy_way::engine ? by_engine : by_kernel) += piece.count;
  }
  REQUIRE(plan.pieces.front().way == copy_way::kernel); // its launch is cheap, and it begins at once
  REQUIRE(by_engine + by_kernel == 1'000);
  // A page needs 4.74 us by the link; 5 percent of that are 0.24 us, half of an entry's half a microsecond.
  REQUIRE(by_engine > 450);
  REQUIRE(by_engine < 500);
  SECTION("an entry that costs the caller more has a smaller share") {
    copy_costs costs;
    costs.to_gpu.engine_submit_us = 2.0;
    auto less = copy_planner(costs).plan(copy_direction::to_gpu, shape_of(256 * KiB), in_runs(1'000, 1));
    std::uint32_t count = 0;
    for (const copy_piece& piece : less.pieces)
      count += piece.beside ? piece.count : 0;
    REQUIRE(count > 100);
    REQUIRE(count < 125);
  }
  SECTION("small pages, and few, go by the kernel alone") {
    REQUIRE(ways_of(plan_of(16 * KiB, in_runs(4'000, 1), copy_direction::to_gpu)) == only{copy_way::kernel});
    REQUIRE(ways_of(plan_of(256 * KiB, in_runs(20, 1), copy_direction::to_gpu)) == only{copy_way::kernel});
  }
}

TEST_CASE("while the other direction is copied, runs go through the buffer that would go by a kernel alone") {
  copy_planner planner(copy_costs{});
  const auto pages = in_runs(192, 192); // 768 KiB
  REQUIRE(ways_of(planner.plan(copy_direction::to_host, shape_of(4 * KiB), pages)) == only{copy_way::kernel});
  REQUIRE(ways_of(planner.plan(copy_direction::to_host, shape_of(4 * KiB), pages, {0, 1'000, true})) ==
          only{copy_way::staged});
  REQUIRE(ways_of(planner.plan(copy_direction::to_host, shape_of(4 * KiB), in_runs(512, 512), {0, 0, true})) ==
          only{copy_way::staged});
}

TEST_CASE("parts grow as fast as looking at them hides behind the copies before, three to four times") {
  copy_planner planner(copy_costs{});
  const auto next = [&](std::uint64_t bytes, std::uint32_t pages) {
    return planner.next_part(copy_direction::to_host, bytes, pages);
  };
  REQUIRE(next(4 * KiB, 128) == 384);    // 9 us are less than what calls take
  REQUIRE(next(4 * KiB, 1'000) > 3'800); // 74 us, less 15, at 0.015 a page
  REQUIRE(next(4 * KiB, 1'000) < 4'000);
  REQUIRE(next(64 * KiB, 128) == 512);     // 152 us: as much as it may
  REQUIRE(next(64 * KiB, 8'000) == 8'064); // all that a launch takes
}

TEST_CASE("a list whose host slots come twice is planned with each page once, in no run that it is not in") {
  std::vector<planned_page> pages{{1, 5, 0}, {2, 5, 1}, {3, 7, 2}, {4, 6, 3}};
  copy_planner planner(copy_costs{}, {}, copy_way::staged);
  const auto plan = planner.plan(copy_direction::to_gpu, shape_of(4 * KiB), pages);
  std::vector<std::uint32_t> host;
  for (const planned_page& page : plan.pages)
    host.push_back(page.host);
  REQUIRE(host == std::vector<std::uint32_t>{5, 5, 6, 7});
}

TEST_CASE("every page of a list is in exactly one piece, and no piece is too large") {
  REQUIRE(holds([] {
    const auto bytes = *rc::gen::inRange<std::uint64_t>(1, 24 * MiB);
    const auto fragments = *rc::gen::inRange<std::uint32_t>(1, 200);
    const auto count = *rc::gen::inRange<std::uint32_t>(1, 3000);
    const auto run = *rc::gen::inRange<std::uint32_t>(1, 3000);
    const auto direction = *rc::gen::element(copy_direction::to_host, copy_direction::to_gpu);
    auto pages = in_runs(count, run);
    std::shuffle(pages.begin(), pages.end(), std::mt19937(count));
    copy_planner planner(copy_costs{});
    auto plan = planner.plan(direction, shape_of(bytes, fragments), pages);

    RC_ASSERT(plan.pages.size() == count);
    std::vector<bool> seen(count);
    std::uint32_t next = 0;
    for (const copy_piece& piece : plan.pieces) {
      RC_ASSERT(piece.first == next);
      RC_ASSERT(piece.count > 0u);
      next += piece.count;
      if (piece.way == copy_way::staged)
        RC_ASSERT(piece.count * bytes <= 32 * MiB);
      if (piece.way == copy_way::engine)
        RC_ASSERT(piece.count == 1 || piece.count * fragments <= 4096);
    }
    RC_ASSERT(next == count);
    for (const planned_page& page : plan.pages) {
      RC_ASSERT(!seen[page.position]);
      seen[page.position] = true;
      const auto original =
          std::find_if(pages.begin(), pages.end(), [&](const planned_page& p) { return p.position == page.position; });
      RC_ASSERT(original->gpu == page.gpu);
      RC_ASSERT(original->host == page.host);
    }
  }));
}

} // namespace kvferry::test
