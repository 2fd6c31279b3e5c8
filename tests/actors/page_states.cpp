#include "tests/actors/page_states.hpp"

#include <regex>
#include <sstream>

namespace kvferry::test {

namespace {

/// Messages that a handling sends to others than its caller.
const std::set<std::string> effects{"copy_pages", "submit_copies", "cancel_copies", "owners_rebound", "loads_done"};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    lines.push_back(line);
  return lines;
}

std::set<std::string> quoted_in(const std::string& cell) {
  static const std::regex word("`([^`]+)`");
  std::set<std::string> words;
  for (std::sregex_iterator at(cell.begin(), cell.end(), word), end; at != end; ++at)
    words.insert((*at)[1]);
  return words;
}

std::string trimmed(const std::string& cell) {
  const auto first = cell.find_first_not_of(' ');
  return first == std::string::npos ? "" : cell.substr(first, cell.find_last_not_of(' ') - first + 1);
}

std::string quoted(const std::set<std::string>& words) {
  std::string cell;
  for (const std::string& word : words)
    cell += fmt::format("{}`{}`", cell.empty() ? "" : " ", word);
  return cell;
}

} // namespace

std::string state_of(const block& b, block_id id, const configuration& config) {
  if (b.id != id)
    return "none";
  if (b.copy)
    switch (b.copy->kind) {
    case move_kind::offload: return "offloading";
    case move_kind::spill: return "spilling";
    case move_kind::demote: return "demoting";
    case move_kind::load: return "loading";
    case move_kind::branch: return "branching";
    }
  if (b.owners.empty()) {
    if (b.pins > 0)
      return "pinned";
    return !b.has_host() ? "idle on the GPU" : b.has_gpu() ? "idle on both tiers" : "idle on the host";
  }
  if (b.has_host())
    return b.has_gpu() ? "on both tiers" : "on the host";
  if (b.wait_ticket != 0)
    return "waiting for the host";
  bool active = false, ghost = false, mover = false, written = false;
  for (const owner& o : b.owners) {
    const claim& c = *o.request;
    const bool complete = o.ordinal < c.complete;
    active = active || c.active;
    ghost = ghost || c.ghost;
    written = written || (c.active && !complete);
    mover = mover || (c.active && c.stage == phase::decode && complete &&
                      config.groups[b.group.value()].kind == group_kind::sparse);
  }
  if (!active)
    return ghost ? "kept for the dead" : "held";
  if (mover)
    return b.failures > config.copy_retries ? "given up" : "deferred";
  return written ? "writable" : b.node != nullptr ? "indexed" : "complete";
}

std::string state_of(const slot_ledger& ledger, slot_key slot) {
  const std::string on = slot.on == tier::gpu ? "GPU " : "host ";
  if (!ledger.is_free(slot))
    return on + "taken";
  return on + (ledger.is_named(slot) ? "retiring" : ledger.fences(slot).empty() ? "free" : "fenced");
}

std::string event_of(const any_message& message) {
  const auto* call = message.get_if<owner_transition>();
  if (call == nullptr)
    return std::string{name_of(message)};
  switch (call->kind) {
  case transition::advance: return "advance";
  case transition::enter_decode: return "enter_decode";
  case transition::suspend: return "suspend";
  case transition::resume: return "resume";
  case transition::shrink: return "shrink";
  case transition::drop: return "drop";
  }
  return "?";
}

edge_table read_table(const std::string& markdown, const std::string& heading) {
  edge_table table;
  bool here = false;
  for (const std::string& line : lines_of(markdown)) {
    if (line.starts_with("#"))
      here = line == "## " + heading;
    if (!here || !line.starts_with("| ") || line.starts_with("| from ") || line.starts_with("| ---"))
      continue;
    std::vector<std::string> cells;
    std::istringstream in(line.substr(1));
    for (std::string cell; std::getline(in, cell, '|');)
      cells.push_back(trimmed(cell));
    REQUIRE(cells.size() == 4);
    const bool fresh =
        table.emplace(edge{cells[0], cells[1]}, edge_facts{quoted_in(cells[2]), quoted_in(cells[3])}).second;
    INFO(line);
    REQUIRE(fresh);
  }
  return table;
}

std::string write_table(const edge_table& table) {
  std::string text;
  for (const auto& [went, facts] : table)
    text += fmt::format("| {} | {} | {} | {} |\n", went.from, went.to, quoted(facts.events), quoted(facts.sends));
  return text;
}

std::set<edge> read_diagram(const std::string& markdown) {
  std::map<std::string, std::string> names{{"[*]", "none"}};
  std::set<edge> edges;
  static const std::regex name("^ *state \"([^\"]+)\" as (\\w+)$"), arrow("^ *(\\S+) --> (\\S+)( *:.*)?$");
  for (const std::string& line : lines_of(markdown)) {
    std::smatch found;
    auto named = [&](const std::string& id) { return names.contains(id) ? names.at(id) : id; };
    if (std::regex_match(line, found, name))
      names[found[2]] = found[1];
    else if (std::regex_match(line, found, arrow))
      edges.insert({named(found[1]), named(found[2])});
  }
  return edges;
}

lifecycle_watch::lifecycle_watch(registry_rig& r, edge_table& blocks, edge_table& slots)
    : rig_(r), blocks_(blocks), slots_(slots) {
  for (std::uint8_t g = 0; g < r.config.groups.size(); ++g)
    for (tier on : {tier::gpu, tier::host})
      for (std::uint32_t slot = 0; slot < r.registry.ledger().total(group_id{g}, on); ++slot)
        slot_states_[{group_id{g}, on, slot}] = on == tier::gpu ? "GPU free" : "host free";
  r.watch = [this](const any_message& message, const std::vector<outgoing>& sent) {
    std::set<std::string> names;
    for (const outgoing& each : sent)
      if (effects.contains(std::string{name_of(each.body)}))
        names.insert(std::string{name_of(each.body)});
    look(event_of(message), names);
  };
}

void lifecycle_watch::look(const std::string& event, const std::set<std::string>& sent) {
  for (const auto& [id, r] : rig_.requests)
    if (const claim* c = rig_.registry.find_claim(id))
      for (const auto& table : c->tables)
        for (const claim_entry& entry : table)
          if (entry.held != nullptr) // a block begins with an owner
            known_.emplace(entry.held->id, known_block{entry.held, "none"});
  for (auto at = known_.begin(); at != known_.end();) {
    auto& [id, block] = *at;
    const std::string now = state_of(*block.record, id, rig_.config);
    if (now != block.state)
      note(blocks_, {block.state, now}, event, sent);
    block.state = now;
    at = now == "none" ? known_.erase(at) : std::next(at);
  }
  for (auto& [slot, state] : slot_states_) {
    const std::string now = state_of(rig_.registry.ledger(), slot);
    if (now != state)
      note(slots_, {state, now}, event, sent);
    state = now;
  }
}

void lifecycle_watch::note(edge_table& table, const edge& went, const std::string& event,
                           const std::set<std::string>& sent) {
  auto [at, fresh] = table.emplace(went, edge_facts{{}, sent});
  at->second.events.insert(event);
  std::erase_if(at->second.sends, [&](const std::string& name) { return !sent.contains(name); });
}

} // namespace kvferry::test
