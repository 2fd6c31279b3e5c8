// Messages as bytes for a log that the same process reads again: values as they lie in memory, lists behind their
// length. Nothing is turned or packed, so that a list costs a copy of its bytes and little more. What leaves the
// process is JSON (messages/json.hpp).
//
// A type is known here through the list of its fields. Included by messages/json.cpp alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "messages/parts.hpp"

namespace kvferry::compact {

/// Copied as it lies in memory.
template <class T>
concept flat = std::is_trivially_copyable_v<T>;

using length = std::uint32_t;

inline std::byte* put(std::byte* to, const void* from, std::size_t bytes) {
  if (bytes > 0) // an empty list has no memory
    std::memcpy(to, from, bytes);
  return to + bytes;
}

inline const std::byte* get(const std::byte* from, void* to, std::size_t bytes) {
  if (bytes > 0)
    std::memcpy(to, from, bytes);
  return from + bytes;
}

/// How values of one type are written and read. `write` and `read` return where the next value is.
template <class T>
struct value {
  static std::size_t size(const T& v) {
    if constexpr (flat<T>) {
      return sizeof(T);
    } else {
      std::size_t bytes = 0;
      for_each_field(v, [&]<class F>(std::string_view, const F& member) { bytes += value<F>::size(member); });
      return bytes;
    }
  }

  static std::byte* write(const T& v, std::byte* to) {
    if constexpr (flat<T>)
      return put(to, &v, sizeof(T));
    else
      for_each_field(v, [&]<class F>(std::string_view, const F& member) { to = value<F>::write(member, to); });
    return to;
  }

  static const std::byte* read(const std::byte* from, T& v) {
    if constexpr (flat<T>)
      return get(from, &v, sizeof(T));
    else
      for_each_field(v, [&]<class F>(std::string_view, F& member) { from = value<F>::read(from, member); });
    return from;
  }
};

/// Text, or a list.
template <class List>
struct list_value {
  using item = typename List::value_type;

  static std::size_t size(const List& list) {
    if constexpr (flat<item>)
      return sizeof(length) + list.size() * sizeof(item);
    std::size_t bytes = sizeof(length);
    for (const item& each : list)
      bytes += value<item>::size(each);
    return bytes;
  }

  static std::byte* write(const List& list, std::byte* to) {
    const auto count = static_cast<length>(list.size());
    to = put(to, &count, sizeof count);
    if constexpr (flat<item>)
      return put(to, list.data(), list.size() * sizeof(item));
    for (const item& each : list)
      to = value<item>::write(each, to);
    return to;
  }

  static const std::byte* read(const std::byte* from, List& list) {
    length count = 0;
    from = get(from, &count, sizeof count);
    list.resize(count);
    if constexpr (flat<item>)
      return get(from, list.data(), count * sizeof(item));
    for (item& each : list)
      from = value<item>::read(from, each);
    return from;
  }
};

template <class T>
struct value<std::vector<T>> : list_value<std::vector<T>> {};

template <>
struct value<std::string> : list_value<std::string> {};

template <class T>
requires(!flat<std::optional<T>>) struct value<std::optional<T>> {
  static std::size_t size(const std::optional<T>& maybe) { return sizeof(bool) + (maybe ? value<T>::size(*maybe) : 0); }

  static std::byte* write(const std::optional<T>& maybe, std::byte* to) {
    const bool there = maybe.has_value();
    to = put(to, &there, sizeof there);
    return there ? value<T>::write(*maybe, to) : to;
  }

  static const std::byte* read(const std::byte* from, std::optional<T>& maybe) {
    bool there = false;
    from = get(from, &there, sizeof there);
    if (!there) {
      maybe.reset();
      return from;
    }
    return value<T>::read(from, maybe.emplace());
  }
};

template <>
struct value<fence_set> {
  static std::size_t size(const fence_set& fences) { return sizeof(length) + count(fences) * sizeof(fence); }

  static std::byte* write(const fence_set& fences, std::byte* to) {
    const length many = count(fences);
    to = put(to, &many, sizeof many);
    fences.for_each([&](const fence& f) { to = put(to, &f, sizeof f); });
    return to;
  }

  static const std::byte* read(const std::byte* from, fence_set& fences) {
    length many = 0;
    from = get(from, &many, sizeof many);
    fences = {};
    for (length i = 0; i < many; ++i) {
      fence f;
      from = get(from, &f, sizeof f);
      fences.add(f);
    }
    return from;
  }

private:
  static length count(const fence_set& fences) {
    length many = 0;
    fences.for_each([&](const fence&) { ++many; });
    return many;
  }
};

/// A public struct, which lists no fields for us.
template <>
struct value<shortage> {
  static std::size_t size(const shortage& s) {
    return sizeof s.group + sizeof s.on + 6 * sizeof s.needed + value<std::vector<batch_id>>::size(s.batches);
  }

  static std::byte* write(const shortage& s, std::byte* to) {
    to = put(to, &s.group, sizeof s.group);
    to = put(to, &s.on, sizeof s.on);
    for (const std::uint32_t* count : {&s.needed, &s.free, &s.in_copy, &s.fenced, &s.unpublished, &s.held})
      to = put(to, count, sizeof *count);
    return value<std::vector<batch_id>>::write(s.batches, to);
  }

  static const std::byte* read(const std::byte* from, shortage& s) {
    from = get(from, &s.group, sizeof s.group);
    from = get(from, &s.on, sizeof s.on);
    for (std::uint32_t* count : {&s.needed, &s.free, &s.in_copy, &s.fenced, &s.unpublished, &s.held})
      from = get(from, count, sizeof *count);
    return value<std::vector<batch_id>>::read(from, s.batches);
  }
};

/// The bytes that `v` takes at `to`; when there is not so much room nothing is written.
template <class T>
std::size_t write(const T& v, std::byte* to, std::size_t room) {
  const std::size_t bytes = value<T>::size(v);
  if (bytes <= room)
    value<T>::write(v, to);
  return bytes;
}

} // namespace kvferry::compact
