// How the host device is driven: what runs when, what fails on purpose, what it tells.
#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <thread>

#include "tests/catch.hpp"
#include "tests/device/death.hpp"
#include "tests/device/rig.hpp"

namespace kvferry::test {

namespace {

host_device_options driven(drive_mode drive, std::uint64_t seed = 1) {
  host_device_options options;
  options.drive = drive;
  options.seed = seed;
  return options;
}

/// Launches kernels that write down their names as they run.
struct diary {
  void launch(rig& r, stream_id stream, std::string name) {
    r.gpu->launch(stream, name, [this, name](kernel&) { entries += name; });
  }
  std::string entries;
};

} // namespace

TEST_CASE("a stream is found by its name, whoever made it") {
  rig r(driven(drive_mode::by_hand));
  stream_id engines = r.gpu->create_stream("compute");
  stream_id runtimes = r.gpu->interface()->create_stream("copies to host");
  REQUIRE(r.gpu->find_stream("compute") == engines);
  REQUIRE(r.gpu->find_stream("copies to host") == runtimes);
  REQUIRE_FALSE(r.gpu->find_stream("copies"));
}

TEST_CASE("driven eagerly, work runs as it is enqueued") {
  rig r(driven(drive_mode::eager));
  diary d;
  stream_id s = r.gpu->create_stream("compute");
  d.launch(r, s, "a");
  REQUIRE(d.entries == "a");
  REQUIRE(r.gpu->passed(r.gpu->record(s)));
}

TEST_CASE("driven eagerly, a held stream keeps its work and that of those who wait for it, until it is released") {
  rig r(driven(drive_mode::eager));
  diary d;
  stream_id held = r.gpu->create_stream("held");
  stream_id other = r.gpu->create_stream("other");
  r.gpu->hold_stream(held);
  d.launch(r, held, "a");
  d.launch(r, other, "b");
  r.gpu->wait(other, r.gpu->record(held));
  d.launch(r, other, "c");
  REQUIRE(d.entries == "b");
  r.gpu->release_stream(held);
  REQUIRE(d.entries == "bac");
}

TEST_CASE("driven by hand, the oldest operation that can run comes first, across streams") {
  rig r(driven(drive_mode::by_hand));
  diary d;
  stream_id one = r.gpu->create_stream("one");
  stream_id two = r.gpu->create_stream("two");
  d.launch(r, two, "a");
  d.launch(r, one, "b");
  d.launch(r, one, "c");
  d.launch(r, two, "d");
  REQUIRE(d.entries.empty());
  REQUIRE(r.gpu->run_one());
  REQUIRE(d.entries == "a");
  r.gpu->hold_stream(one);
  r.gpu->run_all();
  REQUIRE(d.entries == "ad");
  REQUIRE_FALSE(r.gpu->run_one());
  r.gpu->release_stream(one);
  REQUIRE(d.entries == "ad");
  r.gpu->run_all();
  REQUIRE(d.entries == "adbc");
}

TEST_CASE("driven by hand until a fence, what was enqueued behind it does not run") {
  rig r(driven(drive_mode::by_hand));
  diary d;
  stream_id one = r.gpu->create_stream("one");
  stream_id two = r.gpu->create_stream("two");
  d.launch(r, one, "a");
  d.launch(r, two, "b");
  fence after_a = r.gpu->record(one);
  d.launch(r, one, "c");
  REQUIRE_FALSE(r.gpu->passed(after_a));
  r.gpu->run_until(after_a);
  REQUIRE(r.gpu->passed(after_a));
  REQUIRE(d.entries == "ab");
  r.gpu->run_until(after_a);
  REQUIRE(d.entries == "ab");
}

TEST_CASE("one stream alone runs up to its next fence, and no further than what it waits for") {
  rig r(driven(GENERATE(drive_mode::by_hand, drive_mode::random)));
  diary d;
  stream_id first = r.gpu->create_stream("first");
  stream_id second = r.gpu->create_stream("second");
  d.launch(r, first, "a");
  const fence behind_a = r.gpu->record(first);
  d.launch(r, first, "b");
  d.launch(r, second, "c");
  r.gpu->wait(second, r.gpu->record(first));
  d.launch(r, second, "d");
  REQUIRE(r.gpu->run_to_fence(first));
  REQUIRE(d.entries == "a");
  REQUIRE(r.gpu->passed(behind_a));
  REQUIRE(r.gpu->run_to_fence(second)); // there is no fence of its own: as far as it can
  REQUIRE(d.entries == "ac");
  REQUIRE_FALSE(r.gpu->can_run(second));
  REQUIRE_FALSE(r.gpu->run_to_fence(second));
  REQUIRE(r.gpu->can_run(first));
  REQUIRE(r.gpu->run_to_fence(first));
  REQUIRE(r.gpu->run_to_fence(second));
  REQUIRE(d.entries == "acbd");
  REQUIRE_FALSE(r.gpu->can_run(first));
  d.launch(r, first, "e");
  r.gpu->hold_stream(first);
  REQUIRE_FALSE(r.gpu->can_run(first));
  REQUIRE_FALSE(r.gpu->run_to_fence(first));
  r.gpu->release_stream(first);
  REQUIRE(r.gpu->run_to_fence(first));
  REQUIRE(d.entries == "acbde");
}

TEST_CASE("driven at random, streams keep their order, seeds differ and one seed says the same twice") {
  auto run = [](std::uint64_t seed) {
    rig r(driven(drive_mode::random, seed));
    diary d;
    stream_id one = r.gpu->create_stream("one");
    stream_id two = r.gpu->create_stream("two");
    for (const char* name : {"a", "b", "c", "d"})
      d.launch(r, one, name);
    for (const char* name : {"1", "2", "3", "4"})
      d.launch(r, two, name);
    r.gpu->run_all();
    return d.entries;
  };
  std::vector<std::string> runs;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::string entries = run(seed);
    REQUIRE(entries == run(seed));
    runs.push_back(entries);
    std::string letters;
    std::string digits;
    for (char c : entries)
      (c >= 'a' ? letters : digits) += c;
    REQUIRE(letters == "abcd");
    REQUIRE(digits == "1234");
  }
  std::sort(runs.begin(), runs.end());
  REQUIRE(std::unique(runs.begin(), runs.end()) - runs.begin() > 5);
}

