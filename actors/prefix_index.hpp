// The prefix index: which committed blocks stand for which tokens behind which prefix. Part of the page registry's
// state.
//
// A tree: a node stands for one block's tokens behind its parent's. Nodes are found by chain hash, but what decides is
// the parent's identity and the tokens themselves, so equal hashes never make two prefixes one. Namespaces have roots
// of their own. A node lives as long as a block, a child or a claim refers to it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "actors/block.hpp"

namespace kvferry {

struct prefix_node {
  prefix_node* parent = nullptr; ///< null: a namespace's root
  std::uint64_t hash = 0;        ///< chain hash over the whole prefix
  std::vector<token> tokens;
  std::vector<block*> blocks; ///< [group] null: none
  prefix_node* same_hash = nullptr;
  std::uint32_t references = 0; ///< blocks, children, claims
};

class prefix_index {
public:
  explicit prefix_index(std::size_t groups) : groups_(groups) {}

  ~prefix_index();
  prefix_index(const prefix_index&) = delete;
  prefix_index& operator=(const prefix_index&) = delete;

  /// The namespace's root; made when it is new. The fields are tagged: adapter "x" and salt "x" differ.
  prefix_node& root(const std::string& adapter, const std::string& salt);

  /// The child of `parent` with these tokens; null: none.
  prefix_node* find(const prefix_node& parent, std::uint64_t hash, std::span<const token> tokens) const;

  /// The same, made when it is new. Its first reference must be added before any is dropped.
  prefix_node& find_or_add(prefix_node& parent, std::uint64_t hash, std::span<const token> tokens);

  /// Enters `b` as the block of its group. REQUIRES: there is none.
  void set(prefix_node& node, block& b);

  /// Takes `b` out; the node may end.
  void clear(block& b);

  void add_reference(prefix_node& node) { ++node.references; }
  void drop_reference(prefix_node& node);

  std::size_t nodes() const { return count_; }

private:
  std::size_t groups_;
  std::size_t count_ = 0;
  std::unordered_map<std::uint64_t, prefix_node*> by_hash_;
  std::unordered_map<std::string, std::unique_ptr<prefix_node>> roots_;
};

} // namespace kvferry
