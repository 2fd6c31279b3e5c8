// What becomes of slots that a block gave up: fenced, named by published rows for a while, then somebody else's. For
// stories.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "actors/page_registry.hpp"

namespace kvferry {

class slot_watch {
public:
  /// From now on the slot is looked at.
  void add(slot_key slot) { watched_[slot] = false; }

  /// After a handling of the registry; `tell` gets a sentence for each thing that happened.
  void look(const slot_ledger& ledger, const std::vector<outgoing>& sent,
            const std::function<void(const std::string&)>& tell);

private:
  std::map<slot_key, bool> watched_; // true: told that it is free
};

} // namespace kvferry
