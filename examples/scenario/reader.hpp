// Reads the structs of a scenario from JSON, strictly: an unknown or missing field, a wrong type, a number out of range
// or a name that nothing brings about is an error with the field's path, the value found and what would be right.
// Included by parse.cpp only.
#pragma once

#include <algorithm>
#include <concepts>
#include <initializer_list>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "examples/scenario/scenario.hpp"

namespace scenarios {

/// What is known while a file is read, from its front: the names that steps so far have brought about.
struct known_names {
  std::vector<std::string> groups;
  std::set<std::string> requests;
  std::set<std::string> batches{standard_batch};
  std::set<std::string> places;
  std::set<std::string> streams{standard_stream, "copies to host", "copies to gpu"}; ///< that something runs on
};

/// The first error of a whole read is kept; nothing is read after it.
struct read_state {
  known_names& known;
  std::optional<std::string> wrong;

  void refuse(const std::string& path, const nlohmann::json& found, const std::string& right);
  void refuse_missing(const std::string& path, const std::string& right);
};

/// What a value may be, in words.
template <class T>
std::string right_for(const T*) {
  return "an object";
}
inline std::string right_for(const std::string*) { return "a string"; }
inline std::string right_for(const bool*) { return "true or false"; }
inline std::string right_for(const request_name*) { return "a request's name"; }
inline std::string right_for(const batch_name*) { return "a batch's name"; }
inline std::string right_for(const stream_name*) { return "a stream's name"; }
inline std::string right_for(const place_name*) { return "a name"; }
inline std::string right_for(const group_ref*) { return "a group's name"; }
inline std::string right_for(const owned_block*) { return "[request, ordinal]"; }
inline std::string right_for(const block_or_place*) { return "[request, ordinal] or the name of a remembered place"; }
inline std::string right_for(const token_run*) { return "[first token, count]"; }
inline std::string right_for(const place*) { return "\"gpu\", \"host\", \"loading\" or \"none\""; }
inline std::string right_for(const kvferry::error_code*) { return "the name of an error code"; }
template <std::unsigned_integral T>
requires(!std::same_as<T, bool>) std::string right_for(const T*) {
  return fmt::format("an integer from 0 to {}", std::numeric_limits<T>::max());
}
template <class T>
std::string right_for(const std::vector<T>*) {
  return fmt::format("a list, each {}", right_for(static_cast<const T*>(nullptr)));
}
template <class T>
std::string right_for(const std::optional<T>*) {
  return right_for(static_cast<const T*>(nullptr));
}

// Each reads one value. Those that are no templates stand in reader.cpp.
void read(read_state& state, const nlohmann::json& value, const std::string& path, std::string& out);
void read(read_state& state, const nlohmann::json& value, const std::string& path, bool& out);
void read(read_state& state, const nlohmann::json& value, const std::string& path, std::uint32_t& out);
void read(read_state& state, const nlohmann::json& value, const std::string& path, std::uint64_t& out);
void read(read_state& state, const nlohmann::json& value, const std::string& path, request_name& out);
void read(read_state& state, const nlohmann::json& value, const std::string& path, batch_name& out);
void read(read_state& state, const nlohmann::json& value, const std::string& path, stream_name& out);
void read(read_state& state, const nlohmann::json& value, const std::string& path, place_name& out);
void read(read_state& state, const nlohmann::json& value, const std::string& path, group_ref& out);
void read(read_state& state, const nlohmann::json& value, const std::string& path, owned_block& out);
void read(read_state& state, const nlohmann::json& value, const std::string& path, block_or_place& out);
void read(read_state& state, const nlohmann::json& value, const std::string& path, token_run& out);
void read(read_state& state, const nlohmann::json& value, const std::string& path, place& out);
void read(read_state& state, const nlohmann::json& value, const std::string& path, kvferry::error_code& out);
template <class T>
void read(read_state& state, const nlohmann::json& value, const std::string& path, std::optional<T>& out);
template <class T>
void read(read_state& state, const nlohmann::json& value, const std::string& path, std::vector<T>& out);
template <class Struct>
requires std::is_class_v<Struct>
void read(read_state& state, const nlohmann::json& value, const std::string& path, Struct& out);

std::string path_of(const std::string& object, std::string_view field);

/// Takes part in a visit to learn the names.
struct field_names {
  void required(std::string_view name, const auto&) { names.push_back(name); }
  void optional(std::string_view name, const auto&) { names.push_back(name); }
  void one_of(std::string_view name, const auto&, std::initializer_list<std::string_view>) { names.push_back(name); }

