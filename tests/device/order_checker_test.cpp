// The order checker and its clocks as values, without a device.
#include "device/host/order_checker.hpp"

#include "tests/catch.hpp"
#include "tests/device/death.hpp"
#include "tests/device/rig.hpp"

namespace kvferry::test {

namespace {

/// Clocks and checker as the host device uses them: each operation is enqueued and, at once or later, accesses pages.
struct checked_streams {
  explicit checked_streams(order_check mode = order_check::all) : checker(mode) {
    for (const char* name : {"compute", "h2d", "d2h"}) {
      order.add_stream(name);
      checker.add_stream(name);
    }
    checker.set_pools({{32, 32}, {4, 4}});
  }

  stamp operation(std::uint32_t stream, const char* what) {
    checker.enqueued(stream, what);
    return order.enqueue(stream);
  }

  fence record(std::uint32_t stream) { return order.make_fence(operation(stream, "record")); }

  stream_order order;
  order_checker checker;
};

constexpr std::uint32_t compute = 0;
constexpr std::uint32_t h2d = 1;
constexpr std::uint32_t d2h = 2;

} // namespace

TEST_CASE("accesses of one stream are ordered") {
  checked_streams s;
  s.checker.write(s.operation(compute, "fill"), gpu_page(1), true);
  s.checker.read(s.operation(compute, "attention"), gpu_page(1));
  s.checker.write(s.operation(compute, "fill"), gpu_page(1), true);
  REQUIRE(s.checker.found() == 0);
}

TEST_CASE("a read that no fence orders after a write is reported with slot, generation and both positions") {
  checked_streams s;
  s.checker.write(s.operation(h2d, "copy to_gpu"), gpu_page(17), true);
  s.checker.write(s.operation(h2d, "copy to_gpu"), gpu_page(17), true);
  s.checker.write(s.operation(h2d, "copy to_gpu"), gpu_page(17), true);
  s.operation(compute, "fill");
  s.checker.read(s.operation(compute, "attention"), gpu_page(17));
  REQUIRE(s.checker.found() == 1);
  REQUIRE(
      s.checker.first_found().at(0).description ==
      "group 0 gpu slot 17 (generation 3): read by attention at compute:2 is not ordered after write by copy to_gpu "
      "at h2d:3");
}

TEST_CASE("a write that no fence orders after a read is reported, and one behind its fence is not") {
  bool waits = GENERATE(true, false);
  checked_streams s;
  s.checker.read(s.operation(compute, "attention"), host_page(3, 1));
  fence read = s.record(compute);
  if (waits)
    s.order.wait(d2h, read);
  s.checker.write(s.operation(d2h, "copy to_host"), host_page(3, 1), true);
  REQUIRE(s.checker.found() == (waits ? 0 : 1));
  if (!waits)
    REQUIRE(
        s.checker.first_found().at(0).description ==
        "group 1 host slot 3 (generation 0): write by copy to_host at d2h:1 is not ordered after read by attention at "
        "compute:1");
}

TEST_CASE("a write that no fence orders after another write is reported, whichever runs first") {
  bool first_runs_first = GENERATE(true, false);
  checked_streams s;
  stamp fill = s.operation(compute, "fill");
  stamp load = s.operation(h2d, "copy to_gpu");
  s.checker.write(first_runs_first ? fill : load, gpu_page(0), true);
  s.checker.write(first_runs_first ? load : fill, gpu_page(0), true);
  REQUIRE(s.checker.found() == 1);
  REQUIRE_THAT(s.checker.first_found().at(0).description, ContainsSubstring("group 0 gpu slot 0"));
}

TEST_CASE("A14: a write must come after the reads of every stream, not only of the last one that read") {
  // A14: one event per buffer, recorded again by a second reader, forgets the first.
  std::uint32_t forgotten = GENERATE(compute, h2d);
  checked_streams s;
  s.checker.read(s.operation(compute, "attention"), gpu_page(5));
  fence by_compute = s.record(compute);
  s.checker.read(s.operation(h2d, "prefetch"), gpu_page(5));
  fence by_h2d = s.record(h2d);
  s.order.wait(d2h, forgotten == compute ? by_h2d : by_compute);
  s.checker.write(s.operation(d2h, "fill"), gpu_page(5), true);
  REQUIRE(s.checker.found() == 1);
  REQUIRE_THAT(s.checker.first_found().at(0).description,
               ContainsSubstring(forgotten == compute ? "attention at compute:1" : "prefetch at h2d:1"));
}

TEST_CASE("A11: order is handed on from stream to stream, but not by a fence recorded before it was taken over") {
  // A11: a block that was moved between streams' lists; the owner's event was not recorded again.
  bool stale = GENERATE(true, false);
  checked_streams s;
  s.checker.write(s.operation(compute, "fill"), gpu_page(5), true);
  fence written = s.record(compute);
  fence before = s.record(h2d);
  s.order.wait(h2d, written);
  fence after = s.record(h2d);
  s.order.wait(d2h, stale ? before : after);
  s.checker.read(s.operation(d2h, "copy to_host"), gpu_page(5));
  REQUIRE(s.checker.found() == (stale ? 1 : 0));
}

TEST_CASE("work enqueued before a wait is not ordered by it") {
  checked_streams s;
  s.checker.write(s.operation(compute, "fill"), gpu_page(5), true);
  fence written = s.record(compute);
  stamp early = s.operation(d2h, "copy to_host");
  s.order.wait(d2h, written);
  stamp late = s.operation(d2h, "copy to_host");
  s.checker.read(late, gpu_page(5));
  REQUIRE(s.checker.found() == 0);
  s.checker.read(early, gpu_page(5));
  REQUIRE(s.checker.found() == 1);
}

TEST_CASE("what the host has seen passing orders everything enqueued afterwards, and nothing enqueued before") {
  checked_streams s;
  s.checker.write(s.operation(compute, "fill"), gpu_page(5), true);
  fence written = s.record(compute);
  stamp before = s.operation(d2h, "copy to_host");
  s.order.host_learns(written);
  stamp after = s.operation(d2h, "copy to_host");
  s.checker.read(after, gpu_page(5));
  REQUIRE(s.checker.found() == 0);
  s.checker.read(before, gpu_page(5));
  REQUIRE(s.checker.found() == 1);
}

TEST_CASE("a fence that the host has seen passing can still be waited for") {
  checked_streams s;
  fence old = s.record(compute);
  s.order.host_learns(s.record(compute));
  s.order.wait(h2d, old);
  s.order.host_learns(old);
  s.checker.write(s.operation(compute, "fill"), gpu_page(5), true);
  s.order.wait(h2d, s.record(compute));
  s.checker.read(s.operation(h2d, "attention"), gpu_page(5));
  REQUIRE(s.checker.found() == 0);
}

TEST_CASE("A7: GPU slots, host slots and groups of equal number are different pages") {
  // A7: the pending-event key dropped the pool bit.
  checked_streams s;
  s.checker.write(s.operation(compute, "fill"), gpu_page(1), true);
  s.checker.write(s.operation(h2d, "fill"), host_page(1), true);
  s.checker.write(s.operation(d2h, "fill"), gpu_page(1, 1), true);
  REQUIRE(s.checker.found() == 0);
}

TEST_CASE("an unordered pair of operations counts once, however many bytes they touch") {
  checked_streams s;
  stamp load = s.operation(h2d, "copy to_gpu");
  stamp attention = s.operation(compute, "attention");
  s.checker.write(load, gpu_page(1), true);
  for (int i = 0; i < 100; ++i)
    s.checker.read(attention, gpu_page(1));
  REQUIRE(s.checker.found() == 1);
}

TEST_CASE("a read that was overwritten too early is reported once, not at every later write") {
  checked_streams s;
  s.checker.read(s.operation(compute, "attention"), gpu_page(1));
  s.checker.write(s.operation(h2d, "copy to_gpu"), gpu_page(1), true);
  s.checker.write(s.operation(h2d, "copy to_gpu"), gpu_page(1), true);
  REQUIRE(s.checker.found() == 1);
}

TEST_CASE("a page that is written token by token stays in its generation until it is begun anew") {
  checked_streams s;
  s.checker.write(s.operation(compute, "prefill"), gpu_page(1), true);
  s.checker.write(s.operation(compute, "decode"), gpu_page(1), false);
  s.checker.write(s.operation(compute, "decode"), gpu_page(1), false);
  s.checker.read(s.operation(h2d, "copy to_host"), gpu_page(1));
  REQUIRE_THAT(s.checker.first_found().at(0).description, ContainsSubstring("(generation 1)"));
  s.checker.write(s.operation(compute, "prefill"), gpu_page(1), true);
  s.checker.read(s.operation(d2h, "copy to_host"), gpu_page(1));
  REQUIRE_THAT(s.checker.first_found().back().description, ContainsSubstring("(generation 2)"));
}

TEST_CASE("only the first unordered accesses are kept in words, all are counted") {
  checked_streams s;
  for (std::uint32_t slot = 0; slot < 32; ++slot) {
    s.checker.write(s.operation(h2d, "copy to_gpu"), gpu_page(slot), true);
    s.checker.read(s.operation(compute, "attention"), gpu_page(slot));
  }
  REQUIRE(s.checker.found() == 32);
  REQUIRE(s.checker.first_found().size() == order_checker::reports_max);
}

TEST_CASE("sampling sees both sides of a pair, for about one slot in 16") {
  checked_streams s(order_check::sampled);
  constexpr std::uint32_t slots = 4096;
  s.checker.set_pools({{slots, 0}});
  std::uint64_t chosen = 0;
  for (std::uint32_t slot = 0; slot < slots; ++slot) {
    chosen += s.checker.checks(slot) ? 1 : 0;
    s.checker.write(s.operation(h2d, "copy to_gpu"), gpu_page(slot), true);
    s.checker.read(s.operation(compute, "attention"), gpu_page(slot));
  }
  REQUIRE(s.checker.found() == chosen);
  REQUIRE(chosen >= slots / 16 - slots / 64);
  REQUIRE(chosen <= slots / 16 + slots / 64);
}

TEST_CASE("a check that is off finds nothing and needs no pools") {
  checked_streams s(order_check::off);
  s.checker.set_pools({});
  s.checker.write(s.operation(h2d, "copy to_gpu"), gpu_page(1u << 31), true);
  s.checker.read(s.operation(compute, "attention"), gpu_page(1u << 31));
  REQUIRE(s.checker.found() == 0);
}

TEST_CASE("a stream that is added after the pools is checked like the others") {
  checked_streams s;
  std::uint32_t late = s.order.add_stream("late").value();
  s.checker.add_stream("late");
  s.checker.read(s.operation(late, "attention"), gpu_page(31));
  s.checker.write(s.operation(h2d, "copy to_gpu"), gpu_page(31), true);
  REQUIRE(s.checker.found() == 1);
}

TEST_CASE("operation names without end are forgotten, not piled up") {
  checked_streams s;
  for (int i = 0; i < 70000; ++i)
    s.operation(compute, std::to_string(i).c_str());
  REQUIRE(s.checker.describe(compute, 1) == "0 at compute:1");
  REQUIRE(s.checker.describe(compute, 70000) == "an operation at compute:70000");
}

TEST_CASE("waiting for a position that was never recorded stops the process and says what was asked for") {
  // Design section 6, rule 5: waiting on an event that was never recorded is no wait.
  checked_streams s;
  s.record(compute);
  s.operation(compute, "fill");
  REQUIRE_THAT(
      words_of_death([&] {
        s.order.wait(h2d, fence{stream_id{compute}, 2});
      }),
      ContainsSubstring("'h2d' waits for compute:2, which was never recorded; enqueued there: 2, recorded up to: 1"));
  REQUIRE_THAT(words_of_death([&] {
                 s.order.wait(h2d, fence{stream_id{compute}, 3});
               }),
               ContainsSubstring("never recorded"));
  REQUIRE_THAT(words_of_death([&] { s.order.wait(h2d, fence{stream_id{7}, 1}); }), ContainsSubstring("stream 7 of 3"));
}

TEST_CASE("A17: streams are numbered without reuse, up to a documented limit") {
  // A17: the driver hands out the handle of a destroyed stream again.
  stream_order order;
  for (std::uint32_t i = 0; i < host_device::streams_max; ++i)
    REQUIRE(order.add_stream("same name") == stream_id{i});
  REQUIRE_THAT(words_of_death([&] { order.add_stream("one too many"); }), ContainsSubstring("'one too many'"));
}

} // namespace kvferry::test
