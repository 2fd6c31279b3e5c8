// Layer groups on a command line.
#include "examples/serve/groups_syntax.hpp"

#include "tests/catch.hpp"

namespace serve::test {

using kvferry::group_kind;
using kvferry::test::ContainsSubstring;

TEST_CASE("groups are kind, buffers, bytes per slot and a window") {
  auto groups = parse_groups("sparse:2x256,sparse:1x4096,dense:3x7:window=4096,dense:1x1");
  REQUIRE(groups);
  REQUIRE(*groups == std::vector<group_spec>{{group_kind::sparse, 2, 256, 0},
                                             {group_kind::sparse, 1, 4096, 0},
                                             {group_kind::dense, 3, 7, 4096},
                                             {group_kind::dense, 1, 1, 0}});
}

TEST_CASE("a wrong group is refused with the part that is wrong and what would be right") {
  struct wrong {
    std::string text, part, right;
  };
  auto w = GENERATE(values<wrong>({
      {"", "\"\"", "sparse or dense"},
      {"spars:2x256", "\"spars\"", "sparse or dense"},
      {"sparse", "\"\"", "buffers (at most 1024) x bytes per slot, e.g. 2x256"},
      {"sparse:2", "\"2\"", "buffers"},
      {"sparse:2*256", "\"2*256\"", "buffers"},
      {"sparse:0x256", "\"0x256\"", "buffers"},
      {"sparse:2x0", "\"2x0\"", "buffers"},
      {"sparse:-1x256", "\"-1x256\"", "buffers"},
      {"sparse:2x256k", "\"2x256k\"", "buffers"},
      {"sparse:2000x256", "\"2000x256\"", "at most 1024"},
      {"sparse:1x99999999999999999999", "\"1x99999999999999999999\"", "buffers"},
      {"sparse:2x256,,dense:1x1", "\"\"", "sparse or dense"},
      {"sparse:2x256,", "\"\"", "a group behind the last comma"},
      {"dense:1x256:", "\"\"", "window=4096"},
      {"dense:1x256:4096", "\"4096\"", "window=4096"},
      {"dense:1x256:window=", "\"window=\"", "window=4096"},
      {"dense:1x256:window=0", "\"window=0\"", "window=4096"},
      {"dense:1x256:window=4096:x", "\"window=4096:x\"", "window=4096"},
      {"sparse:1x256:window=64", "\"window=64\"", "only dense groups have a window"},
  }));
  CAPTURE(w.text);
  auto groups = parse_groups(w.text);
  REQUIRE_FALSE(groups);
  REQUIRE_THAT(groups.error().message, ContainsSubstring(w.part + " should be "));
  REQUIRE_THAT(groups.error().message, ContainsSubstring(w.right));
}

TEST_CASE("groups become the runtime's configuration, each with a name of its own") {
  auto configs = group_configs(*parse_groups("sparse:2x256,dense:1x64:window=128"), 10, 20);
  REQUIRE(configs.size() == 2);
  REQUIRE(configs[0].name != configs[1].name);
  REQUIRE(configs[0].kind == group_kind::sparse);
  REQUIRE(configs[0].buffers.size() == 2);
  REQUIRE(configs[0].buffers[0].name != configs[0].buffers[1].name);
  REQUIRE(configs[0].buffers[1].bytes_per_slot == 256);
  REQUIRE(configs[0].gpu_slots == 10);
  REQUIRE(configs[1].host_slots == 20);
  REQUIRE(configs[1].window_tokens == 128);
}

} // namespace serve::test
