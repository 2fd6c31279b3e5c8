#include <cstdint>
#include <string>
#include <vector>

#include "kvferry/configuration.hpp"
#include "tests/catch.hpp"
#include "tests/configuration/valid_configuration.hpp"
#include "tests/properties.hpp"

using namespace kvferry;
using kvferry::test::holds;
using kvferry::test::valid_configuration;

namespace {

/// What a configuration says whose first group has these buffers and slots.
std::string refusal(std::vector<buffer_config> buffers, std::uint32_t gpu_slots = 10, std::uint32_t host_slots = 10) {
  configuration config = valid_configuration();
  config.groups[0].buffers = std::move(buffers);
  config.groups[0].gpu_slots = gpu_slots;
  config.groups[0].host_slots = host_slots;
  const auto result = validate(config);
  return result ? "accepted" : result.error().message;
}

constexpr std::uint64_t largest = ~std::uint64_t{0};

/// Whether any two fragments share a byte, by looking at every byte.
bool share_a_byte(const std::vector<buffer_config>& buffers, std::uint32_t slots) {
  std::vector<bool> taken(4096);
  for (const auto& buffer : buffers)
    for (std::uint64_t slot = 0; slot < slots; ++slot)
      for (std::uint64_t byte = 0; byte < buffer.bytes_per_slot; ++byte) {
        const auto at = buffer.base_address + slot * buffer.slot_stride_bytes + byte;
        if (taken.at(at))
          return true;
        taken.at(at) = true;
      }
  return false;
}

} // namespace

TEST_CASE("a group without buffers is refused") {
  CHECK(refusal({}) == "groups[0].buffers is empty, but must be one buffer or more");
}

TEST_CASE("a buffer without bytes is refused with its path") {
  CHECK(refusal({{"k", 64, 0, 0}, {"v", 0, 0, 0}}) ==
        "groups[0].buffers[1].bytes_per_slot is 0, but must be at least 1");
}

TEST_CASE("a stride shorter than a fragment is refused") {
  CHECK(refusal({{"k", 64, 0, 63}}) ==
        "groups[0].buffers[0].slot_stride_bytes is 63, but must be at least bytes_per_slot, 64, or 0 for just that");
  CHECK(refusal({{"k", 64, 0, 64}}) == "accepted");
}

TEST_CASE("a group that is the engine's in one buffer only is refused") {
  CHECK(refusal({{"k", 64, 4096, 0}, {"v", 64, 0, 0}}) ==
        "groups[0].buffers[1].base_address is 0, but must be an address, as groups[0].buffers[0] has one");
  CHECK(refusal({{"k", 64, 0, 0}, {"v", 64, 4096, 0}}) ==
        "groups[0].buffers[1].base_address is 4096, but must be 0, as groups[0].buffers[0] has no address: all buffers "
        "of a group or none");
}

TEST_CASE("one group may be the engine's and another the runtime's") {
  CHECK(refusal({{"k", 64, 4096, 0}, {"v", 64, 8192, 0}}) == "accepted");
}

TEST_CASE("engine buffers that share bytes are refused with both paths") {
  // k: ten slots of 64 bytes from 4096 reach to 4736.
  CHECK(refusal({{"k", 64, 4096, 0}, {"v", 64, 4735, 0}}) ==
        "groups[0].buffers[1].base_address is 4735, but must be outside groups[0].buffers[0], whose slots reach from "
        "4096 to 4736");
  CHECK(refusal({{"k", 64, 4096, 0}, {"v", 64, 4736, 0}}) == "accepted");
  CHECK(refusal({{"k", 64, 4096, 0}, {"v", 64, 4096, 0}}) ==
        "groups[0].buffers[1].base_address is 4096, but must be outside groups[0].buffers[0], whose slots reach from "
        "4096 to 4736");
}

