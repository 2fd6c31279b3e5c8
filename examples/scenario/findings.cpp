// What did not hold, in words: names instead of ids, refusals against those that were wanted.
#include <cctype>

#include <fmt/ranges.h>

#include "examples/scenario/took.hpp"

namespace scenarios {

void world::find(std::string what) { findings_.push_back({step_, step_text_, with_names(std::move(what))}); }

/// Under any_order: a refusal that the engine lives with, once something went wrong on purpose. Before that no order of
/// messages is an excuse.
bool world::done_without(const kvferry::error& why) {
  using code = kvferry::error_code;
  if (!disturbed_ && !killed_)
    return false;
  switch (why.code) {
  case code::gpu_full:
  case code::host_full:
  case code::out_of_memory: return true;
  case code::actor_died: return killed_;
  case code::invalid_argument:
  case code::wrong_status:
  case code::unknown_request:
  case code::must_recompute:
  case code::not_published: return !as_planned();
  default: return false;
  }
}

/// "request 3" as the file calls it.
std::string world::with_names(std::string text) const {
  constexpr std::string_view word = "request ";
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + word.size())) {
    auto end = at + word.size();
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])))
      ++end;
    const std::string digits = text.substr(at + word.size(), end - at - word.size());
    if (digits.empty() || digits.size() > 18)
      continue;
    if (auto named = request_names_.find(std::stoull(digits)); named != request_names_.end())
      text.replace(at + word.size(), digits.size(), fmt::format("\"{}\"", named->second));
  }
  return text;
}

void world::compare(const refusal& wanted, const kvferry::error& got) {
  if (wanted.code != got.code)
    return find(fmt::format("was refused with {} ({}), but should be with {}", to_string(got.code), got.message,
                            to_string(wanted.code)));
  if (wanted.says && got.message.find(*wanted.says) == std::string::npos)
    find(fmt::format("the message is \"{}\", but should say \"{}\"", got.message, *wanted.says));
  const bool numbers = wanted.group || wanted.on || wanted.needed || wanted.free || wanted.in_copy || wanted.fenced ||
                       wanted.unpublished || wanted.held || wanted.batches;
  if (!numbers)
    return;
  if (!got.numbers)
    return find(fmt::format("was refused with {}, but without numbers", to_string(got.code)));
  const kvferry::shortage& n = *got.numbers;
  if (wanted.group && wanted.group->index != n.group.value())
    find(fmt::format("group {} is named as short, but it should be group {}", n.group.value(), wanted.group->index));
  must_be("the tier that is short", wanted.on, std::string{n.on == kvferry::tier::host ? "host" : "gpu"});
  must_be("needed", wanted.needed, n.needed);
  must_be("free", wanted.free, n.free);
  must_be("in_copy", wanted.in_copy, n.in_copy);
  must_be("fenced", wanted.fenced, n.fenced);
  must_be("unpublished", wanted.unpublished, n.unpublished);
  must_be("held", wanted.held, n.held);
  if (wanted.batches) {
    std::set<std::string> is, should;
    for (kvferry::batch_id id : n.batches)
      is.insert(name_of(id));
    for (const batch_name& name : *wanted.batches)
      should.insert(name.text);
    if (is != should)
      find(fmt::format("batches that should publish are {}, but should be {}", is, should));
  }
}

std::string world::name_of(kvferry::request_id id) const {
  auto found = request_names_.find(id.value());
  return found == request_names_.end() ? fmt::format("?{}", id.value()) : found->second;
}

std::string world::name_of(kvferry::batch_id id) const {
  for (const auto& [name, b] : batches_)
    if (b.batch->id() == id)
      return name;
  return fmt::format("?{}", id.value());
}

} // namespace scenarios
