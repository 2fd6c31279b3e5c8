// What is enqueued, in which order, and what waits on the host. Needs no GPU.
#include "device/cuda/page_copier.hpp"

#include <algorithm>

#include "tests/catch.hpp"
#include "tests/cuda/copier/written_down.hpp"
#include "tests/device/rig.hpp"

namespace kvferry::test {

namespace {

constexpr std::uint32_t slots = 6'000;

/// One group of 16 KiB pages, copied by kernels, 1 MiB in flight: the first parts of a long list are 2,688 pages, since
/// what is in flight is counted every 32 MiB.
struct copier_rig {
  copier_rig()
      : of(streams, copy_planner(copy_costs{}, {}, copy_way::kernel),
           cuda::copy_lane::make(0, copy_direction::to_host, {}).value(),
           cuda::copy_lane::make(0, copy_direction::to_gpu, {}).value(), {0, 1 << 20, planned_failures(1)}) {
    set_all_ended(false);
    cuda::group_memory& group = groups.emplace_back();
    group.pools.gpu_slots = group.pools.host_slots = slots;
    group.shape.page_bytes = 16'384;
    group.fragments.push_back({nullptr, 16'384, 16'384, 0});
    of.use(groups);
  }

  stream_id stream() { return streams.add("stream", cuda::stream::make(0).value()); }

  fence copy(stream_id on, copy_direction direction, const std::vector<page_copy>& copies, fence_set before = {}) {
    const copy_list list{on, direction, copies, std::move(before)};
    fence behind;
    REQUIRE(of.copy({&list, 1}, {&behind, 1}) == cudaSuccess);
    return behind;
  }

  fence record(stream_id on) {
    fence recorded;
    REQUIRE(of.submit_all(on) == cudaSuccess);
    REQUIRE(streams.record(on, recorded) == cudaSuccess);
    return recorded;
  }

  const std::vector<std::string>& words(stream_id on) const { return enqueued_on(streams.ref(on).get()); }
  std::uint64_t submitted() const { return of.counts().kernel_pages; }

  void let_all_end() {
    set_all_ended(true);
    for (int i = 0; i < 10; ++i) {
      REQUIRE_FALSE(streams.poll().has_value());
      REQUIRE(of.go_on() == cudaSuccess);
    }
    of.settle();
  }

  cuda::stream_table streams{0};
  std::vector<cuda::group_memory> groups;
  cuda::page_copier of;
};

std::vector<page_copy> pages(std::uint32_t count) {
  std::vector<page_copy> copies;
  for (std::uint32_t i = 0; i < count; ++i)
    copies.push_back(copy_of(i, i * 7 % slots));
  return copies;
}

} // namespace

TEST_CASE("what is beyond the bound is enqueued when earlier copies have ended, though the caller's list is gone") {
  copier_rig r;
  const stream_id s = r.stream();
  std::vector<page_copy> all = pages(slots);
  const fence behind = r.copy(s, copy_direction::to_host, all);
  all.clear();
  REQUIRE(r.of.anything_waits());
  REQUIRE(r.submitted() == 2'688);
  REQUIRE(r.of.go_on() == cudaSuccess); // nothing has ended
  REQUIRE(r.submitted() == 2'688);
  REQUIRE_FALSE(r.streams.passed(behind, "test"));
  r.let_all_end();
  REQUIRE(r.submitted() == slots);
  REQUIRE_FALSE(r.of.anything_waits());
  REQUIRE(r.streams.passed(behind, "test"));
  REQUIRE(r.of.take_failed().empty());
}

TEST_CASE("parts of both directions are enqueued in turn") {
  copier_rig r;
  const stream_id down = r.stream(), up = r.stream();
  const auto all = pages(slots);
  const copy_list lists[] = {{down, copy_direction::to_host, all, {}}, {up, copy_direction::to_gpu, all, {}}};
  fence behind[2];
  REQUIRE(r.of.copy(lists, behind) == cudaSuccess);
  REQUIRE(r.submitted() == 2 * 2'688); // neither waits for the other's end
  r.let_all_end();
  REQUIRE(r.submitted() == 2 * slots);
}

TEST_CASE("what comes next on a stream comes behind all of its list, and behind what it was told to wait for since") {
  const std::string next = GENERATE("a position", "the same way", "the other way", "within the GPU");
  CAPTURE(next);
  copier_rig r;
  const stream_id s = r.stream(), engine = r.stream(), other = r.stream();
  r.copy(s, copy_direction::to_host, pages(slots));
  REQUIRE(r.of.wait(s, r.record(engine)) == cudaSuccess);
  fence behind;
  if (next == "a position")
    behind = r.record(s);
  else if (next == "within the GPU")
    behind = r.copy(s, copy_direction::within_gpu, {{group_id{0}, gpu_slot{3}, host_slot::none(), gpu_slot{4}}});
  else
    behind = r.copy(s, next == "the same way" ? copy_direction::to_host : copy_direction::to_gpu, {copy_of(1, 1)});
  REQUIRE(r.of.anything_waits() == (next == "the same way")); // that holds nobody
  REQUIRE(r.of.wait(other, behind) == cudaSuccess);           // whoever waits for it has all of it enqueued
  REQUIRE_FALSE(r.of.anything_waits());
  const auto& words = r.words(s);
  const auto list_end = std::find(words.begin(), words.end(), "kernel 3312"); // the list's last part
  const auto wait = std::find_if(words.begin(), words.end(), [](const auto& w) { return w.starts_with("wait"); });
  REQUIRE(list_end < wait);
  REQUIRE(wait + 1 < words.end());
  const auto last = *(wait + 1);
  REQUIRE(last.substr(0, last.find(' ')) == (next == "a position"       ? "record"
                                             : next == "within the GPU" ? "copy"
                                                                        : "kernel"));
  REQUIRE(r.words(other).size() == 1);
}

TEST_CASE("a list waits for what it names, when its turn has come") {
  copier_rig r;
  const stream_id s = r.stream(), engine = r.stream();
  const fence written = r.record(engine);
  r.copy(s, copy_direction::to_host, pages(3), written);
  REQUIRE(r.words(s).size() == 3);
  REQUIRE(r.words(s)[0].starts_with("wait"));
  REQUIRE(r.words(s)[1] == "kernel 3");
}

TEST_CASE("when the GPU is lost, what never was enqueued fails whole, under its fence") {
  copier_rig r;
  const stream_id s = r.stream();
  const fence behind = r.copy(s, copy_direction::to_gpu, pages(slots));
  r.streams.abandon();
  r.of.abandon();
  r.of.settle();
  REQUIRE_FALSE(r.of.anything_waits());
  const auto failed = r.of.take_failed();
  REQUIRE(failed.size() == 1);
  REQUIRE(failed[0].submitted == behind);
  REQUIRE(failed[0].positions.size() == slots);
}

TEST_CASE("an empty list has a fence") {
  copier_rig r;
  const stream_id s = r.stream();
  const fence behind = r.copy(s, copy_direction::to_host, {});
  r.let_all_end();
  REQUIRE(r.streams.passed(behind, "test"));
}

} // namespace kvferry::test
