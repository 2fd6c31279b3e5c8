// Smallest cases of what random engines once found, each kept under the rule that it broke.
#include <cstdio>

#include "tests/catch.hpp"
#include "tests/properties/search.hpp"

namespace kvferry::test {
namespace {

bool is_right(const char* text) {
  const std::string words = run_case(parse_case(text));
  std::fprintf(stderr, "%s", words.c_str()); // not as an INFO, whose lines are wrapped
  return words.empty();
}

} // namespace

TEST_CASE("a suspended decoder that joins a batch has no history blocks") {
  REQUIRE(is_right("setup 0 0 0 0 0 0 0 0 0 0 0 0; open 0 3 0; join 0 15 0; step 33 0 5; step 63 0 0; "
                   "poll 0 0 0; leave 0 0 0; step 21 1 0; suspend 0 0 0; join 0 0 0"));
}

TEST_CASE("a match ends inside a block") {
  REQUIRE(is_right("setup 0 0 0 1 0 0 0 0 0 0 0 0; open 3 12 0; join 0 0 0; step 0 0 11; step 0 0 0; open 18 5 0"));
}

TEST_CASE("a step behind a publication that changes nothing comes after the reads that have ended") {
  REQUIRE(is_right("setup 0 0 0 0 0 1 0 0 0 0 0 0; open 0 12 0; step 3 0 0; reserve 0 23 10; launch 31 0 60; "
                   "step 17 0 5; enter_decode 0 0 0; settle 0 0 0; suspend 0 0 0; begin_read 39 0 0; resume 0 0 0; "
                   "end_read 15 0 0; step 13 0 0"));
}

TEST_CASE("a page of who has left a batch is spilled behind the steps of that batch") {
  REQUIRE(is_right("setup 0 0 5 0 0 0 0 0 0 0 0 0; open 0 0 0; open 0 0 0; step 15 0 0; step 21 31 0; open 0 0 0; "
                   "open 0 0 0; step 45 0 0; step 3 0 0; leave 4 0 0; open 0 19 0; suspend 21 0 0; reserve 47 39 6"));
}

TEST_CASE("who left a batch still has its earlier readers waited for") {
  // The page is freed later, when its copy is done; by then the publication without the row has named the readers.
  REQUIRE(is_right("setup 0 0 0 0 0 1 0 0 1 0 0 0; open 0 30 0; step 45 0 0; open 0 0 0; step 9 0 18; open 0 10 0; "
                   "step 21 49 0; step 0 0 26; run_all 0 0 0; leave 0 0 0; step 25 0 0; poll 0 0 0; step 0 11 22"));
}

TEST_CASE("who left a batch has its readers waited for in whatever order that is told") {
  REQUIRE(
      is_right("setup 0 1 4 0 0 0 0 0 1 1 196 0; launch 0 0 0; open 3 0 0; hold 15 0 0; open 9 9 0; step 0 0 5; "
               "step 0 0 0; step 0 0 0; step 0 0 20; step 0 0 0; step 0 0 0; step 0 47 0; open 9 3 0; run_all 0 0 0; "
               "settle 0 0 0; step 0 0 0; step 0 0 0; step 35 0 0; close 35 0 0; join 0 0 0; open 0 0 0; "
               "step 21 13 0; poll 0 0 0; poll 0 0 0; launch 15 0 0; leave 0 0 0; misuse 7 0 0; leave 0 0 0; "
               "let_go 0 0 0; misuse 0 0 0; step 0 31 0; open 9 15 0"));
}

TEST_CASE("a page is spilled behind the earlier users of its slot") {
  // Nobody has written the page, so only the grant that handed out its slot knew of them.
  REQUIRE(is_right("setup 0 3 0 0 0 0 0 0 0 0 0 0; open 0 23 0; open 0 0 0; step 0 0 0; open 0 21 0; step 0 3 52; "
                   "close 46 0 0; launch 0 0 0; reserve 15 13 0; suspend 31 0 0; step 0 0 4"));
}

} // namespace kvferry::test