TEST_CASE("driven at random, a wait holds its stream until the fence has passed") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    rig r(driven(drive_mode::random, seed));
    diary d;
    stream_id one = r.gpu->create_stream("one");
    stream_id two = r.gpu->create_stream("two");
    d.launch(r, one, "a");
    fence after_a = r.gpu->record(one);
    r.gpu->wait(two, after_a);
    d.launch(r, two, "b");
    fence after_b = r.gpu->record(two);
    r.gpu->run_until(after_b);
    REQUIRE(d.entries == "ab");
  }
}

TEST_CASE(
    "a copy that shall fail leaves wrong bytes in every fragment, harms no other page and is told once, when over") {
  auto direction = GENERATE(copy_direction::to_host, copy_direction::to_gpu);
  rig r;
  stream_id s = r.gpu->create_stream("compute");
  for (std::uint32_t slot = 0; slot < 4; ++slot)
    r.fill(s, gpu_page(slot), slot);
  if (direction == copy_direction::to_gpu)
    r.copy(s, copy_direction::to_host, {copy_of(0, 0), copy_of(1, 1), copy_of(2, 2), copy_of(3, 3)});
  r.gpu->fail_copy(1);
  r.gpu->fail_copy(3);
  std::uint32_t to = direction == copy_direction::to_gpu ? 10 : 0;
  fence submitted = r.copy(s, direction, {copy_of(to, 0), copy_of(to + 1, 1), copy_of(to + 2, 2), copy_of(to + 3, 3)});
  fence behind = r.copy(s, direction, {copy_of(to, 0)});
  REQUIRE(r.runtime_view->poll().failed.empty());

  std::vector<bool> right(4);
  std::vector<int> wrong_fragments(4);
  r.gpu->launch(s, "look", [&](kernel& k) {
    for (std::uint32_t i = 0; i < 4; ++i) {
      page_ref target = direction == copy_direction::to_gpu ? gpu_page(to + i) : host_page(i);
      right[i] = r.holds_pattern(k, target, i);
      for (std::uint32_t buffer = 0; buffer < 2; ++buffer) {
        std::uint64_t last = r.groups[0].buffers[buffer].bytes_per_slot - 1;
        wrong_fragments[i] += k.read(target, buffer, last, 1)[0] != pattern(i, buffer, last) ? 1 : 0;
      }
    }
  });
  r.gpu->run_until(behind);
  auto failed = r.runtime_view->poll().failed;
  REQUIRE(failed.size() == 1);
  REQUIRE(failed[0].submitted == submitted);
  REQUIRE(failed[0].positions == std::vector<std::uint32_t>{1, 3});
  REQUIRE(r.runtime_view->poll().failed.empty());
  r.gpu->run_all();
  REQUIRE(right == std::vector<bool>{true, false, true, false});
  REQUIRE(wrong_fragments == std::vector<int>{0, 2, 0, 2});
}

