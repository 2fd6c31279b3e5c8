// Reads structs whose fields are listed (configuration_fields.hpp) from JSON, strictly: an unknown or missing field, a
// wrong type or a number out of range is an error with the field's path, the value found and what would be right.
#pragma once

#include <algorithm>
#include <concepts>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "runtime/configuration_error.hpp"
#include "runtime/configuration_fields.hpp"
#include "runtime/spelling.hpp"
#include "runtime/strict_json.hpp"

namespace kvferry {

/// Takes part in a visit to learn the names.
class field_names {
public:
  void required(std::string_view name, const auto&) { names.push_back(name); }
  void optional(std::string_view name, const auto&) { names.push_back(name); }
  void local(std::string_view name, const auto&) { names.push_back(name); }

  std::vector<std::string_view> names;
};

/// Takes part in a visit of one object's fields. The first error of a whole read is kept; nothing is read after it.
class field_reader {
public:
  /// Reads `value`, at `path` ("" for the whole text), into `out`.
  template <class Struct>
  static void read_object(const nlohmann::json& value, std::string path, Struct& out,
                          std::optional<error>& first_error) {
    field_reader reader{value, std::move(path), first_error};
    if (!value.is_object())
      return reader.refuse(reader.path_.empty() ? std::string{"the text"} : reader.path_, value, "an object");
    // Before the fields are read: a misspelt field says more than the missing one.
    field_names known;
    visit_fields(known, out);
    reader.refuse_unknown(known.names);
    visit_fields(reader, out);
  }

  void required(std::string_view name, auto& out) {
    if (!object_.contains(name) && !first_error_)
      first_error_ = error{error_code::invalid_configuration,
                           fmt::format("{} is missing, but must be {}", field_path(path_, name), right_for(out)),
                           {}};
    optional(name, out);
  }

  void optional(std::string_view name, auto& out) {
    const auto found = object_.find(name);
    if (found != object_.end() && !first_error_)
      read(*found, field_path(path_, name), out);
  }

  void local(std::string_view name, auto& out) { optional(name, out); }

private:
  field_reader(const nlohmann::json& object, std::string path, std::optional<error>& first_error)
      : object_(object), path_(std::move(path)), first_error_(first_error) {}

  /// A value as an error shows it: short, whatever was found.
  static std::string shown(const nlohmann::json& value) {
    constexpr std::size_t characters_max = 60;
    if (value.is_object())
      return "an object";
    if (value.is_array())
      return fmt::format("a list of {}", value.size());
    std::string text = value.dump(-1, ' ', true);
    if (text.size() > characters_max)
      text = text.substr(0, characters_max) + "...";
    return text;
  }

  /// The JSON library has an integer as signed only when it has a minus, and as a float when it does not fit.
  static std::optional<std::uint64_t> natural(const nlohmann::json& value) {
    if (value.is_number_unsigned() || (value.is_number_integer() && value.get<std::int64_t>() >= 0))
      return value.get<std::uint64_t>();
    return std::nullopt;
  }

  void refuse(std::string_view path, const nlohmann::json& found, std::string_view right) {
    if (!first_error_)
      first_error_ = wrong_value(path, shown(found), right).value();
  }

  void refuse_unknown(const std::vector<std::string_view>& known) {
    for (const auto& [name, value] : object_.items())
      if (std::find(known.begin(), known.end(), name) == known.end() && !first_error_)
        first_error_ = error{error_code::invalid_configuration,
                             fmt::format("{} is unknown (found {}), but must be one of {}", field_path(path_, name),
                                         shown(value), fmt::join(known, ", ")),
                             {}};
  }

  template <std::unsigned_integral Number>
  static std::string right_for(const Number&) {
    return fmt::format("an integer from 0 to {}", std::numeric_limits<Number>::max());
  }
  static std::string right_for(const std::string&) { return "a string"; }
  static std::string right_for(const std::filesystem::path&) { return "a string"; }
  static std::string right_for(const std::optional<std::uint32_t>&) {
    return fmt::format("{} or \"{}\"", right_for(std::uint32_t{}), never);
  }
  template <spelled Enum>
  static std::string right_for(const Enum&) {
    return choices<Enum>();
  }
  template <class Struct>
  static std::string right_for(const std::vector<Struct>&) {
    return "a list of objects";
  }

  template <std::unsigned_integral Number>
  void read(const nlohmann::json& value, const std::string& path, Number& out) {
    const auto number = natural(value);
    if (!number || *number > std::numeric_limits<Number>::max())
      return refuse(path, value, right_for(out));
    out = static_cast<Number>(*number);
  }

  void read(const nlohmann::json& value, const std::string& path, std::string& out) {
    if (!value.is_string())
      return refuse(path, value, right_for(out));
    out = value.get<std::string>();
  }

  void read(const nlohmann::json& value, const std::string& path, std::filesystem::path& out) {
    std::string text;
    read(value, path, text);
    out = text;
  }

  void read(const nlohmann::json& value, const std::string& path, std::optional<std::uint32_t>& out) {
    const auto number = natural(value);
    if (value == never)
      out = std::nullopt;
    else if (number && *number <= std::numeric_limits<std::uint32_t>::max())
      out = static_cast<std::uint32_t>(*number);
    else
      refuse(path, value, right_for(out));
  }

  template <spelled Enum>
  void read(const nlohmann::json& value, const std::string& path, Enum& out) {
    const auto found = value.is_string() ? read_word<Enum>(value.get_ref<const std::string&>()) : std::nullopt;
    if (!found)
      return refuse(path, value, choices<Enum>());
    out = *found;
  }

  template <class Struct>
  void read(const nlohmann::json& value, const std::string& path, std::vector<Struct>& out) {
    if (!value.is_array())
      return refuse(path, value, right_for(out));
    out.assign(value.size(), Struct{});
    for (std::size_t i = 0; i < value.size(); ++i)
      read_object(value[i], fmt::format("{}[{}]", path, i), out[i], first_error_);
  }

  const nlohmann::json& object_;
  std::string path_;
  std::optional<error>& first_error_;
};

} // namespace kvferry
