// The prefix index: tokens and parents decide, hashes only find.
#include "actors/prefix_index.hpp"

#include "tests/catch.hpp"
#include "tests/device/death.hpp"

namespace kvferry::test {

namespace {

using tokens = std::vector<token>;

block block_of(std::uint64_t id, std::uint8_t group = 0) {
  block b;
  b.id = block_id{id};
  b.group = group_id{group};
  return b;
}

} // namespace

TEST_CASE("a node is found by parent, hash and tokens") {
  prefix_index index{1};
  prefix_node& root = index.root("", "");
  prefix_node& a = index.find_or_add(root, 11, tokens{1, 2});
  REQUIRE(index.find(root, 11, tokens{1, 2}) == &a);
  REQUIRE(index.find(root, 12, tokens{1, 2}) == nullptr);
  REQUIRE(&index.find_or_add(root, 11, tokens{1, 2}) == &a);
  REQUIRE(index.nodes() == 1);
  REQUIRE(a.parent == &root);
}

TEST_CASE("equal hashes do not make different tokens one prefix") {
  prefix_index index{1};
  prefix_node& root = index.root("", "");
  prefix_node& a = index.find_or_add(root, 11, tokens{1, 2});
  REQUIRE(index.find(root, 11, tokens{1, 3}) == nullptr);
  REQUIRE(index.find(root, 11, tokens{1}) == nullptr);
  prefix_node& b = index.find_or_add(root, 11, tokens{1, 3});
  REQUIRE(&a != &b);
  REQUIRE(index.find(root, 11, tokens{1, 2}) == &a);
  REQUIRE(index.find(root, 11, tokens{1, 3}) == &b);
}

TEST_CASE("equal hashes and tokens behind different parents are different prefixes") {
  prefix_index index{1};
  prefix_node& root = index.root("", "");
  prefix_node& a = index.find_or_add(root, 11, tokens{1, 2});
  prefix_node& b = index.find_or_add(root, 12, tokens{3, 4});
  prefix_node& behind_a = index.find_or_add(a, 99, tokens{5, 6});
  REQUIRE(index.find(b, 99, tokens{5, 6}) == nullptr);
  prefix_node& behind_b = index.find_or_add(b, 99, tokens{5, 6});
  REQUIRE(&behind_a != &behind_b);
  REQUIRE(index.find(a, 99, tokens{5, 6}) == &behind_a);
}

TEST_CASE("namespaces share nothing, and an adapter is not a salt") {
  prefix_index index{1};
  const std::vector<std::pair<std::string, std::string>> spaces{{"", ""},    {"x", ""},   {"", "x"},  {"x", "x"},
                                                                {"ab", "c"}, {"a", "bc"}, {"1:", ""}, {"", "0:|"},
                                                                {"a|b", ""}, {"a", "b"}};
  for (const auto& [adapter, salt] : spaces) {
    prefix_node& root = index.root(adapter, salt);
    INFO(adapter << "," << salt);
    REQUIRE(index.find(root, 11, tokens{1}) == nullptr);
    index.find_or_add(root, 11, tokens{1});
  }
  REQUIRE(index.nodes() == spaces.size());
  REQUIRE(&index.root("x", "") == &index.root("x", ""));
}

TEST_CASE("a node ends with the last of its blocks, children and claims") {
  prefix_index index{2};
  prefix_node& root = index.root("", "");
  prefix_node& a = index.find_or_add(root, 11, tokens{1});
  index.add_reference(a); // a claim
  prefix_node& child = index.find_or_add(a, 12, tokens{2});
  block first = block_of(1, 0), second = block_of(2, 1);
  index.set(child, first);
  index.set(child, second);
  REQUIRE(child.blocks == std::vector<block*>{&first, &second});
  index.drop_reference(a); // the child keeps it
  REQUIRE(index.nodes() == 2);
  index.clear(first);
  REQUIRE(first.node == nullptr);
  REQUIRE(index.find(a, 12, tokens{2}) == &child);
  REQUIRE(child.blocks[1] == &second);
  index.clear(second); // the last block: the child goes, and with it its parent
  REQUIRE(index.nodes() == 0);
  REQUIRE(index.find(root, 11, tokens{1}) == nullptr);
}

TEST_CASE("of nodes with equal hashes each can end first") {
  for (std::size_t gone = 0; gone < 3; ++gone) {
    prefix_index index{1};
    prefix_node& root = index.root("", "");
    std::vector<prefix_node*> nodes;
    for (token t = 0; t < 3; ++t) {
      nodes.push_back(&index.find_or_add(root, 11, tokens{t}));
      index.add_reference(*nodes.back());
    }
    index.drop_reference(*nodes[gone]);
    for (std::size_t t = 0; t < 3; ++t)
      REQUIRE(index.find(root, 11, tokens{static_cast<token>(t)}) == (t == gone ? nullptr : nodes[t]));
    REQUIRE(index.nodes() == 2);
  }
}

TEST_CASE("a chain as long as a long prompt ends as a whole") {
  prefix_index index{1};
  prefix_node* last = &index.root("", "");
  for (token t = 0; t < 8192; ++t)
    last = &index.find_or_add(*last, static_cast<std::uint64_t>(t), tokens{t});
  index.add_reference(*last);
  REQUIRE(index.nodes() == 8192);
  index.drop_reference(*last);
  REQUIRE(index.nodes() == 0);
}

TEST_CASE("a namespace ends with the last that refers to it, and begins anew") {
  prefix_index index{1};
  index.add_reference(index.find_or_add(index.root("x", ""), 11, tokens{1}));
  index.drop_reference(*index.find(index.root("x", ""), 11, tokens{1}));
  REQUIRE(index.find(index.root("x", ""), 11, tokens{1}) == nullptr);
  index.find_or_add(index.root("x", ""), 11, tokens{1});
  REQUIRE(index.nodes() == 1);
}

namespace {

constexpr auto every = [](const prefix_node&) { return true; };

} // namespace

TEST_CASE("of the children that begin alike the one that shares the most tokens is found") {
  prefix_index index{1};
  prefix_node& root = index.root("", "");
  index.find_or_add(root, 11, tokens{1, 2, 3, 4});
  prefix_node& longest = index.find_or_add(root, 12, tokens{1, 2, 5, 6});
  index.find_or_add(root, 13, tokens{1, 7, 5, 9});
  using found = std::pair<prefix_node*, std::uint32_t>;
  REQUIRE(index.longest_start(root, tokens{1, 2, 5, 9}, every) == found{&longest, 3});
  REQUIRE(index.longest_start(root, tokens{1, 2, 5}, every) == found{&longest, 3}); // the prompt ends there
  REQUIRE(index.longest_start(root, tokens{2, 2, 5, 6}, every) == found{nullptr, 0});
  REQUIRE(index.longest_start(root, tokens{}, every) == found{nullptr, 0});
  REQUIRE(index.longest_start(root, tokens{1, 2, 5, 9}, [&](const prefix_node& n) { return &n != &longest; }).second ==
          2);
  REQUIRE(index.longest_start(longest, tokens{1, 2, 5, 9}, every) == found{nullptr, 0});
  REQUIRE(index.longest_start(index.root("x", ""), tokens{1, 2, 5, 9}, every) == found{nullptr, 0});
}

TEST_CASE("children that begin alike can end in any order") {
  for (std::size_t first = 0; first < 3; ++first)
    for (std::size_t second = 0; second < 3; ++second) {
      if (first == second)
        continue;
      prefix_index index{1};
      prefix_node& root = index.root("", "");
      std::vector<prefix_node*> nodes;
      for (token t = 0; t < 3; ++t) {
        nodes.push_back(&index.find_or_add(root, static_cast<std::uint64_t>(t), tokens{1, t}));
        index.add_reference(*nodes.back());
      }
      index.drop_reference(*nodes[first]);
      index.drop_reference(*nodes[second]);
      const auto left = 3 - first - second;
      REQUIRE(index.longest_start(root, tokens{1, static_cast<token>(left)}, every).first == nodes[left]);
      REQUIRE(index.longest_start(root, tokens{1, static_cast<token>(first)}, every).second == 1);
    }
}

TEST_CASE("of many children that begin alike the newest are looked at") {
  prefix_index index{1};
  prefix_node& root = index.root("", "");
  for (token t = 0; t < 300; ++t)
    index.find_or_add(root, static_cast<std::uint64_t>(t), tokens{1, t});
  REQUIRE(index.longest_start(root, tokens{1, 299}, every).second == 2);
  REQUIRE(index.longest_start(root, tokens{1, 44}, every).second == 2);
  REQUIRE(index.longest_start(root, tokens{1, 43}, every).second == 1);
}

TEST_CASE("broken contracts of the prefix index say what they saw") {
  prefix_index index{1};
  prefix_node& a = index.find_or_add(index.root("", ""), 11, tokens{1});
  index.add_reference(a);
  block first = block_of(1), second = block_of(2);
  index.set(a, first);
  REQUIRE_THAT(words_of_death([&] { index.set(a, second); }),
               ContainsSubstring("block 2 enters a place of the index that block 1 has"));
  REQUIRE_THAT(words_of_death([&] { index.clear(second); }), ContainsSubstring("block 2 is not in the index"));
}

} // namespace kvferry::test
