// The words of the configuration's enumerations, listed once: printing, reading and the list of choices follow.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "kvferry/configuration.hpp"

namespace kvferry {

template <class Enum>
struct word {
  Enum value;
  std::string_view text;
};

// clang before 17 deduces no aggregates.
template <class Enum>
word(Enum, std::string_view) -> word<Enum>;

template <class Enum>
inline constexpr std::array<word<Enum>, 0> words_of{};

template <>
inline constexpr std::array words_of<group_kind>{word{group_kind::sparse, "sparse"}, word{group_kind::dense, "dense"}};

template <>
inline constexpr std::array words_of<scheduler_kind>{word{scheduler_kind::stepped, "stepped"},
                                                     word{scheduler_kind::threaded, "threaded"}};

template <>
inline constexpr std::array words_of<delivery_order>{word{delivery_order::fifo, "fifo"},
                                                     word{delivery_order::random, "random"}};

template <>
inline constexpr std::array words_of<host_full_policy>{word{host_full_policy::refuse, "refuse"},
                                                       word{host_full_policy::defer, "defer"}};

template <>
inline constexpr std::array words_of<host_hit_policy>{word{host_hit_policy::load, "load"},
                                                      word{host_hit_policy::recompute, "recompute"}};

/// The word for no value of an optional number.
inline constexpr std::string_view never = "never";

/// An enumeration whose words are listed here.
template <class Enum>
concept spelled = !words_of<Enum>.empty();

/// The value's word; "?" for a number that is no enumerator.
template <spelled Enum>
constexpr std::string_view spell(Enum value) {
  for (const auto& w : words_of<Enum>)
    if (w.value == value)
      return w.text;
  return "?";
}

template <spelled Enum>
constexpr std::optional<Enum> read_word(std::string_view text) {
  for (const auto& w : words_of<Enum>)
    if (w.text == text)
      return w.value;
  return std::nullopt;
}

/// "sparse or dense", for errors.
template <spelled Enum>
std::string choices() {
  std::string list;
  for (const auto& w : words_of<Enum>)
    list += fmt::format("{}\"{}\"", list.empty() ? "" : " or ", w.text);
  return list;
}

} // namespace kvferry
