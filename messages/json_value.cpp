#include "messages/json_value.hpp"

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace kvferry::json_value {

json write_fields(std::span<const field_codec> fields, const void* object) {
  json out = json::object();
  for (const field_codec& f : fields)
    out[std::string{f.name}] = f.type.write(static_cast<const char*>(object) + f.offset);
  return out;
}

void print_fields(std::span<const field_codec> fields, const void* object, std::string& out) {
  char before = '{';
  for (const field_codec& f : fields) {
    out.append(1, std::exchange(before, ',')).append(1, '"').append(f.name).append("\":");
    f.type.print(static_cast<const char*>(object) + f.offset, out);
  }
  out += fields.empty() ? "{}" : "}";
}

/// What is no UTF-8 is replaced, so that every line of a trace is JSON.
void print_text(const std::string& text, std::string& out) {
  out += json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

void read_fields(const json& from, std::span<const field_codec> fields, void* object) {
  for (const field_codec& f : fields)
    try {
      f.type.read(from.at(std::string{f.name}), static_cast<char*>(object) + f.offset);
    } catch (const std::exception& wrong) {
      throw std::out_of_range{std::string{f.name} + ": " + wrong.what()};
    }
}

unsigned read_word(const json& from, spelling spell) {
  const auto word = from.get<std::string>();
  for (unsigned candidate = 0; candidate < 256 && word != "?"; ++candidate) // "?" is what unnamed values print as
    if (spell(candidate) == word)
      return candidate;
  throw std::out_of_range{"no such word: " + word};
}

template <class Number>
Number read_number(const json& from) {
  const bool fits = from.is_number_unsigned()
                        ? std::in_range<Number>(from.get<std::uint64_t>())
                        : from.is_number_integer() && std::in_range<Number>(from.get<std::int64_t>());
  if (!fits)
    throw std::out_of_range{from.dump() + " is no number from " + std::to_string(std::numeric_limits<Number>::min()) +
                            " to " + std::to_string(std::numeric_limits<Number>::max())};
  return from.get<Number>();
}

template std::uint8_t read_number(const json& from);
template std::uint16_t read_number(const json& from);
template std::uint32_t read_number(const json& from);
template std::uint64_t read_number(const json& from);
template std::int32_t read_number(const json& from);

std::string_view word_of(tier where) {
  switch (where) {
  case tier::gpu: return "gpu";
  case tier::host: return "host";
  case tier::none: return "none";
  }
  return "?";
}

json value<fence>::write(const fence& f) { return json::array({json_value::write(f.stream), f.sequence}); }

void value<fence>::print(const fence& f, std::string& out) {
  out += '[';
  value<stream_id>::print(f.stream, out);
  out += ',';
  print_number(f.sequence, out);
  out += ']';
}

void value<fence>::read(const json& from, fence& f) {
  json_value::read(from.at(0), f.stream);
  json_value::read(from.at(1), f.sequence);
}

json value<fence_set>::write(const fence_set& fences) {
  json list = json::array();
  fences.for_each([&](fence f) { list.push_back(json_value::write(f)); });
  return list;
}

void value<fence_set>::print(const fence_set& fences, std::string& out) {
  out += '[';
  const std::size_t begin = out.size();
  fences.for_each([&](fence f) {
    if (out.size() > begin)
      out += ',';
    value<fence>::print(f, out);
  });
  out += ']';
}

void value<fence_set>::read(const json& from, fence_set& fences) {
  fences = {};
  for (const json& each : from) {
    fence f;
    json_value::read(each, f);
    fences.add(f);
  }
}

json value<shortage>::write(const shortage& s) {
  return {{"group", json_value::write(s.group)},
          {"on", json_value::write(s.on)},
          {"needed", s.needed},
          {"free", s.free},
          {"in_copy", s.in_copy},
          {"fenced", s.fenced},
          {"unpublished", s.unpublished},
          {"held", s.held},
          {"batches", json_value::write(s.batches)}};
}

void value<shortage>::print(const shortage& s, std::string& out) { out += write(s).dump(); }

void value<shortage>::read(const json& from, shortage& s) {
  json_value::read(from.at("group"), s.group);
  json_value::read(from.at("on"), s.on);
  json_value::read(from.at("needed"), s.needed);
  json_value::read(from.at("free"), s.free);
  json_value::read(from.at("in_copy"), s.in_copy);
  json_value::read(from.at("fenced"), s.fenced);
  json_value::read(from.at("unpublished"), s.unpublished);
  json_value::read(from.at("held"), s.held);
  json_value::read(from.at("batches"), s.batches);
}

} // namespace kvferry::json_value
