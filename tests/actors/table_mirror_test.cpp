// The host mirror of a batch's tables: what they hold, and what has to be uploaded.
#include "actors/table_mirror.hpp"

#include <cstring>
#include <map>

#include "tests/catch.hpp"
#include "tests/device/death.hpp"

namespace kvferry::test {

namespace {

constexpr group_id g0{0}, g1{1};
const row_id r0{0}, r1{1};

/// The mirror, and tables that get what it uploads and nothing else.
struct mirror_rig {
  mirror_rig() : mirror(2, {3, 4, 1}), device(mirror.layout().bytes) {
    std::fill_n(device.begin(), mirror.layout().ones_bytes, std::byte{0xff}); // as device::allocate_tables promises
  }

  /// How many entries were uploaded.
  std::size_t upload() {
    (void)mirror.changed(); // drops what is back where it was
    std::vector<table_entry> entries(mirror.changes());
    mirror.take_changes(entries);
    for (const table_entry& e : entries) {
      const std::uint64_t value = e.value;
      std::memcpy(device.data() + e.offset, &value, e.width);
    }
    REQUIRE_FALSE(mirror.changed());
    REQUIRE(std::memcmp(device.data(), mirror.data(), device.size()) == 0);
    return entries.size();
  }

  table_view tables() const { return mirror.layout().view(device.data()); }

  /// Slots of a row as the device sees them.
  std::vector<int> row(std::uint32_t row, std::size_t group = 0) const {
    const std::int32_t* first = tables().groups[group].page_index + row * 4;
    return {first, first + 4};
  }
  std::vector<int> tiers(std::uint32_t row, std::size_t group = 0) const {
    const std::uint8_t* first = tables().groups[group].page_tier + row * 4;
    return {first, first + 4};
  }
  std::vector<int> active() const { return {tables().active_rows, tables().active_rows + 3}; }