TEST_CASE("a page of one byte that fails is wrong, too") {
  rig r({}, config_of({group_of({1}, 1, 1)}));
  stream_id s = r.gpu->create_stream("compute");
  r.fill(s, gpu_page(0), 5);
  r.gpu->fail_copy(0);
  r.copy(s, copy_direction::to_host, {copy_of(0, 0)});
  r.gpu->run_all();
  REQUIRE(r.pools[0].host_base[0] != pattern(5, 0, 0));
}

TEST_CASE("copies fail by chance as often as asked, at places that the seed alone decides") {
  auto failures = [](std::uint64_t seed, drive_mode drive) {
    host_device_options options = driven(drive, seed);
    options.fail_copies = 0.1;
    rig r(options);
    stream_id s = r.gpu->create_stream("compute");
    r.copy(s, copy_direction::to_host, std::vector<page_copy>(10000, copy_of(0, 0)));
    r.gpu->run_all();
    return r.runtime_view->poll().failed.at(0).positions;
  };
  auto first = failures(1, drive_mode::by_hand);
  REQUIRE(first.size() > 850); // the mean is 1000, a standard deviation 30
  REQUIRE(first.size() < 1150);
  REQUIRE(first == failures(1, drive_mode::random));
  REQUIRE(first != failures(2, drive_mode::by_hand));
}

TEST_CASE("a function that throws counts as run, and the device goes on") {
  rig r;
  diary d;
  stream_id s = r.gpu->create_stream("compute");
  r.gpu->launch(s, "broken", [](kernel&) { throw std::runtime_error("kernel"); });
  d.launch(r, s, "a");
  fence after = r.gpu->record(s);
  REQUIRE_THROWS_AS(r.gpu->run_until(after), std::runtime_error);
  r.gpu->run_until(after);
  REQUIRE(d.entries == "a");
}

TEST_CASE("the time that operations take is told apart") {
  rig r;
  stream_id s = r.gpu->create_stream("compute");
  REQUIRE(r.gpu->run_time_ns() == 0);
  auto began = std::chrono::steady_clock::now();
  std::chrono::nanoseconds inside{};
  r.gpu->launch(s, "spin", [&](kernel&) {
    auto at = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - at < std::chrono::milliseconds(1)) {
    }
    inside = std::chrono::steady_clock::now() - at;
  });
  r.gpu->run_all();
  auto around = std::chrono::steady_clock::now() - began;
  REQUIRE(r.gpu->run_time_ns() >= static_cast<std::uint64_t>(inside.count()));
  REQUIRE(r.gpu->run_time_ns() <= static_cast<std::uint64_t>(std::chrono::nanoseconds(around).count()));
}

TEST_CASE("the runtime's view lives as long as somebody holds it, and goes with work enqueued") {
  std::shared_ptr<device> view;
  {
    rig r;
    view = r.runtime_view;
  }
  stream_id s = view->create_stream("compute");
  REQUIRE(view->record(s).sequence == 1);
}

