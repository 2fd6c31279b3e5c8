// The order rules of design section 6 as a device sees them: with its fence each scenario is clean and the bytes are
// right, without it the check names the page. Streams are held so that the wrong order does happen.
#include "tests/catch.hpp"
#include "tests/device/rig.hpp"

namespace kvferry::test {

namespace {

struct streams {
  explicit streams(rig& r)
      : compute(r.gpu->create_stream("compute")), h2d(r.gpu->create_stream("h2d")), d2h(r.gpu->create_stream("d2h")) {}
  stream_id compute;
  stream_id h2d;
  stream_id d2h;
};

/// Runs everything, with `late` last as far as fences allow.
void run_last(rig& r, stream_id late) {
  r.gpu->hold_stream(late);
  r.gpu->run_all();
  r.gpu->release_stream(late);
  r.gpu->run_all();
}

} // namespace

TEST_CASE("A1: a page is copied to the host after it was written") {
  // A1: the scheduler's bookkeeping says "computed", which gives no order on the device.
  bool waits = GENERATE(true, false);
  rig r;
  streams s(r);
  r.fill(s.compute, gpu_page(0), 9);
  fence written = r.gpu->record(s.compute);
  if (waits)
    r.gpu->wait(s.d2h, written);
  fence copied = r.copy(s.d2h, copy_direction::to_host, {copy_of(0, 0)});
  bool same = false;
  r.gpu->wait(s.h2d, copied);
  r.compare(s.h2d, host_page(0), 9, &same);
  run_last(r, s.compute);
  REQUIRE(same == waits);
  REQUIRE(r.gpu->unordered_accesses() == (waits ? 0 : 1));
  if (!waits)
    REQUIRE(r.first_report() ==
            "group 0 gpu slot 0 (generation 0): write by fill at compute:1 is not ordered after read "
            "by copy to_host at d2h:1");
}

TEST_CASE("A2: a page is loaded into a slot after its last reader") {
  // A2: a freed GPU page becomes the target of a load while an earlier request's attention still reads it.
  bool waits = GENERATE(true, false);
  rig r;
  streams s(r);
  r.fill(s.compute, gpu_page(0), 1);
  fence filled = r.gpu->record(s.compute);
  bool same = false;
  r.compare(s.compute, gpu_page(0), 1, &same);
  fence read = r.gpu->record(s.compute);
  r.gpu->run_until(filled);
  r.runtime_view->poll();
  if (waits)
    r.gpu->wait(s.h2d, read);
  r.copy(s.h2d, copy_direction::to_gpu, {copy_of(0, 5)});
  run_last(r, s.compute);
  REQUIRE(same == waits);
  REQUIRE(r.gpu->unordered_accesses() == (waits ? 0 : 1));
  if (!waits)
    REQUIRE(r.first_report() ==
            "group 0 gpu slot 0 (generation 2): read by attention at compute:3 is not ordered after "
            "write by copy to_gpu at h2d:1");
}

TEST_CASE("A5: a page is read after its load, on every stream that reads it") {
  // A5: copies forked off the schedule stream and never rejoined.
  bool joined = GENERATE(true, false);
  rig r;
  streams s(r);
  r.fill(s.compute, gpu_page(0), 4);
  r.copy(s.compute, copy_direction::to_host, {copy_of(0, 7)});
  r.gpu->wait(s.h2d, r.gpu->record(s.compute));
  fence loaded = r.copy(s.h2d, copy_direction::to_gpu, {copy_of(3, 7)});
  if (joined)
    r.gpu->wait(s.compute, loaded);
  bool same = false;
  r.compare(s.compute, gpu_page(3), 4, &same);
  run_last(r, s.h2d);
  REQUIRE(same == joined);
  REQUIRE(r.gpu->unordered_accesses() == (joined ? 0 : 1));
  if (!joined)
    REQUIRE_THAT(r.first_report(), ContainsSubstring("gpu slot 3") && ContainsSubstring("attention at compute:"));
}

TEST_CASE("A8: a copy waits for the stream that wrote the page, not for another one") {
  // A8: transfers synchronised with a helper stream instead of the stream that runs the model.
  bool right_stream = GENERATE(true, false);
  rig r;
  streams s(r);
  stream_id second = r.gpu->create_stream("compute2");
  r.fill(second, gpu_page(6), 2);
  fence by_second = r.gpu->record(second);
  fence by_first = r.gpu->record(s.compute);
  r.gpu->wait(s.d2h, right_stream ? by_second : by_first);
  r.copy(s.d2h, copy_direction::to_host, {copy_of(6, 6)});
  r.gpu->run_all();
  REQUIRE(r.gpu->unordered_accesses() == (right_stream ? 0 : 1));
  if (!right_stream)
    REQUIRE(r.first_report() == "group 0 gpu slot 6 (generation 1): read by copy to_host at d2h:2 is not ordered after "
                                "write by fill at compute2:1");
}

TEST_CASE("a host slot is overwritten after the load that reads it") {
  bool waits = GENERATE(true, false);
  rig r;
  streams s(r);
  fence loaded = r.copy(s.h2d, copy_direction::to_gpu, {copy_of(1, 9)});
  if (waits)
    r.gpu->wait(s.d2h, loaded);
  r.copy(s.d2h, copy_direction::to_host, {copy_of(2, 9)});
  run_last(r, s.h2d);
  REQUIRE(r.gpu->unordered_accesses() == (waits ? 0 : 1));
  if (!waits)
    REQUIRE_THAT(r.first_report(), ContainsSubstring("group 0 host slot 9"));
}

TEST_CASE("a slot is written by its next owner after the copy out of it") {
  // The source of a demotion is granted at once, behind the copy (design section 6).
  bool waits = GENERATE(true, false);
  rig r;
  streams s(r);
  r.fill(s.compute, gpu_page(1), 1);
  r.gpu->wait(s.d2h, r.gpu->record(s.compute));
  fence demoted = r.copy(s.d2h, copy_direction::to_host, {copy_of(1, 1)});
  if (waits)
    r.gpu->wait(s.compute, demoted);
  r.fill(s.compute, gpu_page(1), 2);
  bool same = false;
  r.gpu->wait(s.h2d, demoted);
  r.compare(s.h2d, host_page(1), 1, &same);
  run_last(r, s.d2h);
  REQUIRE(same == waits);
  REQUIRE(r.gpu->unordered_accesses() == (waits ? 0 : 1));
}

TEST_CASE("A7: copies in both directions between equal slot numbers do not wait for each other") {
  // A7: GPU slot 0 and host slot 0 aliased, and two waits collapsed to one.
  rig r;
  streams s(r);
  r.copy(s.d2h, copy_direction::to_host, {copy_of(0, 1)});
  r.copy(s.h2d, copy_direction::to_gpu, {copy_of(1, 0)});
  r.gpu->run_all();
  REQUIRE(r.gpu->unordered_accesses() == 0);
  r.copy(s.h2d, copy_direction::to_gpu, {copy_of(0, 1)});
  r.gpu->run_all();
  REQUIRE(r.gpu->unordered_accesses() == 2); // reads the host page that d2h wrote, writes the GPU page that d2h read
}

TEST_CASE("a report counts a page's generation by copies into it and by kernels that begin it anew") {
  rig r;
  streams s(r);
  auto write_at = [&](std::uint32_t buffer, std::uint64_t offset) {
    r.gpu->launch(s.compute, "write", [=](kernel& k) { k.write(gpu_page(5), buffer, offset, 1); });
  };
  write_at(0, 0);
  write_at(0, 1);
  write_at(1, 0);
  r.copy(s.compute, copy_direction::to_gpu, {copy_of(5, 0)});
  r.copy(s.d2h, copy_direction::to_host, {copy_of(5, 1)});
  r.gpu->run_all();
  REQUIRE_THAT(r.first_report(), ContainsSubstring("gpu slot 5 (generation 2)"));
}

TEST_CASE("an access that no fence orders is found although it happened to run in the right order") {
  auto drive = GENERATE(drive_mode::eager, drive_mode::by_hand);
  host_device_options options;
  options.drive = drive;
  rig r(options);
  streams s(r);
  r.fill(s.compute, gpu_page(0), 9);
  r.gpu->record(s.compute);
  bool same = false;
  r.compare(s.h2d, gpu_page(0), 9, &same);
  r.gpu->run_all();
  REQUIRE(same);
  REQUIRE(r.gpu->unordered_accesses() == 1);
}

TEST_CASE("only poll tells the host something that orders later work") {
  enum class asked { nothing, passed, run_until, poll };
  auto how = GENERATE(asked::nothing, asked::passed, asked::run_until, asked::poll);
  rig r;
  streams s(r);
  r.fill(s.compute, gpu_page(0), 9);
  fence written = r.gpu->record(s.compute);
  r.gpu->run_all();
  if (how == asked::passed)
    REQUIRE(r.gpu->passed(written));
  if (how == asked::run_until)
    r.gpu->run_until(written);
  if (how == asked::poll)
    r.runtime_view->poll();
  r.copy(s.d2h, copy_direction::to_host, {copy_of(0, 0)});
  r.gpu->run_all();
  REQUIRE(r.gpu->unordered_accesses() == (how == asked::poll ? 0 : 1));
}

TEST_CASE("poll orders nothing that has run behind the last fence") {
  rig r;
  streams s(r);
  r.gpu->record(s.compute);
  r.fill(s.compute, gpu_page(0), 9);
  r.gpu->run_all();
  r.runtime_view->poll();
  r.copy(s.d2h, copy_direction::to_host, {copy_of(0, 0)});
  r.gpu->run_all();
  REQUIRE(r.gpu->unordered_accesses() == 1);
}

TEST_CASE("the check can be switched off, and samples slots when asked to") {
  auto found = [](order_check check) {
    host_device_options options;
    options.check = check;
    constexpr std::uint32_t slots = 256;
    rig r(options, config_of({group_of({8}, slots, 1)}));
    streams s(r);
    for (std::uint32_t slot = 0; slot < slots; ++slot) {
      r.fill(s.compute, gpu_page(slot), slot);
      r.fill(s.h2d, gpu_page(slot), slot);
    }
    r.gpu->run_all();
    return r.gpu->unordered_accesses();
  };
  REQUIRE(found(order_check::all) == 256);
  REQUIRE(found(order_check::off) == 0);
  REQUIRE(found(order_check::sampled) >= 8);
  REQUIRE(found(order_check::sampled) <= 32);
}

} // namespace kvferry::test
