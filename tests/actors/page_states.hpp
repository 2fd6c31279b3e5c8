// The states of docs/page_lifecycle.md, as a block's record and the slot ledger show them, and the transitions that a
// registry goes through, one per handling.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/actors/registry_rig.hpp"

namespace kvferry::test {

/// "none" when the record is no longer that of `id`.
std::string state_of(const block& b, block_id id, const configuration& config);

/// Begins with the tier: "GPU retiring".
std::string state_of(const slot_ledger& ledger, slot_key slot);

/// What may stand under "on" in the tables: the message's name, or what an owner_transition asks for.
std::string event_of(const any_message& message);

struct edge {
  std::string from;
  std::string to;

  friend auto operator<=>(const edge&, const edge&) = default;
};

/// What the tables say of an edge.
struct edge_facts {
  std::set<std::string> events;
  std::set<std::string> sends; ///< with each of them: of the messages that are sent to somebody who has not called

  friend bool operator==(const edge_facts&, const edge_facts&) = default;
};

using edge_table = std::map<edge, edge_facts>;

/// Rows "| from | to | `event` `event` | `message` |" of the table below a heading of a Markdown text.
edge_table read_table(const std::string& markdown, const std::string& heading);

/// As the text has it.
std::string write_table(const edge_table& table);

/// "from --> to" of the text's Mermaid diagram; [*] is "none".
std::set<edge> read_diagram(const std::string& markdown);

/// Notes what each handling of a rig does to each block and each slot.
class lifecycle_watch {
public:
  lifecycle_watch(registry_rig& r, edge_table& blocks, edge_table& slots);

private:
  struct known_block {
    const block* record; // stays readable: records are reused, not freed
    std::string state;
  };

  void look(const std::string& event, const std::set<std::string>& sent);
  static void note(edge_table& table, const edge& went, const std::string& event, const std::set<std::string>& sent);

  registry_rig& rig_;
  edge_table& blocks_;
  edge_table& slots_;
  std::map<block_id, known_block> known_;
  std::map<slot_key, std::string> slot_states_;
};

} // namespace kvferry::test
