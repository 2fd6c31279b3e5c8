#include <string>

#include "kvferry/configuration.hpp"
#include "tests/catch.hpp"

using namespace kvferry;

namespace {

std::string refusal(const batch_config& config) {
  const auto result = validate(config);
  return result ? "accepted" : result.error().message;
}

} // namespace

TEST_CASE("a batch of the default size is accepted") { CHECK(refusal({}) == "accepted"); }

TEST_CASE("a beam width other than one is refused by name") {
  const auto result = validate(batch_config{.beam_width = 2});
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().code == error_code::invalid_configuration);
  CHECK(result.error().message == "beam_width is 2, but must be 1: beam search is not supported");
  CHECK(refusal({.beam_width = 0}) == "beam_width is 0, but must be 1: beam search is not supported");
}

TEST_CASE("a batch without rows or without blocks is refused") {
  CHECK(refusal({.rows = 0}) == "rows is 0, but must be from 1 to 2147483647");
  CHECK(refusal({.rows = 256, .max_blocks = 0}) ==
        "max_blocks is 0, but must be from 1 to 8388607: the entries of a table of 256 rows are counted in 31 bits");
}

TEST_CASE("a table with more entries than 31 bits count is refused") {
  // 46341 is the least number whose square exceeds 2^31 - 1.
  CHECK(refusal({.rows = 46'341, .max_blocks = 46'340}) == "accepted");
  CHECK(
      refusal({.rows = 46'341, .max_blocks = 46'341}) ==
      "max_blocks is 46341, but must be from 1 to 46340: the entries of a table of 46341 rows are counted in 31 bits");
  CHECK(
      refusal({.rows = 65'536, .max_blocks = 65'536}) ==
      "max_blocks is 65536, but must be from 1 to 32767: the entries of a table of 65536 rows are counted in 31 bits");
  CHECK(refusal({.rows = 0xffff'ffff, .max_blocks = 1}) == "rows is 4294967295, but must be from 1 to 2147483647");
}