TEST_CASE("pools are made anew for the next runtime, but not under work of the last one") {
  rig r;
  stream_id s = r.gpu->create_stream("compute");
  r.copy(s, copy_direction::to_host, {copy_of(0, 0)});
  REQUIRE_THAT(words_of_death([&] { r.runtime_view->make_pools(config_of({group_of({8}, 2, 2)})).value(); }),
               ContainsSubstring("compute (held: false, next: 1, queued: 1)"));
  r.gpu->run_all();
  REQUIRE(r.runtime_view->make_pools(config_of({group_of({8}, 2, 2)})).value().at(0).gpu_slots == 2);
}

TEST_CASE("broken contracts of the device say what they saw") {
  rig r;
  stream_id s = r.gpu->create_stream("compute");
  stream_id other = r.gpu->create_stream("h2d");
  SECTION("a wait or a question about a position that was never recorded") {
    r.gpu->launch(s, "fill", [](kernel&) {});
    REQUIRE_THAT(words_of_death([&] {
                   r.gpu->wait(other, fence{s, 1});
                 }),
                 ContainsSubstring("'h2d' waits for compute:1"));
    REQUIRE_THAT(words_of_death([&] { r.gpu->passed(fence{s, 9}); }), ContainsSubstring("compute:9"));
    REQUIRE_THAT(words_of_death([&] { r.gpu->run_until(fence{s, 9}); }), ContainsSubstring("compute:9"));
  }
  SECTION("a run until a fence behind a held stream") {
    fence held = r.gpu->record(s);
    r.gpu->hold_stream(s);
    r.gpu->wait(other, held);
    fence behind = r.gpu->record(other);
    REQUIRE_THAT(words_of_death([&] { r.gpu->run_until(behind); }),
                 ContainsSubstring("h2d:2 has not passed: compute (held: true, next: 1, queued: 1); "
                                   "h2d (held: false, next: 1, queued: 2, waits for compute:1)"));
  }
  SECTION("a kernel that writes a host page") {
    r.gpu->launch(s, "careless", [](kernel& k) { k.write(host_page(3), 0, 0, 1); });
    REQUIRE_THAT(words_of_death([&] { r.gpu->run_all(); }),
                 ContainsSubstring("careless at compute:1 writes to group 0 host slot 3"));
  }
  SECTION("a launched function that calls the device") {
    r.gpu->launch(s, "caller", [&](kernel&) { r.gpu->record(other); });
    REQUIRE_THAT(words_of_death([&] { r.gpu->run_all(); }), ContainsSubstring("may only touch its kernel"));
  }
  SECTION("a stream that does not exist") {
    REQUIRE_THAT(words_of_death([&] { r.gpu->record(stream_id{5}); }), ContainsSubstring("stream 5 of 2"));
    REQUIRE_THAT(words_of_death([&] { r.gpu->record(stream_id::none()); }), ContainsSubstring("of 2"));
  }
}

TEST_CASE("calls come from several threads at once, while another one runs the work") {
  rig r;
  constexpr int launches = 2000;
  std::atomic<int> ran = 0; // by whichever thread runs it
  stream_id shared = r.gpu->create_stream("shared");
  auto engine = [&](std::uint32_t slot) {
    stream_id own = r.gpu->create_stream("own");
    for (int i = 0; i < launches; ++i) {
      r.gpu->launch(own, "count", [&, slot](kernel& k) {
        k.write(gpu_page(slot), 0, 0, 8)[0] = std::byte{1};
        ++ran;
      });
      fence written = r.gpu->record(own);
      r.gpu->wait(shared, written);
      if (i % 16 == 0)
        r.runtime_view->poll();
    }
  };
  std::atomic<bool> done = false;
  std::thread driver([&] {
    while (!done)
      r.gpu->run_one();
  });
  std::thread one(engine, 1);
  std::thread two(engine, 2);
  one.join();
  two.join();
  done = true;
  driver.join();
  r.gpu->run_all();
  REQUIRE(ran == 2 * launches);
  REQUIRE(r.gpu->unordered_accesses() == 0);
}

} // namespace kvferry::test
