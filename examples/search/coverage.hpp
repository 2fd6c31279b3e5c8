// Which messages have been handled right behind which others by the same kind of actor, over all runs of a search: what
// an order of messages can be made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "kvferry/delivery.hpp"

namespace search {

class coverage {
public:
  /// `who` handles `message`; its text lives for ever.
  void handled(kvferry::actor_key who, std::string_view message);

  /// A new run: nobody has handled anything.
  void begin_run() { last_.clear(); }

  std::size_t pairs() const { return pairs_.size(); }

  /// "page_registry: commit_blocks, copies_done", in order.
  std::vector<std::string> names() const;

private:
  struct last_message {
    kvferry::actor_key who;
    std::uint32_t message;
  };

  std::uint32_t number_of(std::string_view message);

  std::vector<std::string_view> messages_; // by number; few
  std::vector<last_message> last_;
  std::unordered_set<std::uint64_t> pairs_; // kind of actor, message before, message
};

} // namespace search
