// Table writes, and the staging memory that they are read from.
#include "device/staging_ring.hpp"

#include <algorithm>
#include <cstring>

#include "tests/catch.hpp"
#include "tests/device/death.hpp"
#include "tests/device/rig.hpp"

namespace kvferry::test {

namespace {

/// A publisher of a table with one int32, and kernels that read it.
struct published_table {
  explicit published_table(staging_ring_options options)
      : compute(r.gpu->create_stream("compute")), tables(r.runtime_view->allocate_tables(16, 0).value()),
        ring(*r.runtime_view, options) {}

  void publish(std::uint32_t value) {
    auto slot = ring.acquire(staged).value();
    std::fill(slot.entries.begin(), slot.entries.end(), table_entry{value, 0, 4});
    r.runtime_view->write_tables(compute, *tables, slot.entries);
    ring.publish(slot, r.gpu->record(compute));
  }

  void read_into(std::uint32_t* seen) {
    std::byte* at = tables->data();
    r.gpu->launch(compute, "attention", [at, seen](kernel&) { std::memcpy(seen, at, sizeof *seen); });
  }

  static constexpr std::size_t staged = table_entries_by_value + 1; // fewer are taken at once

  rig r;
  stream_id compute;
  std::unique_ptr<device_memory> tables;
  staging_ring ring;
};

} // namespace

TEST_CASE("B1 B2: each kernel sees the table that was published before it, however many steps are in flight") {
  // B1, B2: one pinned buffer, overwritten by the next step before the device has read it.
  std::uint32_t kernels[3] = {};
  published_table t({.slots_max = 3, .entries_min = 1});
  t.r.gpu->hold_stream(t.compute);
  for (std::uint32_t step = 0; step < 3; ++step) {
    t.publish(100 + step);
    t.read_into(&kernels[step]);
  }
  REQUIRE(t.ring.in_flight() == 3);
  t.r.gpu->release_stream(t.compute);
  t.r.gpu->run_all();
  REQUIRE(kernels[0] == 100);
  REQUIRE(kernels[1] == 101);
  REQUIRE(kernels[2] == 102);
  REQUIRE(t.r.gpu->unordered_accesses() == 0);
}

TEST_CASE("B1 B4: staging that is used again at once shows the next step's table, and the check says so") {
  // B1 with one buffer, B4: the staged bytes at enqueue and after the copy must match.
  std::uint32_t kernels[2] = {};
  published_table t({.slots_max = 1, .entries_min = 1, .fault_reuse_at_once = true});
  for (std::uint32_t step = 0; step < 2; ++step) {
    t.publish(100 + step);
    t.read_into(&kernels[step]);
  }
  t.r.gpu->run_all();
  REQUIRE(kernels[0] == 101);
  REQUIRE(t.r.gpu->unordered_accesses() == 1);
  REQUIRE(t.r.first_report() ==
          "the staging memory of write_tables at compute:1 (251 entries) was rewritten before the device read it");
}

TEST_CASE("A16: a ring whose slots are all in flight refuses, until the fence of one has passed") {
  published_table t({.slots_max = 1, .entries_min = 1});
  t.publish(7);
  auto refused = t.ring.acquire(1);
  REQUIRE(refused.error().code == error_code::out_of_memory);
  REQUIRE_THAT(refused.error().message, ContainsSubstring("1 publications"));

  // A16: an event query that always says "done".
  t.ring.reclaim(t.r.runtime_view->poll().passed);
  REQUIRE_FALSE(t.ring.acquire(1).has_value());
  t.r.gpu->run_all();
  t.ring.reclaim(t.r.runtime_view->poll().passed);
  REQUIRE(t.ring.acquire(1).has_value());
}

TEST_CASE("a ring grows only while its slots are in flight") {
  published_table t({.slots_max = 8, .entries_min = 1});
  for (std::uint32_t step = 0; step < 20; ++step) {
    t.publish(step);
    t.publish(step);
    t.r.gpu->run_all();
    t.ring.reclaim(t.r.runtime_view->poll().passed);
  }
  REQUIRE(t.ring.slots() == 2);
  REQUIRE(t.ring.in_flight() == 0);
}

TEST_CASE("a slot that is too small is replaced by a larger one, not while it is in flight") {
  published_table t({.slots_max = 2, .entries_min = 4});
  t.publish(1);
  auto second = t.ring.acquire(305).value();
  REQUIRE(second.index == 1);
  REQUIRE(second.entries.size() == 305);
  t.ring.publish(second, t.r.gpu->record(t.compute));
  REQUIRE_FALSE(t.ring.acquire(1000).has_value());
  t.r.gpu->run_all();
  t.ring.reclaim(t.r.runtime_view->poll().passed);
  auto large = t.ring.acquire(1000).value();
  REQUIRE(large.entries.size() == 1000);
  large.entries[999] = {1, 0, 4};
  auto small = t.ring.acquire(308).value();
  REQUIRE(small.index != large.index);
  REQUIRE(t.ring.slots() == 2);
}

TEST_CASE("the free slot that is large enough is taken before one that must grow") {
  published_table t({.slots_max = 3, .entries_min = 1});
  t.publish(1);
  auto large = t.ring.acquire(1000).value();
  t.ring.publish(large, t.r.gpu->record(t.compute));
  t.r.gpu->run_all();
  t.ring.reclaim(t.r.runtime_view->poll().passed);
  REQUIRE(t.ring.acquire(500).value().index == large.index);
  REQUIRE(t.ring.acquire(500).value().index == 0);
}

TEST_CASE("E1: staging memory that cannot be had leaves the ring as it was") {
  // E1: the last of several allocations failed, and what had been taken for it was kept.
  published_table t({.slots_max = 2, .entries_min = 1});
  t.r.gpu->fail_allocation(0);
  REQUIRE(t.ring.acquire(1).error().code == error_code::out_of_memory);
  REQUIRE(t.ring.slots() == 0);
  t.publish(1);
  t.r.gpu->run_all();
  t.ring.reclaim(t.r.runtime_view->poll().passed);
  t.r.gpu->fail_allocation(0);
  REQUIRE_FALSE(t.ring.acquire(1000).has_value());
  REQUIRE(t.ring.acquire(1).has_value());
}

TEST_CASE("publishing a slot twice is a broken contract") {
  published_table t({});
  auto slot = t.ring.acquire(1).value();
  fence read = t.r.gpu->record(t.compute);
  t.ring.publish(slot, read);
  REQUIRE_THAT(words_of_death([&] { t.ring.publish(slot, read); }), ContainsSubstring("slot 0 of 1 is not acquired"));
}

TEST_CASE("table entries write the low bytes of their value, each at its offset, in stream order") {
  published_table t({});
  auto slot = t.ring.acquire(4).value();
  slot.entries[0] = {0x1122334455667788u, 0, 8};
  slot.entries[1] = {0xFFFFFFFFu, 8, 4};
  slot.entries[2] = {0xAABB, 12, 1};
  slot.entries[3] = {0xCC, 0, 1};
  t.r.runtime_view->write_tables(t.compute, *t.tables, slot.entries);
  const unsigned char zero[16] = {};
  REQUIRE(std::memcmp(t.tables->data(), zero, 16) == 0);
  t.r.gpu->run_all();
  const unsigned char expected[16] = {0xCC, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0xFF, 0xFF, 0xFF, 0xFF, 0xBB};
  REQUIRE(std::memcmp(t.tables->data(), expected, 16) == 0);
}

TEST_CASE("tables begin with entries that say none, and zeros behind them") {
  rig r;
  for (std::uint64_t ones : {std::uint64_t{0}, std::uint64_t{5}, std::uint64_t{64}}) {
    auto tables = r.runtime_view->allocate_tables(64, ones).value();
    REQUIRE(tables->size_bytes() == 64);
    for (std::uint64_t i = 0; i < 64; ++i)
      REQUIRE(tables->data()[i] == (i < ones ? std::byte{0xff} : std::byte{0}));
  }
  REQUIRE_THAT(words_of_death([&] { r.runtime_view->allocate_tables(4, 5).value(); }),
               ContainsSubstring("5 of 4 bytes"));
}

TEST_CASE("tables and staging may be given up while writes to them are enqueued") {
  rig r;
  stream_id s = r.gpu->create_stream("compute");
  auto tables = r.runtime_view->allocate_tables(16, 0).value();
  {
    staging_ring ring(*r.runtime_view);
    auto slot = ring.acquire(1).value();
    slot.entries[0] = {1, 0, 4};
    r.runtime_view->write_tables(s, *tables, slot.entries);
  }
  tables.reset();
  fence behind = r.gpu->record(s);
  r.gpu->run_all();
  REQUIRE(r.gpu->passed(behind));
}

TEST_CASE("a table write outside of the tables or from memory that the device cannot read is a broken contract") {
  published_table t({});
  auto slot = t.ring.acquire(1).value();
  auto writing = [&](table_entry entry) {
    return words_of_death([&] {
      slot.entries[0] = entry;
      t.r.runtime_view->write_tables(t.compute, *t.tables, slot.entries);
      t.r.gpu->run_all();
    });
  };
  REQUIRE_THAT(writing({1, 13, 4}), ContainsSubstring("a table entry of 4 bytes at 13 of 16"));
  REQUIRE_THAT(writing({1, 0, 3}), ContainsSubstring("a table entry of 3 bytes at 0 of 16"));
  std::vector<table_entry> pageable(published_table::staged);
  REQUIRE_THAT(words_of_death([&] { t.r.runtime_view->write_tables(t.compute, *t.tables, pageable); }),
               ContainsSubstring("251 table entries do not lie in memory from allocate_staging"));
  staging_ring small(*t.r.runtime_view, {.slots_max = 1, .entries_min = 256});
  auto all = small.acquire(256).value().entries;
  REQUIRE_THAT(words_of_death([&] {
                 t.r.runtime_view->write_tables(t.compute, *t.tables, {all.data(), 257});
               }),
               ContainsSubstring("257 table entries do not lie in memory from allocate_staging"));
}

TEST_CASE("few table entries are taken with the call, wherever they lie") {
  published_table t({});
  std::vector<table_entry> entries(table_entries_by_value, table_entry{7, 0, 4});
  t.r.runtime_view->write_tables(t.compute, *t.tables, entries);
  entries.assign(entries.size(), table_entry{8, 0, 4});
  entries.shrink_to_fit();
  std::uint32_t seen = 0;
  t.read_into(&seen);
  t.r.gpu->run_all();
  REQUIRE(seen == 7);
  REQUIRE(t.r.gpu->unordered_accesses() == 0);
}

} // namespace kvferry::test
