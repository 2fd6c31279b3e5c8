#include "runtime/trace/request_life.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "messages/json.hpp"
#include "messages/message_kind.hpp"

namespace kvferry {

namespace {

/// "0–3, 7".
std::string ranges_of(const std::vector<block_ordinal>& ordinals) {
  std::string text;
  for (std::size_t i = 0; i < ordinals.size();) {
    std::size_t end = i + 1;
    while (end < ordinals.size() && ordinals[end] == ordinals[end - 1] + 1)
      ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", ordinals[i]);
    if (end - i > 1)
      text += fmt::format("–{}", ordinals[end - 1]);
    i = end;
  }
  return text;
}

/// The fields of a body that are numbers or words: lists are told by what the registry does with them.
std::string plain_fields(const json& body) {
  std::string text;
  for (const auto& [name, value] : body.items()) {
    if (name == "request" || name == "call")
      continue;
    if (value.is_array() && value.size() > 4)
      text += fmt::format("{}{} {} long", text.empty() ? "" : ", ", name, value.size());
    else if (value.is_object() && value.contains("message"))
      text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", name, value["message"].get<std::string>());
    else if (value.is_object() && value.contains("tokens") && value["tokens"].is_number())
      text += fmt::format("{}{} {} tokens", text.empty() ? "" : ", ", name, value["tokens"].dump());
    else if (value.is_primitive() && !value.is_null() && value != json(0) && value != json(false) && value != json(""))
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, value.dump());
  }
  return text;
}

} // namespace

/// Between the engine and the request's actor, and between that and the publisher; the rest is told by its effect.
void request_life::about_to_handle(const trace_record& record) {
  const address self = address_of(id_);
  const bool of_engine = (record.from == self && record.to.kind == actor_kind::engine) ||
                         (record.to == self && record.from.kind == actor_kind::engine);
  const bool of_row = record.is<row_joined>() || record.is<row_left>() || record.is<row_gone>();
  if (of_engine || (of_row && record.to == self) || (record.is<request_down>() && record.from == self))
    tell_call(record);
}

void request_life::tell_call(const trace_record& record) {
  const json body = json::parse(record.body, nullptr, false);
  const std::string fields = body.is_object() ? plain_fields(body) : "";
  const std::string_view name = message_kinds()[record.kind].name;
  const char* arrow = record.to.kind == actor_kind::engine ? "→ engine" : "";
  tell(record, fmt::format("{}{}{}{}{}{}", arrow, *arrow != 0 ? " " : "", name, fields.empty() ? "" : " (", fields,
                           fields.empty() ? "" : ")"));
}

void request_life::handled(const trace_record& record, const any_message& message, const std::vector<outgoing>&,
                           const replayed_actors& actors) {
  if (record.to.kind != actor_kind::page_registry)
    return;
  if (const auto* told = message.get_if<rows_published>()) {
    for (const row_number& shown : told->shown)
      if (shown.request == id_)
        tell(record, fmt::format("published: version {} of batch {} shows its number {}", told->version,
                                 told->batch.value(), shown.seq));
    if (std::find(told->gone.begin(), told->gone.end(), id_) != told->gone.end())
      tell(record, fmt::format("gone: no version of batch {} shows it any more", told->batch.value()));
  }
  look(record, *actors.registry());
}

/// A block that others own, or that was in the index, was there before; else there was none.
block_moment request_life::before_joining(const block& b) const {
  block_moment then = moment_of(b, b.id, config_);
  std::erase_if(then.owners, [&](const block_moment::owned& o) { return o.request == id_; });
  return then.owners.empty() && !then.in_index ? block_moment{} : then;
}

/// Blocks with the same fate are told of together.
void request_life::look(const trace_record& record, const page_registry& registry) {
  const claim* c = registry.find_claim(id_);
  std::map<std::pair<group_id, std::string>, std::pair<std::vector<block_ordinal>, std::string>> told;
  std::vector<std::pair<group_id, std::string>> order;
  auto note = [&](const place& at, const block_moment& before, const block_moment& after) {
    for (const block_event& event : events_between(before, after)) {
      if (!event.owner.is_none() && event.owner != id_)
        continue; // another's story
      auto [entry, fresh] = told.try_emplace({at.first, event.what});
      if (fresh)
        order.push_back(entry->first);
      entry->second.first.push_back(at.second);
      entry->second.second = event.where;
    }
  };
  for (std::size_t g = 0; c != nullptr && g < c->tables.size(); ++g)
    for (block_ordinal o = 0; o < c->blocks && o < c->tables[g].size(); ++o) {
      const block* held = c->tables[g][o].held;
      known_block& known = blocks_[{group_id{static_cast<std::uint8_t>(g)}, o}];
      if (held != nullptr && (known.record != held || known.before.id != held->id))
        known = {held, before_joining(*held)}; // another block, or the first one, at this place
    }
  for (auto each = blocks_.begin(); each != blocks_.end();) {
    auto& [at, known] = *each;
    if (known.record == nullptr) {
      each = blocks_.erase(each);
      continue;
    }
    const block_id id = known.before.id.is_none() ? known.record->id : known.before.id;
    block_moment now = moment_of(*known.record, id, config_);
    note(at, known.before, now);
    const bool owned = std::any_of(now.owners.begin(), now.owners.end(), [&](auto& o) { return o.request == id_; });
    known.before = std::move(now);
    each = owned ? std::next(each) : blocks_.erase(each);
  }
  for (const auto& key : order) {
    const auto& [ordinals, where] = told.at(key);
    tell(record, fmt::format("  {} {}: {}{}", config_.groups[key.first.value()].name, ranges_of(ordinals), key.second,
                             ordinals.size() == 1 && !where.empty() ? " · " + where : ""));
  }
}

void request_life::tell(const trace_record& record, const std::string& what) {
  lines_.push_back(fmt::format("  #{:<8} step {:<6} {}\n", record.seq, record.step, what));
}

std::string request_life::text() const {
  if (lines_.empty())
    return "";
  std::string text = fmt::format("request {}\n", id_.value());
  for (const std::string& line : lines_)
    text += line;
  return text;
}

} // namespace kvferry
