#include "runtime/trace/block_life.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/trace/concerned_claims.hpp"

namespace kvferry {

void block_life::handled(const trace_record& record, const any_message& message, const std::vector<outgoing>& sent,
                         const replayed_actors& actors) {
  if (record.to.kind != actor_kind::page_registry)
    return;
  const page_registry& registry = *actors.registry();
  if (const auto* told = message.get_if<rows_published>())
    tell_published(record, *told);
  if (block_ == nullptr && !find(message, sent, registry))
    return;
  look(record);
  slots_.look(registry.ledger(), sent, [&](const std::string& what) { tell(record, what); });
}

/// A block begins with an owner, who is told of it.
bool block_life::find(const any_message& message, const std::vector<outgoing>& sent, const page_registry& registry) {
  for (request_id request : requests_of(message, sent))
    if (const claim* c = registry.find_claim(request))
      for (const auto& table : c->tables)
        for (const claim_entry& entry : table)
          if (entry.held != nullptr && entry.held->id == id_) {
            block_ = entry.held;
            group_ = block_->group;
            return true;
          }
  return false;
}

void block_life::look(const trace_record& record) {
  block_moment now = moment_of(*block_, id_, config_);
  for (const block_event& event : events_between(before_, now))
    tell(record, event.where.empty() ? event.what : event.what + " · " + event.where);
  note_rows(now);
  if (!before_.gpu.is_none() && now.gpu != before_.gpu)
    slots_.add(key_of(before_.group, before_.gpu));
  if (!before_.host.is_none() && now.host != before_.host)
    slots_.add(key_of(before_.group, before_.host));
  before_ = std::move(now);
}

/// Rows whose next publication shows another page, or the page for the first time.
void block_life::note_rows(const block_moment& now) {
  auto page = [&](tier bound) {
    return bound == tier::gpu ? fmt::format("GPU slot {}", now.gpu.value())
                              : fmt::format("host slot {}", now.host.value());
  };
  for (const block_moment::owned& owned : now.owners) {
    auto then = std::find_if(before_.owners.begin(), before_.owners.end(),
                             [&](const auto& o) { return o.request == owned.request; });
    if (then == before_.owners.end() || then->bound != owned.bound)
      unpublished_.push_back({owned.request, owned.seq, page(owned.bound)});
  }
}

void block_life::tell_published(const trace_record& record, const rows_published& told) {
  std::erase_if(unpublished_, [&](const unpublished& row) {
    auto shown = std::find_if(told.shown.begin(), told.shown.end(), [&](const row_number& number) {
      return number.request == row.request && number.seq >= row.seq;
    });
    if (shown == told.shown.end())
      return false;
    tell(record, fmt::format("published: version {} of batch {} shows it to request {} · {}", told.version,
                             told.batch.value(), row.request.value(), row.page));
    return true;
  });
}

void block_life::tell(const trace_record& record, const std::string& what) {
  lines_.push_back(fmt::format("  #{:<8} step {:<6} {}\n", record.seq, record.step, what));
}

std::string block_life::text() const {
  if (lines_.empty())
    return "";
  std::string text = fmt::format("block {}, group \"{}\"\n", id_.value(), config_.groups[group_.value()].name);
  for (const std::string& line : lines_)
    text += line;
  return text;
}

} // namespace kvferry
