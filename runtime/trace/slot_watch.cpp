#include "runtime/trace/slot_watch.hpp"

#include <fmt/format.h>

#include "runtime/trace/block_events.hpp"

namespace kvferry {

namespace {

std::string name_of(slot_key slot) {
  return fmt::format("{} slot {}", slot.on == tier::gpu ? "GPU" : "host", slot.slot);
}

/// Who has been told that the slot is its page's; "": nobody.
std::string new_user_in(slot_key slot, const outgoing& message) {
  std::string user;
  auto look_at = [&](const std::vector<page_change>& changes) {
    for (const page_change& change : changes)
      if (change.group == slot.group && change.on == slot.on && change.slot == slot.slot)
        user = fmt::format("request {}, ordinal {}", message.to.number, change.ordinal);
  };
  message.body.visit([&](const auto& body) {
    if constexpr (requires { look_at(body.granted.changes); })
      look_at(body.granted.changes);
    else if constexpr (requires { look_at(body.changes); })
      look_at(body.changes);
  });
  if (const auto* copies = message.body.get_if<copy_pages>())
    for (const page_move& move : copies->moves)
      if (move.group == slot.group &&
          (slot.on == tier::gpu ? goes_to_gpu(move.kind) && move.gpu.value() == slot.slot
                                : !goes_to_gpu(move.kind) && move.host.value() == slot.slot))
        user = fmt::format("block {}, {}", move.block.value(), to_string(move.kind));
  return user;
}

std::string release_of(slot_key slot, const slot_ledger& ledger) {
  std::string text = fmt::format("{} is free: fenced behind {}", name_of(slot), words(ledger.fences(slot)));
  std::string names;
  for (const row_number& name : ledger.names_of(slot))
    names += fmt::format("{}request {}'s {}", names.empty() ? "" : ", ", name.request.value(),
                         name.seq == slot_ledger::until_gone ? "row is gone" : fmt::format("number {}", name.seq));
  return names.empty() ? text : text + fmt::format(", and named by rows until {} is published", names);
}

} // namespace

void slot_watch::look(const slot_ledger& ledger, const std::vector<outgoing>& sent,
                      const std::function<void(const std::string&)>& tell) {
  for (auto each = watched_.begin(); each != watched_.end();) {
    auto& [slot, told_free] = *each;
    if (!told_free && ledger.is_free(slot)) {
      tell(release_of(slot, ledger));
      told_free = true;
    }
    std::string user;
    if (!ledger.is_free(slot))
      for (const outgoing& message : sent)
        if (std::string found = new_user_in(slot, message); !found.empty())
          user = found;
    if (!user.empty())
      tell(fmt::format("{} is reused: {}", name_of(slot), user));
    each = user.empty() ? std::next(each) : watched_.erase(each);
  }
}

} // namespace kvferry
