#include "actors/prefix_index.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "kvferry/contract.hpp"

namespace kvferry {

prefix_index::~prefix_index() {
  for (auto& [hash, first] : by_hash_)
    for (prefix_node* node = first; node != nullptr;)
      delete std::exchange(node, node->same_hash);
}

prefix_node& prefix_index::root(const std::string& adapter, const std::string& salt) {
  // The length in front keeps ("ab", "c") and ("a", "bc") apart.
  const std::string name = fmt::format("{}:{}|{}", adapter.size(), adapter, salt);
  std::unique_ptr<prefix_root>& found = roots_[name];
  if (!found) {
    found = std::make_unique<prefix_root>();
    found->name = name;
    found->adapter = adapter;
    found->salt = salt;
    found->root = found.get();
  }
  return *found;
}

prefix_node* prefix_index::find(const prefix_node& parent, std::uint64_t hash, std::span<const token> tokens) const {
  auto entry = by_hash_.find(hash);
  if (entry == by_hash_.end())
    return nullptr;
  for (prefix_node* node = entry->second; node != nullptr; node = node->same_hash)
    if (node->parent == &parent && std::ranges::equal(node->tokens, tokens))
      return node;
  return nullptr;
}

prefix_node& prefix_index::find_or_add(prefix_node& parent, std::uint64_t hash, std::span<const token> tokens) {
  if (prefix_node* found = find(parent, hash, tokens))
    return *found;
  prefix_node*& first = by_hash_[hash];
  auto* node = new prefix_node{&parent, hash, {tokens.begin(), tokens.end()}, std::vector<block*>(groups_), first};
  first = node;
  node->root = parent.root;
  node->older = parent.newest_child;
  if (node->older != nullptr)
    node->older->newer = node;
  parent.newest_child = node;
  ++parent.references;
  ++count_;
  return *node;
}

std::vector<const prefix_node*> prefix_index::all() const {
  std::vector<const prefix_root*> roots;
  for (const auto& [name, root] : roots_)
    roots.push_back(root.get());
  std::ranges::sort(roots, {}, &prefix_root::name);
  std::vector<const prefix_node*> nodes;
  auto add_children = [&](const prefix_node& parent) {
    for (const prefix_node* child = parent.newest_child; child != nullptr; child = child->older)
      nodes.push_back(child);
  };
  for (const prefix_root* root : roots)
    add_children(*root);
  for (std::size_t i = 0; i < nodes.size(); ++i)
    add_children(*nodes[i]);
  return nodes;
}

void prefix_index::set(prefix_node& node, block& b) {
  block*& place = node.blocks[b.group.value()];
  KVFERRY_REQUIRE(place == nullptr && b.node == nullptr, "block {} enters a place of the index that block {} has",
                  b.id.value(), place ? place->id.value() : 0);
  place = &b;
  b.node = &node;
  ++node.references;
}

void prefix_index::clear(block& b) {
  KVFERRY_REQUIRE(b.node != nullptr && b.node->blocks[b.group.value()] == &b, "block {} is not in the index",
                  b.id.value());
  prefix_node& node = *std::exchange(b.node, nullptr);
  node.blocks[b.group.value()] = nullptr;
  drop_reference(node);
}

void prefix_index::drop_reference(prefix_node& node) {
  for (prefix_node* last = &node; last != nullptr;) { // its parents may end with it
    KVFERRY_REQUIRE(last->references > 0, "a prefix node is dropped twice, hash {:x}", last->hash);
    if (--last->references > 0)
      return;
    prefix_node* parent = last->parent;
    if (parent == nullptr) {
      roots_.erase(std::string{static_cast<prefix_root*>(last)->name}); // a copy: the name ends with the node
      return;
    }
    unlink(*last);
    delete last;
    --count_;
    last = parent;
  }
}

void prefix_index::unlink(prefix_node& node) {
  auto entry = by_hash_.find(node.hash);
  prefix_node** place = &entry->second;
  while (*place != &node)
    place = &(*place)->same_hash;
  *place = node.same_hash;
  if (entry->second == nullptr)
    by_hash_.erase(entry);
  if (node.older != nullptr)
    node.older->newer = node.newer;
  (node.newer != nullptr ? node.newer->older : node.parent->newest_child) = node.older;
}

} // namespace kvferry
