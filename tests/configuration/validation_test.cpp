#include <functional>
#include <string>
#include <vector>

#include "kvferry/configuration.hpp"
#include "tests/catch.hpp"
#include "tests/configuration/valid_configuration.hpp"

using namespace kvferry;
using kvferry::test::valid_configuration;

namespace {

std::string refusal(const configuration& config) {
  const auto result = validate(config);
  if (result)
    return "accepted";
  CHECK(result.error().code == error_code::invalid_configuration);
  return result.error().message;
}

struct wrong_configuration {
  std::function<void(configuration&)> change;
  std::string message;
};

void check_refused(const std::vector<wrong_configuration>& cases) {
  for (const auto& wrong : cases) {
    configuration config = valid_configuration();
    wrong.change(config);
    CHECK(refusal(config) == wrong.message);
  }
}

} // namespace

TEST_CASE("a right configuration is accepted") { CHECK(refusal(valid_configuration()) == "accepted"); }

TEST_CASE("G4: tokens per block other than a power of two up to 65536 are refused") {
  for (const std::uint32_t right : {1u, 2u, 16u, 64u, 65'536u}) {
    configuration config = valid_configuration();
    config.tokens_per_block = right;
    CHECK(refusal(config) == "accepted");
  }
  check_refused({
      {[](auto& c) { c.tokens_per_block = 0; }, "tokens_per_block is 0, but must be a power of two from 1 to 65536"},
      {[](auto& c) { c.tokens_per_block = 48; }, "tokens_per_block is 48, but must be a power of two from 1 to 65536"},
      {[](auto& c) { c.tokens_per_block = 131'072; },
       "tokens_per_block is 131072, but must be a power of two from 1 to 65536"},
  });
}

TEST_CASE("a sparse group without a host pool is refused with its path") {
  check_refused({{[](auto& c) { c.groups[0].host_slots = 0; },
                  "groups[0].host_slots is 0, but must be at least 1: the group is sparse, so its history moves to a "
                  "host pool"}});
}

TEST_CASE("a dense group needs no host pool") {
  configuration config = valid_configuration();
  REQUIRE(config.groups[1].kind == group_kind::dense);
  config.groups[1].host_slots = 0;
  CHECK(refusal(config) == "accepted");
}

TEST_CASE("a sparse group with a window is refused") {
  check_refused({{[](auto& c) { c.groups[0].window_tokens = 4096; },
                  "groups[0].window_tokens is 4096, but must be 0: only a dense group has a window"}});
}

TEST_CASE("no group and too many groups are refused") {
  check_refused({
      {[](auto& c) { c.groups.clear(); }, "groups is empty, but must be from 1 to 16 groups"},
      {[](auto& c) {
         const group_config one = c.groups[0];
         c.groups.assign(17, one);
       },
       "groups is a list of 17, but must be from 1 to 16 groups"},
  });
}

TEST_CASE("sixteen groups are accepted") {
  configuration config = valid_configuration();
  config.groups.resize(16, config.groups[0]);
  for (std::size_t i = 0; i < config.groups.size(); ++i)
    config.groups[i].name = "group " + std::to_string(i);
  CHECK(refusal(config) == "accepted");
}

TEST_CASE("empty and repeated names are refused") {
  check_refused({
      {[](auto& c) { c.groups[1].name.clear(); }, "groups[1].name is \"\", but must be not empty"},
      {[](auto& c) { c.groups[1].name = "full"; },
       "groups[1].name is \"full\", but must be unique: groups[0] has that name"},
      {[](auto& c) { c.groups[0].buffers[0].name.clear(); },
       "groups[0].buffers[0].name is \"\", but must be not empty"},
      {[](auto& c) { c.groups[0].buffers[1].name = "k"; },
       "groups[0].buffers[1].name is \"k\", but must be unique: groups[0].buffers[0] has that name"},
  });
}

TEST_CASE("buffers of two groups may have the same name") {
  configuration config = valid_configuration();
  config.groups[1].buffers[0].name = config.groups[0].buffers[0].name;
  CHECK(refusal(config) == "accepted");
}

TEST_CASE("G1: slot counts that page tables cannot hold are refused") {
  check_refused({
      {[](auto& c) { c.groups[0].gpu_slots = 0; }, "groups[0].gpu_slots is 0, but must be from 1 to 2147483647"},
      {[](auto& c) { c.groups[1].gpu_slots = 0x8000'0000; },
       "groups[1].gpu_slots is 2147483648, but must be from 1 to 2147483647"},
      {[](auto& c) { c.groups[0].host_slots = 0x8000'0000; },
       "groups[0].host_slots is 2147483648, but must be from 0 to 2147483647"},
  });
}

TEST_CASE("policies out of range are refused") {
  check_refused({
      {[](auto& c) { c.copy_retries = 1'001; }, "copy_retries is 1001, but must be from 0 to 1000"},
      {[](auto& c) {
         c.scheduler = scheduler_kind::threaded;
         c.worker_threads = 0;
       },
       "worker_threads is 0, but must be from 1 to 1024"},
      {[](auto& c) {
         c.scheduler = scheduler_kind::threaded;
         c.worker_threads = 1'025;
       },
       "worker_threads is 1025, but must be from 1 to 1024"},
  });
}

TEST_CASE("the stepped scheduler needs no worker threads") {
  configuration config = valid_configuration();
  config.scheduler = scheduler_kind::stepped;
  config.worker_threads = 0;
  CHECK(refusal(config) == "accepted");
}

TEST_CASE("a number that is no enumerator is refused with the words that are right") {
  check_refused({
      {[](auto& c) { c.groups[0].kind = static_cast<group_kind>(7); },
       "groups[0].kind is 7, but must be \"sparse\" or \"dense\""},
      {[](auto& c) { c.scheduler = static_cast<scheduler_kind>(9); },
       "scheduler is 9, but must be \"stepped\" or \"threaded\""},
      {[](auto& c) { c.order = static_cast<delivery_order>(9); }, "order is 9, but must be \"fifo\" or \"random\""},
      {[](auto& c) { c.on_host_full = static_cast<host_full_policy>(9); },
       "on_host_full is 9, but must be \"refuse\" or \"defer\""},
      {[](auto& c) { c.on_host_hit = static_cast<host_hit_policy>(9); },
       "on_host_hit is 9, but must be \"load\" or \"recompute\""},
  });
}

TEST_CASE("the first of several errors is named") {
  check_refused({{[](auto& c) {
                    c.groups[1].gpu_slots = 0;
                    c.copy_retries = 5'000;
                  },
                  "groups[1].gpu_slots is 0, but must be from 1 to 2147483647"}});
}
