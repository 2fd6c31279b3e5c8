// JSON of everything that a message can be made of, both ways. A value is reached through the codec of its type, a
// struct through the list of its fields, so that no code is made per message. Included by the JSON sources alone.
#pragma once

#include <charconv>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "messages/json.hpp"

namespace kvferry::json_value {

/// How values of one type are written and read. Reading throws json::exception or std::out_of_range on anything that
/// is no such value, and names the field.
struct codec {
  json (*write)(const void* value);
  void (*print)(const void* value, std::string& out); ///< appends the text that `write` would dump
  void (*read)(const json& from, void* value);
};

struct field_codec {
  std::string_view name;
  std::size_t offset;
  const codec& type;
};

json write_fields(std::span<const field_codec> fields, const void* object);
void print_fields(std::span<const field_codec> fields, const void* object, std::string& out);
void print_text(const std::string& text, std::string& out);

template <class Number>
void print_number(Number number, std::string& out) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

void read_fields(const json& from, std::span<const field_codec> fields, void* object);

/// A word for each value of an enumeration.
using spelling = std::string_view (*)(unsigned value);
unsigned read_word(const json& from, spelling spell);

/// A number that the field holds: nothing is cut to its width.
template <class Number>
Number read_number(const json& from);

template <class T>
const codec& codec_of();

template <class Struct, class T>
field_codec codec_of_field(const Struct& sample, const field<Struct, T>& f) {
  const auto offset = reinterpret_cast<const char*>(&(sample.*f.member)) - reinterpret_cast<const char*>(&sample);
  return {f.name, static_cast<std::size_t>(offset), codec_of<T>()};
}

/// The listed fields of a struct.
template <described T>
std::span<const field_codec> fields_of() {
  static const std::vector<field_codec> fields = std::apply(
      [sample = T{}](const auto&... f) { return std::vector<field_codec>{codec_of_field(sample, f)...}; }, T::fields());
  return fields;
}

template <class T>
json write(const T& value) {
  return codec_of<T>().write(&value);
}

template <class T>
void read(const json& from, T& value) {
  codec_of<T>().read(from, &value);
}

std::string_view word_of(tier where);

/// The codec of one type; further ones are specialised in json_value.cpp.
template <class T>
struct value {
  static json write(const T& value) {
    if constexpr (described<T>)
      return write_fields(fields_of<T>(), &value);
    else if constexpr (std::is_enum_v<T>)
      return spell(static_cast<unsigned>(value));
    else
      return value;
  }

  static void print(const T& value, std::string& out) {
    if constexpr (described<T>)
      print_fields(fields_of<T>(), &value, out);
    else if constexpr (std::is_enum_v<T>)
      out.append(1, '"').append(spell(static_cast<unsigned>(value))).append(1, '"');
    else if constexpr (std::is_same_v<T, bool>)
      out += value ? "true" : "false";
    else if constexpr (std::is_arithmetic_v<T>)
      print_number(value, out);
    else
      print_text(value, out);
  }

  static void read(const json& from, T& value) {
    if constexpr (described<T>)
      read_fields(from, fields_of<T>(), &value);
    else if constexpr (std::is_enum_v<T>)
      value = static_cast<T>(read_word(from, spell));
    else if constexpr (std::is_same_v<T, bool> || !std::is_arithmetic_v<T>)
      value = from.get<T>();
    else
      value = read_number<T>(from);
  }

private:
  static std::string_view spell(unsigned value) {
    if constexpr (std::is_same_v<T, tier>)
      return word_of(static_cast<T>(value));
    else
      return to_string(static_cast<T>(value));
  }
};

template <class Tag, class Rep>
struct value<strong_id<Tag, Rep>> {
  using id = strong_id<Tag, Rep>;
  static json write(const id& value) { return value.is_none() ? json(nullptr) : json(value.value()); }
  static void print(const id& value, std::string& out) {
    if (value.is_none())
      out += "null";
    else
      print_number(value.value(), out);
  }
  static void read(const json& from, id& value) { value = from.is_null() ? id::none() : id{read_number<Rep>(from)}; }
};

template <class T>
struct value<std::optional<T>> {
  static json write(const std::optional<T>& maybe) { return maybe ? json_value::write(*maybe) : json(nullptr); }
  static void print(const std::optional<T>& maybe, std::string& out) {
    if (maybe)
      value<T>::print(*maybe, out);
    else
      out += "null";
  }
  static void read(const json& from, std::optional<T>& maybe) {
    maybe.reset();
    if (!from.is_null())
      json_value::read(from, maybe.emplace());
  }
};

template <class T>
struct value<std::vector<T>> {
  static json write(const std::vector<T>& list) {
    json out = json::array();
    for (const T& item : list)
      out.push_back(json_value::write(item));
    return out;
  }
  static void print(const std::vector<T>& list, std::string& out) {
    out += '[';
    for (const T& item : list) {
      value<T>::print(item, out);
      out += ',';
    }
    if (list.empty())
      out += ']';
    else
      out.back() = ']';
  }
  static void read(const json& from, std::vector<T>& list) {
    list.clear();
    for (const json& item : from)
      json_value::read(item, list.emplace_back());
  }
};

template <>
struct value<fence> {
  static json write(const fence& f);
  static void print(const fence& f, std::string& out);
  static void read(const json& from, fence& f);
};

template <>
struct value<fence_set> {
  static json write(const fence_set& fences);
  static void print(const fence_set& fences, std::string& out);
  static void read(const json& from, fence_set& fences);
};

/// A public struct, which lists no fields for us.
template <>
struct value<shortage> {
  static json write(const shortage& s);
  static void print(const shortage& s, std::string& out);
  static void read(const json& from, shortage& s);
};

template <class T>
const codec& codec_of() {
  static constexpr codec made{[](const void* v) { return value<T>::write(*static_cast<const T*>(v)); },
                              [](const void* v, std::string& out) { value<T>::print(*static_cast<const T*>(v), out); },
                              [](const json& from, void* v) { value<T>::read(from, *static_cast<T*>(v)); }};
  return made;
}

} // namespace kvferry::json_value
