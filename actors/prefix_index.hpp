// The prefix index: which committed blocks stand for which tokens behind which prefix. Part of the page registry's
// state.
//
// A tree: a node stands for one block's tokens behind its parent's. Nodes are found by chain hash, but what decides is
// the parent's identity and the tokens themselves, so equal hashes never make two prefixes one. Namespaces have roots
// of their own. A node lives as long as a block, a child or a claim refers to it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "actors/block.hpp"

namespace kvferry {

struct prefix_root;

struct prefix_node {
  prefix_node* parent = nullptr; ///< null: a namespace's root
  std::uint64_t hash = 0;        ///< chain hash over the whole prefix
  std::vector<token> tokens;
  std::vector<block*> blocks; ///< [group] null: none
  prefix_node* same_hash = nullptr;
  std::uint32_t references = 0; ///< blocks, children, claims

  prefix_node* newest_child = nullptr;
  prefix_node* newer = nullptr; ///< neighbours among its parent's children
  prefix_node* older = nullptr;
  const prefix_root* root = nullptr; ///< of its namespace
};

/// Stands for the empty prefix.
struct prefix_root : prefix_node {
  std::string name;
  std::string adapter;
  std::string salt;
};

class prefix_index {
public:
  explicit prefix_index(std::size_t groups) : groups_(groups) {}

  ~prefix_index();
  prefix_index(const prefix_index&) = delete;
  prefix_index& operator=(const prefix_index&) = delete;

  /// The namespace's root; made when it is new, and gone when the last that refers to it has dropped it. The fields are
  /// tagged: adapter "x" and salt "x" differ.
  prefix_node& root(const std::string& adapter, const std::string& salt);

  /// The child of `parent` with these tokens; null: none.
  prefix_node* find(const prefix_node& parent, std::uint64_t hash, std::span<const token> tokens) const;

  /// The same, made when it is new. Its first reference must be added before any is dropped.
  prefix_node& find_or_add(prefix_node& parent, std::uint64_t hash, std::span<const token> tokens);

  /// The child of `parent` that shares the most leading tokens with `tokens`, and how many; null: none shares any.
  /// Looks at children for which `usable(child)`, of many the newest 256: opening a request must stay cheap.
  template <class Usable>
  std::pair<prefix_node*, std::uint32_t> longest_start(const prefix_node& parent, std::span<const token> tokens,
                                                       Usable usable) const;

  /// Enters `b` as the block of its group. REQUIRES: there is none.
  void set(prefix_node& node, block& b);

  /// Takes `b` out; the node may end.
  void clear(block& b);

  void add_reference(prefix_node& node) { ++node.references; }
  void drop_reference(prefix_node& node);

  std::size_t nodes() const { return count_; }

  /// Every node but the roots, parents first; in the same order after the same calls.
  std::vector<const prefix_node*> all() const;

private:
  void unlink(prefix_node& node);

  std::size_t groups_;
  std::size_t count_ = 0;
  std::unordered_map<std::uint64_t, prefix_node*> by_hash_;
  std::unordered_map<std::string, std::unique_ptr<prefix_root>> roots_;
};

template <class Usable>
std::pair<prefix_node*, std::uint32_t> prefix_index::longest_start(const prefix_node& parent,
                                                                   std::span<const token> tokens, Usable usable) const {
  std::pair<prefix_node*, std::uint32_t> best{nullptr, 0};
  prefix_node* child = tokens.empty() ? nullptr : parent.newest_child;
  for (int looked_at = 0; child != nullptr && looked_at < 256; child = child->older, ++looked_at) {
    const auto differs = std::ranges::mismatch(child->tokens, tokens).in2;
    const auto shared = static_cast<std::uint32_t>(differs - tokens.begin());
    if (shared > best.second && usable(*child))
      best = {child, shared};
  }
  return best;
}

} // namespace kvferry
