#include "kvferry/error.hpp"

#include <set>
#include <string_view>

#include "tests/catch.hpp"

using namespace kvferry;

TEST_CASE("an error code prints as its enumerator") {
  CHECK(to_string(error_code::invalid_configuration) == "invalid_configuration");
  CHECK(to_string(error_code::publish_first) == "publish_first");
  CHECK(to_string(error_code::prompt_exceeds_gpu_pool) == "prompt_exceeds_gpu_pool");
  CHECK(to_string(error_code::io_error) == "io_error");
}

TEST_CASE("no two error codes print the same") {
  std::set<std::string_view> seen;
  for (int value = 0; value <= static_cast<int>(error_code::device_lost); ++value) {
    CAPTURE(value);
    CHECK(seen.insert(to_string(static_cast<error_code>(value))).second);
  }
  CHECK(to_string(static_cast<error_code>(200)) == "unknown_error");
}

TEST_CASE("a failed call carries its code and its words") {
  expected<int> result = fail(error_code::gpu_full, "group full needs 4 slots");
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().code == error_code::gpu_full);
  CHECK(result.error().message == "group full needs 4 slots");
  CHECK_FALSE(result.error().numbers.has_value());
}
