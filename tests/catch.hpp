// The test framework, Catch2 3 or 2: what differs between them is settled here, and tests include nothing else of it.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif

namespace kvferry::test {

#if __has_include(<catch2/catch_all.hpp>)
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;
#else
using Catch::Detail::Approx;

inline auto ContainsSubstring(const std::string& part) { return Catch::Matchers::Contains(part); }

using Catch::Matchers::StartsWith;
#endif

} // namespace kvferry::test
