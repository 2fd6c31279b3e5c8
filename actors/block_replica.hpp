// A request's own copy of its block table, kept up by the registry's messages, and the history that it publishes.
#pragma once

#include <cstdint>
#include <vector>

#include "kvferry/configuration.hpp"
#include "messages/parts.hpp"

namespace kvferry {

class block_replica {
public:
  explicit block_replica(const std::vector<group_config>& groups);

  /// Applies what the registry says.
  void apply(const std::vector<page_change>& changes);

  /// Length in every group; entries past it are dropped.
  void resize(std::uint32_t blocks);

  std::uint32_t blocks() const { return blocks_; }

  /// All loads have ended.
  void mark_ready();

  /// Every entry that names a page, groups in order, ordinals ascending.
  std::vector<page_change> all() const;

  /// Recounts published history: contiguous complete blocks of sparse groups on the host, from ordinal 0, while the
  /// request decodes. Returns the groups whose count has changed since the last call.
  std::vector<group_history> update_history(bool decoding, std::uint32_t complete_blocks);

  /// The counts as they are, groups with none left out.
  std::vector<group_history> history() const;

  /// Ordinals bound to host pages; at once when there are none.
  std::vector<block_ordinal> on_host(group_id group) const;

  const page_change* find(group_id group, block_ordinal ordinal) const;

private:
  struct group_table {
    bool sparse = false;
    std::vector<page_change> pages; // by ordinal; tier none: no page
    std::uint32_t on_host = 0;      // entries bound to host pages
    std::uint32_t history = 0;      // leading blocks known to be on the host
    std::uint32_t published = 0;    // what update_history last said
  };

  std::vector<group_table> groups_;
  std::uint32_t blocks_ = 0;
};

} // namespace kvferry