  table_mirror mirror;
  std::vector<std::byte> device;
};

using list = std::vector<int>;

} // namespace

TEST_CASE("tables begin empty") {
  mirror_rig r;
  REQUIRE(r.upload() == 0);
  for (std::uint32_t row = 0; row < 3; ++row) {
    REQUIRE(r.row(row) == list{-1, -1, -1, -1});
    REQUIRE(r.tiers(row) == list{255, 255, 255, 255});
    REQUIRE(r.tables().groups[0].num_blocks[row] == 0);
    REQUIRE(r.tables().row_request[row] == ~std::uint64_t{0});
    REQUIRE(r.tables().row_version[row] == 0);
  }
  REQUIRE(r.active() == list{-1, -1, -1});
  REQUIRE(*r.tables().num_active == 0);
}

TEST_CASE("an entry is a slot and its tier, and what was not set is none") {
  mirror_rig r;
  r.mirror.set_page(r1, g1, 2, tier::host, 7);
  r.mirror.set_page(r1, g1, 0, tier::gpu, 0);
  r.mirror.set_history(r1, g1, 1);
  REQUIRE(r.upload() == 5);
  REQUIRE(r.row(1, 1) == list{0, -1, 7, -1});
  REQUIRE(r.tiers(1, 1) == list{0, 255, 1, 255});
  REQUIRE(r.tables().groups[1].num_blocks[1] == 1);
  REQUIRE(r.row(1, 0) == list{-1, -1, -1, -1});
  REQUIRE(r.row(0, 1) == list{-1, -1, -1, -1});
  REQUIRE(r.row(2, 1) == list{-1, -1, -1, -1});
}

TEST_CASE("what is set again to what it is costs nothing") {
  mirror_rig r;
  auto set = [&] {
    r.mirror.set_page(r0, g0, 1, tier::gpu, 3);
    r.mirror.set_history(r0, g0, 1);
    r.mirror.set_owner(r0, request_id{5});
    r.mirror.set_active(std::vector{r0});
  };
  set();
  REQUIRE(r.upload() == 6); // index, tier, history, owner, active row, number of active rows
  set();
  REQUIRE_FALSE(r.mirror.changed());
}

TEST_CASE("an entry that changes twice is uploaded once, as it is last") {
  mirror_rig r;
  r.mirror.set_page(r0, g0, 1, tier::gpu, 3);
  r.mirror.set_page(r0, g0, 1, tier::gpu, 4);
  REQUIRE(r.upload() == 2);
  REQUIRE(r.row(0) == list{-1, 4, -1, -1});
  r.mirror.set_page(r0, g0, 1, tier::host, 4); // the same number on the other tier
  REQUIRE(r.upload() == 1);
  REQUIRE(r.tiers(0) == list{255, 1, 255, 255});
}

// Was wrong once: an entry that is back at what the device was told stays in the list, so a row that is cleared and set
// again (whole row_changed: suspend and resume between two publications) is uploaded as a whole and gets a version.
// Design section 5: cost follows what changed, nothing changed: no device work.
TEST_CASE("an entry that is back at what the device was told is not uploaded") {
  mirror_rig r;
  r.mirror.set_page(r0, g0, 1, tier::gpu, 3);
  r.upload();
  r.mirror.clear_pages(r0);
  r.mirror.set_page(r0, g0, 1, tier::gpu, 3);
  REQUIRE(r.upload() == 0);
}

TEST_CASE("B7 B8: a cleared row holds none in every column it used, and costs no more than those") {
  // B7, B8: a shorter request left the columns of a longer one behind, padded rows kept pages of a finished request.
  mirror_rig r;
  for (block_ordinal o = 0; o < 3; ++o) {
    r.mirror.set_page(r0, g0, o, tier::host, o + 1);
    r.mirror.set_page(r1, g0, o, tier::host, o + 5);
  }
  r.mirror.set_history(r0, g0, 3);
  r.upload();
  r.mirror.clear_pages(r0);
  REQUIRE(r.upload() == 7); // three indices, three tiers, one count
  REQUIRE(r.row(0) == list{-1, -1, -1, -1});
  REQUIRE(r.tiers(0) == list{255, 255, 255, 255});
  REQUIRE(r.tables().groups[0].num_blocks[0] == 0);
  REQUIRE(r.row(1) == list{5, 6, 7, -1});
  r.mirror.clear_pages(r0);
  REQUIRE_FALSE(r.mirror.changed());
  r.mirror.set_page(r0, g0, 0, tier::gpu, 9);
  r.upload();
  REQUIRE(r.row(0) == list{9, -1, -1, -1});
}

TEST_CASE("F7: active rows are those of this step in its order, and none behind them") {
  // Values that broke someone: a batch of 1, 3, 2, 1, 0 rows.
  mirror_rig r;
  r.mirror.set_active(std::vector{row_id{2}});
  r.upload();
  REQUIRE(r.active() == list{2, -1, -1});
  r.mirror.set_active(std::vector{row_id{1}, row_id{0}, row_id{2}});
  r.upload();
  REQUIRE(r.active() == list{1, 0, 2});
  REQUIRE(*r.tables().num_active == 3);
  r.mirror.set_active(std::vector{row_id{1}, row_id{2}});
  REQUIRE(r.upload() == 3); // the second, the third, the number
  REQUIRE(r.active() == list{1, 2, -1});
  r.mirror.set_active({});
  r.upload();
  REQUIRE(r.active() == list{-1, -1, -1});
  REQUIRE(*r.tables().num_active == 0);
}

TEST_CASE("owners and versions of rows are 64 bit, and none is all ones") {
  mirror_rig r;
  r.mirror.set_owner(r1, request_id{0x1'0000'0005});
  r.mirror.set_row_version(r1, 0x2'0000'0007);
  REQUIRE(r.upload() == 2);
  REQUIRE(r.tables().row_request[1] == 0x1'0000'0005);
  REQUIRE(r.tables().row_version[1] == 0x2'0000'0007);
  r.mirror.set_owner(r1, request_id::none());
  r.upload();
  REQUIRE(r.tables().row_request[1] == ~std::uint64_t{0});
}

TEST_CASE("an ordinal that no column has is a broken contract") {
  mirror_rig r;
  REQUIRE_THAT(words_of_death([&] { r.mirror.set_page(r0, g0, 4, tier::gpu, 0); }),
               ContainsSubstring("ordinal 4 of 4"));
}

TEST_CASE("tables do not overlap, whatever their numbers of rows and columns") {
  for (std::uint32_t rows : {1u, 3u, 8u})
    for (std::uint32_t max_blocks : {1u, 5u, 64u}) {
      const table_layout layout(2, {rows, max_blocks, 1});
      std::map<std::uint64_t, std::uint64_t> places; // by offset, the end
      for (const table_layout::group& g : layout.groups) {
        places[g.page_index] = g.page_index + 4ull * rows * max_blocks;
        places[g.page_tier] = g.page_tier + 1ull * rows * max_blocks;
        places[g.num_blocks] = g.num_blocks + 4ull * rows;
      }
      places[layout.row_request] = layout.row_request + 8ull * rows;
      places[layout.row_version] = layout.row_version + 8ull * rows;
      places[layout.active_rows] = layout.active_rows + 4ull * rows;
      places[layout.num_active] = layout.num_active + 4;
      REQUIRE(places.size() == 10);
      std::uint64_t end = 0;
      for (const auto& [from, to] : places) {
        REQUIRE(from >= end);
        end = to;
      }
      REQUIRE(end <= layout.bytes);
      REQUIRE(layout.row_request % 8 == 0);
      REQUIRE(layout.row_version % 8 == 0);
      for (const table_layout::group& g : layout.groups) {
        REQUIRE(g.page_index % 4 == 0);
        REQUIRE(g.num_blocks % 4 == 0);
        REQUIRE(g.num_blocks >= layout.ones_bytes); // zero at first
        REQUIRE(g.page_tier + 1ull * rows * max_blocks <= layout.ones_bytes);
      }
    }
}

} // namespace kvferry::test
