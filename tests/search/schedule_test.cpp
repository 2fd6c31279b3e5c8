#include "examples/search/schedule.hpp"

#include "tests/catch.hpp"

namespace search::test {

TEST_CASE("a schedule is written and read as points and options") {
  const schedule some{{12, 1}, {30, 2}, {4'000'000'000, 3}};
  REQUIRE(to_string(some) == "12:1,30:2,4000000000:3");
  REQUIRE(*parse_schedule(to_string(some)) == some);
  REQUIRE(to_string(schedule{}) == "-");
  REQUIRE(parse_schedule("-")->empty());
}

TEST_CASE("what is no schedule is refused with its text and what would be right") {
  for (const char* wrong : {"", "12", "12:", ":1", "12:0", "12:1,", ",12:1", "12:1,12:2", "30:1,12:1", "12:1;30:2",
                            "-1:1", "12:1 ", "99999999999:1"}) {
    INFO(wrong);
    const auto read = parse_schedule(wrong);
    REQUIRE_FALSE(read);
    REQUIRE(read.error().code == kvferry::error_code::invalid_argument);
    REQUIRE_THAT(read.error().message, kvferry::test::ContainsSubstring(std::string{"\""} + wrong + "\""));
    REQUIRE_THAT(read.error().message, kvferry::test::ContainsSubstring("12:1,30:2"));
  }
}

} // namespace search::test
