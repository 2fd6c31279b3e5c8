// JSON of everything that a message can be made of, both ways. Included by the JSON sources alone.
#pragma once

#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "messages/json.hpp"

namespace kvferry::json_value {

inline std::string_view word_of(tier where) {
  switch (where) {
  case tier::gpu: return "gpu";
  case tier::host: return "host";
  case tier::none: return "none";
  }
  return "?";
}

template <class Enum>
std::string_view word_of(Enum word) {
  return to_string(word);
}

// -- writing
// -------------------------------------------------------------------------------------------------------------

template <class T>
json write(const T& value);

template <class Tag, class Rep>
json write(const strong_id<Tag, Rep>& id) {
  return id.is_none() ? json(nullptr) : json(id.value());
}

inline json write(const fence& f) { return json::array({write(f.stream), f.sequence}); }

inline json write(const fence_set& fences) {
  json list = json::array();
  fences.for_each([&](fence f) { list.push_back(write(f)); });
  return list;
}

inline json write(const shortage& s) {
  return json{{"group", write(s.group)}, {"on", write(s.on)},  {"needed", s.needed},           {"free", s.free},
              {"in_copy", s.in_copy},    {"fenced", s.fenced}, {"unpublished", s.unpublished}, {"held", s.held}};
}

template <class T>
json write(const std::optional<T>& maybe) {
  return maybe ? write(*maybe) : json(nullptr);
}

template <class T>
json write(const std::vector<T>& list) {
  json out = json::array();
  for (const T& item : list)
    out.push_back(write(item));
  return out;
}

template <class T>
json write(const T& value) {
  if constexpr (described<T>) {
    json out = json::object();
    for_each_field(value, [&](std::string_view name, const auto& member) { out[std::string{name}] = write(member); });
    return out;
  } else if constexpr (std::is_enum_v<T>) {
    return std::string{word_of(value)};
  } else {
    return value;
  }
}

// -- reading: throws json::exception or std::out_of_range on anything that is not such a value
// -----------------------------

template <class T>
void read(const json& from, T& value);

/// A number that fits the field: nothing is cut to its width.
template <class Number>
Number read_number(const json& from) {
  if constexpr (std::is_same_v<Number, bool>) {
    return from.get<bool>();
  } else if constexpr (std::is_floating_point_v<Number>) {
    return from.get<Number>();
  } else {
    const bool fits = from.is_number_unsigned()
                          ? std::in_range<Number>(from.get<std::uint64_t>())
                          : from.is_number_integer() && std::in_range<Number>(from.get<std::int64_t>());
    if (!fits)
      throw std::out_of_range{from.dump() + " is no number from " + std::to_string(std::numeric_limits<Number>::min()) +
                              " to " + std::to_string(std::numeric_limits<Number>::max())};
    return from.get<Number>();
  }
}

template <class Tag, class Rep>
void read(const json& from, strong_id<Tag, Rep>& id) {
  id = from.is_null() ? strong_id<Tag, Rep>::none() : strong_id<Tag, Rep>{read_number<Rep>(from)};
}

inline void read(const json& from, fence& f) {
  read(from.at(0), f.stream);
  f.sequence = read_number<std::uint64_t>(from.at(1));
}

inline void read(const json& from, fence_set& fences) {
  fences = {};
  for (const json& each : from) {
    fence f;
    read(each, f);
    fences.add(f);
  }
}

inline void read(const json& from, shortage& s) {
  read(from.at("group"), s.group);
  read(from.at("on"), s.on);
  read(from.at("needed"), s.needed);
  read(from.at("free"), s.free);
  read(from.at("in_copy"), s.in_copy);
  read(from.at("fenced"), s.fenced);
  read(from.at("unpublished"), s.unpublished);
  read(from.at("held"), s.held);
}

template <class T>
void read(const json& from, std::optional<T>& maybe) {
  maybe.reset();
  if (!from.is_null())
    read(from, maybe.emplace());
}

template <class T>
void read(const json& from, std::vector<T>& list) {
  list.clear();
  for (const json& item : from)
    read(item, list.emplace_back());
}

template <class T>
void read(const json& from, T& value) {
  if constexpr (described<T>) {
    for_each_field(value, [&](std::string_view name, auto& member) {
      try {
        read(from.at(std::string{name}), member);
      } catch (const std::exception& wrong) {
        throw std::out_of_range{std::string{name} + ": " + wrong.what()};
      }
    });
  } else if constexpr (std::is_enum_v<T>) {
    const auto word = from.get<std::string>();
    for (unsigned candidate = 0; candidate < 256 && word != "?"; ++candidate) // "?" is what unnamed values print as
      if (word_of(static_cast<T>(candidate)) == word) {
        value = static_cast<T>(candidate);
        return;
      }
    throw std::out_of_range{"no such word: " + word};
  } else if constexpr (std::is_arithmetic_v<T>) {
    value = read_number<T>(from);
  } else {
    value = from.get<T>();
  }
}

} // namespace kvferry::json_value
