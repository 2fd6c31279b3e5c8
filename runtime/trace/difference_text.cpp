#include "runtime/trace/difference_text.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "messages/json.hpp"
#include "messages/message_kind.hpp"

namespace kvferry {

namespace {

constexpr std::size_t body_shown_max = 160;

std::string shortened(std::string text, std::size_t at_most = body_shown_max) {
  if (text.size() <= at_most)
    return text;
  while (at_most > 0 && (text[at_most] & 0xc0) == 0x80) // not inside of a character
    --at_most;
  return text.substr(0, at_most) + "…";
}

std::string_view name_of(const trace_record& record) { return message_kinds()[record.kind].name; }

/// The first place in which two values part: "changes[2].slot"; and the values there. False: they are equal.
struct parting {
  std::string path;
  json recorded;
  json replayed;
  concerned about; // of the objects on the way, the innermost that names one
};

void note_names(const json& object, concerned& about) {
  auto number = [&](const char* name, auto& id) {
    using id_type = std::remove_reference_t<decltype(id)>;
    if (object.is_object() && object.contains(name) && object[name].is_number_unsigned())
      id = id_type{object[name].template get<std::uint64_t>()};
  };
  number("request", about.request);
  number("block", about.block);
}

bool find_parting(const json& recorded, const json& replayed, parting& found) {
  if (recorded == replayed)
    return false;
  note_names(recorded, found.about);
  if (recorded.is_object() && replayed.is_object()) {
    for (const auto& [name, value] : recorded.items())
      if (!replayed.contains(name) || replayed[name] != value) {
        found.path += (found.path.empty() ? "" : ".") + name;
        return find_parting(value, replayed.contains(name) ? replayed[name] : json{}, found);
      }
  } else if (recorded.is_array() && replayed.is_array()) {
    for (std::size_t i = 0; i < std::min(recorded.size(), replayed.size()); ++i)
      if (recorded[i] != replayed[i]) {
        found.path += fmt::format("[{}]", i);
        return find_parting(recorded[i], replayed[i], found);
      }
    found.path += fmt::format("[{}]", std::min(recorded.size(), replayed.size()));
    found.recorded = recorded.size() > replayed.size() ? recorded[replayed.size()] : json{};
    found.replayed = recorded.size() < replayed.size() ? replayed[recorded.size()] : json{};
    return true;
  }
  found.recorded = recorded;
  found.replayed = replayed;
  return true;
}

/// The first request and block that are named anywhere in it.
void find_names(const json& value, concerned& about) {
  concerned here;
  note_names(value, here);
  if (about.request.is_none())
    about.request = here.request;
  if (about.block.is_none())
    about.block = here.block;
  if (value.is_structured() && value.size() < 4096)
    for (const json& part : value)
      if (part.is_structured())
        find_names(part, about);
}

/// What the record and the handlings before it are about; the nearest counts.
concerned concerns_with_causes(const trace_file& file, const trace_record* record, concerned about) {
  while (record != nullptr && (about.request.is_none() || about.block.is_none())) {
    const concerned here = concerns_of(*record);
    about.request = about.request.is_none() ? here.request : about.request;
    about.block = about.block.is_none() ? here.block : about.block;
    record = record->cause == 0 ? nullptr : &file.at(record->cause);
  }
  return about;
}

std::string named(const concerned& about) {
  std::string text;
  if (!about.request.is_none())
    text += fmt::format("request {}", about.request.value());
  if (!about.block.is_none())
    text += fmt::format("{}block {}", text.empty() ? "" : ", ", about.block.value());
  return text.empty() ? "no request or block by name" : text;
}

std::string causes(const trace_file& file, std::uint64_t handling) {
  std::vector<std::string> chain;
  for (std::uint64_t seq = handling; seq != 0; seq = file.at(seq).cause)
    chain.push_back("    " + summary_of(file.at(seq)) + "\n");
  std::reverse(chain.begin(), chain.end());
  std::string text = "  causes, from the input on\n";
  for (const std::string& each : chain)
    text += each;
  return chain.empty() ? "  it is the actor's making, and has no cause\n" : text;
}

std::string sides(std::string_view recorded, const any_message& replayed, parting& parted) {
  const json left = json::parse(recorded, nullptr, false), right = body_json(replayed);
  if (!find_parting(left, right, parted))
    return "";
  return fmt::format("  recorded  {}\n  replayed  {}\n  they part at {}: recorded {}, replayed {}\n",
                     shortened(std::string{recorded}), shortened(right.dump()),
                     parted.path.empty() ? "the whole" : parted.path, shortened(parted.recorded.dump(), 60),
                     shortened(parted.replayed.dump(), 60));
}

} // namespace

concerned concerns_of(const trace_record& record) {
  concerned about;
  if (const json body = json::parse(record.body, nullptr, false); !body.is_discarded())
    find_names(body, about);
  for (const address& who : {record.to, record.from})
    if (about.request.is_none() && who.kind == actor_kind::request_cache)
      about.request = request_id{who.number};
  return about;
}

std::string summary_of(const trace_record& record) {
  return fmt::format("#{} step {} {} → {} {} {}", record.seq, record.step, to_string(record.from), to_string(record.to),
                     name_of(record), shortened(std::string{record.body}));
}

replay_difference explain(const trace_file& file, const handling_difference& d) {
  using kind = handling_difference::kind;
  parting parted;
  std::string text;
  const trace_record* handling = d.handling == 0 ? nullptr : &file.at(d.handling);
  const std::string actor = to_string(handling != nullptr ? handling->to : address{actor_kind::storage, 0});
  if (handling != nullptr)
    text = fmt::format("different: {}, handling #{} ({})\n", actor, d.handling, name_of(*handling));
  else
    text = fmt::format("different: {}, when it is made\n", actor);
  const char* verb = d.replayed && d.replayed->to.kind == actor_kind::device ? "asks" : "sends";
  switch (d.what) {
  case kind::other:
    if (d.recorded->kind == d.replayed->body.index()) {
      text += fmt::format("  {} {} {} otherwise (record {})\n", verb, to_string(d.recorded->to), name_of(*d.recorded),
                          d.recorded->seq);
      text += sides(d.recorded->body, d.replayed->body, parted);
    } else {
      text += fmt::format("  {} {} something else\n  recorded  #{} {} {}\n  replayed  {}\n", verb,
                          to_string(d.recorded->to), d.recorded->seq, name_of(*d.recorded),
                          shortened(std::string{d.recorded->body}), shortened(to_string(d.replayed->body)));
    }
    break;
  case kind::not_made: text += fmt::format("  recorded  {}\n  replayed  nothing\n", summary_of(*d.recorded)); break;
  case kind::not_recorded:
    text += fmt::format("  recorded  nothing\n  replayed  {} → {} {}\n", actor, to_string(d.replayed->to),
                        shortened(to_string(d.replayed->body)));
    break;
  case kind::not_taken:
    text += fmt::format("  recorded  {}\n  replayed  the actor has ended, or takes no such message\n",
                        summary_of(*d.recorded));
    break;
  }
  concerned about = parted.about;
  if (about.request.is_none() && d.recorded != nullptr && d.recorded->to.kind == actor_kind::request_cache)
    about.request = request_id{d.recorded->to.number};
  if (about.request.is_none() && d.replayed && d.replayed->to.kind == actor_kind::request_cache)
    about.request = request_id{d.replayed->to.number};
  about = concerns_with_causes(file, d.recorded != nullptr ? d.recorded : handling, about);
  text += fmt::format("  concerns {}\n", named(about)) + causes(file, d.handling);
  return {d.handling, about.request, about.block, std::move(text)};
}

std::string explain_damage(const trace_file& file, replayer& replayed) {
  if (!file.damaged() || replayed.difference())
    return "";
  const trace_record& damaged = *file.damaged();
  auto instead = replayed.sent_instead(damaged);
  if (!instead)
    return "";
  parting parted;
  const std::string both = sides(damaged.body, instead->body, parted);
  const std::string head = fmt::format("  {} → {} {} (record {})\n", to_string(damaged.from), to_string(damaged.to),
                                       name_of(damaged), damaged.seq);
  return both.empty()
             ? head + "  its body is what replay sends; something else in the line, or a line before, changed\n"
             : head + both + causes(file, damaged.cause);
}

} // namespace kvferry