TEST_CASE("engine buffers of two groups that share bytes are refused") {
  configuration config = valid_configuration();
  config.groups[0].buffers = {{"k", 64, 8192, 0}};
  config.groups[1].buffers = {{"kv", 64, 8100, 0}};
  const auto result = validate(config);
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().message == "groups[0].buffers[0].base_address is 8192, but must be outside "
                                  "groups[1].buffers[0], whose slots reach from 8100 to 11300");
}

TEST_CASE("engine buffers that are interleaved slot by slot in one tensor are accepted") {
  CHECK(refusal({{"k", 64, 4096, 128}, {"v", 64, 4160, 128}}) == "accepted");
  CHECK(refusal({{"k", 64, 4096, 128}, {"v", 65, 4160, 128}}) ==
        "groups[0].buffers[1].base_address is 4160, but must be outside groups[0].buffers[0], whose slots reach from "
        "4096 to 5312");
}

TEST_CASE("with equal strides exactly the buffers that share a byte are refused") {
  REQUIRE(holds([] {
    const auto slots = *rc::gen::inRange<std::uint32_t>(1, 6);
    const auto stride = *rc::gen::inRange<std::uint64_t>(1, 24);
    std::vector<buffer_config> buffers;
    for (const char* name : {"a", "b", "c"})
      buffers.push_back(
          {name, *rc::gen::inRange<std::uint64_t>(1, stride + 1), *rc::gen::inRange<std::uint64_t>(1, 200), stride});
    const bool shared = share_a_byte(buffers, slots);
    RC_CLASSIFY(shared);
    RC_ASSERT((refusal(buffers, slots) != "accepted") == shared);
  }));
}

TEST_CASE("with any strides no buffers that share a byte are accepted") {
  REQUIRE(holds([] {
    const auto slots = *rc::gen::inRange<std::uint32_t>(1, 6);
    std::vector<buffer_config> buffers;
    for (const char* name : {"a", "b"}) {
      const auto stride = *rc::gen::inRange<std::uint64_t>(1, 40);
      buffers.push_back(
          {name, *rc::gen::inRange<std::uint64_t>(1, stride + 1), *rc::gen::inRange<std::uint64_t>(1, 200), stride});
    }
    if (share_a_byte(buffers, slots))
      RC_ASSERT(refusal(buffers, slots) != "accepted");
  }));
}

TEST_CASE("G1: pools whose bytes do not fit 64 bits are refused") {
  CHECK(refusal({{"k", largest, 0, 0}}, 2, 1) ==
        "groups[0].buffers[0].bytes_per_slot is 18446744073709551615, but must be less: with 2 GPU slots the pools' "
        "bytes do not fit 64 bits");
  CHECK(refusal({{"k", 64, 0, largest / 2}}, 3, 1) ==
        "groups[0].buffers[0].slot_stride_bytes is 9223372036854775807, but must be less: with 3 GPU slots the pools' "
        "bytes do not fit 64 bits");
  CHECK(refusal({{"k", largest / 2, 0, 0}}, 1, 3) ==
        "groups[0].buffers[0].bytes_per_slot is 9223372036854775807, but must be less: with 3 host slots the pools' "
        "bytes do not fit 64 bits");
}

TEST_CASE("pools that each fit 64 bits but not together are refused at the one too many") {
  CHECK(refusal({{"k", largest / 2, 0, 0}, {"v", largest / 2, 0, 0}, {"w", 64, 0, 0}}, 1, 1) ==
        "groups[0].buffers[2].bytes_per_slot is 64, but must be less: with 1 GPU slots the pools' bytes do not fit 64 "
        "bits");
}

TEST_CASE("an engine buffer that would run past the last address is refused") {
  CHECK(refusal({{"k", 64, largest - 639, 0}}, 10) ==
        "groups[0].buffers[0].base_address is 18446744073709550976, but must be less: 640 bytes from there do not fit "
        "64-bit addresses");
  CHECK(refusal({{"k", 64, largest - 640, 0}}, 10) == "accepted");
}
