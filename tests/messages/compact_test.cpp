// Messages as bytes: nothing is lost on the way there and back, and nothing is written where it has no room.
#include <algorithm>

#include "messages/json.hpp"
#include "messages/message_kind.hpp"
#include "tests/catch.hpp"
#include "tests/messages/filled.hpp"

namespace kvferry::test {

TEST_CASE("each message read back from its bytes is the message, whatever was there before") {
  for (const message_sample& sample : message_samples())
    for (const any_message& m : {sample.filled(), sample.blank()}) {
      INFO(sample.info.name);
      const message_kind& kind = message_kinds()[m.index()];
      std::vector<std::byte> bytes(kind.write(m.body(), nullptr, 0));
      REQUIRE(kind.write(m.body(), bytes.data(), bytes.size()) == bytes.size());
      for (auto make : {sample.filled, sample.blank}) {
        any_message into = make();
        kind.read(bytes.data(), into.body());
        REQUIRE(body_json(into).dump() == body_json(m).dump());
      }
    }
}

TEST_CASE("a message without room writes nothing, and says how much it needs") {
  for (const message_sample& sample : message_samples()) {
    INFO(sample.info.name);
    const any_message m = sample.filled();
    const message_kind& kind = message_kinds()[m.index()];
    const std::size_t needed = kind.write(m.body(), nullptr, 0);
    REQUIRE(needed > 0);
    std::vector<std::byte> bytes(needed, std::byte{0xA5});
    REQUIRE(kind.write(m.body(), bytes.data(), needed - 1) == needed);
    REQUIRE(std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0xA5}; }));
  }
}

} // namespace kvferry::test