  void exactly_one(std::initializer_list<std::string_view>) {}

  std::vector<std::string_view> names;
};

/// Takes part in a visit of one object's fields.
class field_reader {
public:
  field_reader(read_state& state, const nlohmann::json& object, std::string path)
      : state_(state), object_(object), path_(std::move(path)) {}

  template <class T>
  void required(std::string_view name, T& out) {
    if (!object_.contains(name))
      state_.refuse_missing(path_of(path_, name), right_for(&out));
    optional(name, out);
  }

  template <class T>
  void optional(std::string_view name, T& out) {
    if (auto found = object_.find(name); found != object_.end() && !state_.wrong)
      read(state_, *found, path_of(path_, name), out);
  }

  /// One of a few words; required unless `out` is an optional or a list.
  void one_of(std::string_view name, std::string& out, std::initializer_list<std::string_view> words) {
    required(name, out);
    require_word(name, out, words);
  }

  void one_of(std::string_view name, std::optional<std::string>& out, std::initializer_list<std::string_view> words) {
    optional(name, out);
    if (out)
      require_word(name, *out, words);
  }

  void one_of(std::string_view name, std::vector<std::string>& out, std::initializer_list<std::string_view> words) {
    optional(name, out);
    for (std::size_t i = 0; i < out.size(); ++i)
      require_word(fmt::format("{}[{}]", name, i), out[i], words);
  }

  /// Of these fields.
  void exactly_one(std::initializer_list<std::string_view> names) {
    const auto found = std::count_if(names.begin(), names.end(), [&](auto name) { return object_.contains(name); });
    if (found != 1 && !state_.wrong)
      state_.wrong = fmt::format("{} names {}, but must name one of {}", path_, found, fmt::join(names, ", "));
  }

private:
  void require_word(std::string_view name, const std::string& found, std::initializer_list<std::string_view> words) {
    if (!state_.wrong && std::find(words.begin(), words.end(), found) == words.end())
      state_.refuse(path_of(path_, name), found, fmt::format("one of {}", fmt::join(words, ", ")));
  }

  read_state& state_;
  const nlohmann::json& object_;
  std::string path_;
};

/// Refuses what is no object, and fields that are not in `names`: a misspelt field says more than the missing one.
bool is_object_of(read_state& state, const nlohmann::json& value, const std::string& path,
                  const std::vector<std::string_view>& names);

template <class Struct>
requires std::is_class_v<Struct>
void read(read_state& state, const nlohmann::json& value, const std::string& path, Struct& out) {
  field_names known;
  visit_fields(known, out);
  if (!is_object_of(state, value, path, known.names))
    return;
  field_reader reader{state, value, path};
  visit_fields(reader, out);
}

template <class T>
void read(read_state& state, const nlohmann::json& value, const std::string& path, std::optional<T>& out) {
  read(state, value, path, out.emplace());
}

template <class T>
void read(read_state& state, const nlohmann::json& value, const std::string& path, std::vector<T>& out) {
  if (!value.is_array())
    return state.refuse(path, value, right_for(&out));
  out.assign(value.size(), T{});
  for (std::size_t i = 0; i < value.size() && !state.wrong; ++i)
    read(state, value[i], fmt::format("{}[{}]", path, i), out[i]);
}

} // namespace scenarios
