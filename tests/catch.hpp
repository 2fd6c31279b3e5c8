// The test framework, Catch2 3 or 2: what differs between them is settled here, and tests include nothing else of it.
// KVFERRY_CATCH2_MAJOR is of the version that is linked; headers of the other may be there, too.
#pragma once

#if KVFERRY_CATCH2_MAJOR >= 3
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif

namespace kvferry::test {

#if KVFERRY_CATCH2_MAJOR >= 3
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;
#else
using Catch::Detail::Approx;

inline auto ContainsSubstring(const std::string& part) { return Catch::Matchers::Contains(part); }

using Catch::Matchers::StartsWith;
#endif

} // namespace kvferry::test
