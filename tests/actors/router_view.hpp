// A router outside, as strict as one can be: it keeps what it is told, and fails on whatever is told twice, of what it
// does not know, or out of order.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kvferry/router_events.hpp"
#include "tests/catch.hpp"

namespace kvferry::test {

class router_view {
public:
  void take(const router_news& news) {
    if (news.anew) {
      there_.clear();
      blocks_.clear();
    }
    for (const router_event& event : news.events)
      take(event, news.anew);
  }

  /// "A:gpu AB:host", sorted: each block as the letters of its prompt up to its end, by `letter_of` its tokens. Blocks
  /// of groups other than the first have the group behind them: "A/1:gpu".
  std::string text() const {
    std::set<std::string> words;
    for (const auto& [id, on] : there_) {
      const known& b = blocks_.at(id);
      const std::string group = b.group.value() == 0 ? "" : "/" + std::to_string(b.group.value());
      words.insert(b.path + group + (on == tier::gpu ? ":gpu" : ":host"));
    }
    std::string text;
    for (const std::string& word : words)
      text += (text.empty() ? "" : " ") + word;
    return text;
  }

  const std::set<std::pair<block_id, tier>>& there() const { return there_; }

  /// What came since the last call, "stored A:gpu, moved A:host".
  std::string heard() { return std::exchange(heard_, ""); }

private:
  struct known {
    group_id group;
    std::uint64_t hash = 0;
    std::string path;
  };

  void take(const router_event& e, bool listed) {
    INFO("event " << e.number << " of block " << e.block.value());
    if (last_ != 0 && !listed)
      REQUIRE(e.number == last_ + 1);
    last_ = e.number;
    const tier other = e.on == tier::gpu ? tier::host : tier::gpu;
    if (e.what == router_event::change::stored)
      learn(e);
    const known& b = blocks_.at(e.block);
    REQUIRE(b.hash == e.hash);
    REQUIRE(b.group == e.group);
    if (e.what == router_event::change::removed) {
      REQUIRE(there_.erase({e.block, e.on}) == 1);
    } else {
      REQUIRE(there_.insert({e.block, e.on}).second);
      if (e.what == router_event::change::moved)
        REQUIRE(there_.erase({e.block, other}) == 1);
    }
    const char* words[] = {"stored", "moved", "removed"};
    heard_ += (heard_.empty() ? "" : ", ") + std::string{words[static_cast<int>(e.what)]} + " " + b.path +
              (e.on == tier::gpu ? ":gpu" : ":host");
  }

  /// By its key alone: the block before it may be of another stay, or gone.
  void learn(const router_event& e) {
    REQUIRE_FALSE(e.tokens.empty());
    const std::string before = e.parent ? paths_[*e.parent] : "";
    const std::string path = before + static_cast<char>(e.tokens.back());
    paths_[e.hash] = path;
    blocks_[e.block] = {e.group, e.hash, path};
  }

  std::set<std::pair<block_id, tier>> there_;
  std::map<block_id, known> blocks_;
  std::map<std::uint64_t, std::string> paths_; // by chain hash
  std::uint64_t last_ = 0;
  std::string heard_;
};

} // namespace kvferry::test
