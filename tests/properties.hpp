// Properties over generated values (rapidcheck), as an expression that a test requires:
//
//   REQUIRE(holds([](std::vector<int> xs) { ... RC_ASSERT(...); }));
//
// rapidcheck's own Catch adapter knows Catch2 2 only.
#pragma once

#include <string>
#include <utility>

#include <rapidcheck.h>

namespace kvferry::test {

/// True when `property` held for every value tried; else the smallest counterexample found was printed.
template <class Property>
bool holds(Property&& property) {
  return rc::check(std::string{}, std::forward<Property>(property));
}

} // namespace kvferry::test
