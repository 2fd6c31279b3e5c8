// Lists a struct's fields once; JSON, printing and the actor library's inspection follow from that list.
//
//     struct row_number {
//       request_id request;
//       row_seq seq = 0;
//       KVFERRY_FIELDS(row_number, request, seq)
//     };
#pragma once

#include <string_view>
#include <tuple>

namespace kvferry {

template <class Struct, class T>
struct field {
  std::string_view name;
  T Struct::*member;
};

template <class Struct, class T>
constexpr field<Struct, T> make_field(std::string_view name, T Struct::*member) {
  return {name, member};
}

/// A struct whose fields are listed.
template <class T>
concept described = requires {
  T::fields();
};

/// Calls `function(name, value)` for each field of `object`, in order.
template <class T, class Function>
requires described<std::remove_const_t<T>>
constexpr void for_each_field(T& object, Function&& function) {
  std::apply([&](const auto&... f) { (function(f.name, object.*(f.member)), ...); }, std::remove_const_t<T>::fields());
}

} // namespace kvferry

#define KVFERRY_FIELDS_PARENS ()
#define KVFERRY_FIELDS_AGAIN() KVFERRY_FIELDS_EACH
#define KVFERRY_FIELDS_EACH(type, first, ...)                                                                          \
  ::kvferry::make_field(#first, &type::first)                                                                          \
      __VA_OPT__(, KVFERRY_FIELDS_AGAIN KVFERRY_FIELDS_PARENS(type, __VA_ARGS__))
#define KVFERRY_FIELDS_SCAN_1(...) __VA_ARGS__
#define KVFERRY_FIELDS_SCAN_2(...) KVFERRY_FIELDS_SCAN_1(KVFERRY_FIELDS_SCAN_1(KVFERRY_FIELDS_SCAN_1(__VA_ARGS__)))
#define KVFERRY_FIELDS_SCAN_3(...) KVFERRY_FIELDS_SCAN_2(KVFERRY_FIELDS_SCAN_2(KVFERRY_FIELDS_SCAN_2(__VA_ARGS__)))
#define KVFERRY_FIELDS_SCAN(...) KVFERRY_FIELDS_SCAN_3(KVFERRY_FIELDS_SCAN_3(__VA_ARGS__))

/// Placed in a struct after its members (at most 18).
#define KVFERRY_FIELDS(type, ...)                                                                                      \
  static constexpr auto fields() {                                                                                     \
    return std::make_tuple(KVFERRY_FIELDS_SCAN(KVFERRY_FIELDS_EACH(type, __VA_ARGS__)));                               \
  }

/// For a message that carries nothing.
#define KVFERRY_NO_FIELDS                                                                                              \
  static constexpr auto fields() { return std::make_tuple(); }
