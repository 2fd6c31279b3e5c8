// Numbers that name different things do not mix: the compiler refuses what neighbours' programs took.
#include <tuple>
#include <type_traits>

#include "kvferry/ids.hpp"
#include "tests/catch.hpp"

namespace kvferry::test {
namespace {

using ids =
    std::tuple<request_id, block_id, group_id, batch_id, row_id, gpu_slot, host_slot, stream_id, move_id, call_id>;

/// How many of the ordered pairs of different ids convert, one way or another, and how many ids convert to or from
/// their number without being asked to.
template <class... Ids>
std::size_t conversions(const std::tuple<Ids...>*) {
  std::size_t found = 0;
  const auto to_others = [&]<class From>(const From*) {
    ((found += !std::is_same_v<From, Ids> && std::is_constructible_v<Ids, From>), ...);
    found += std::is_convertible_v<From, typename From::rep>;
    found += std::is_convertible_v<typename From::rep, From>;
  };
  (to_others(static_cast<const Ids*>(nullptr)), ...);
  return found;
}

/// The same question asked of numbers, which do mix.
struct number {
  using rep = int;
  number(int); // NOLINT
  operator int() const;
};

} // namespace

TEST_CASE("G2: no id converts to another one, nor to or from its number without being asked to") {
  REQUIRE(conversions(static_cast<const ids*>(nullptr)) == 0);
  REQUIRE(conversions(static_cast<const std::tuple<number>*>(nullptr)) == 2);
}

TEST_CASE("G2: a default id names nothing, and is equal to no number that names something") {
  REQUIRE(gpu_slot{}.is_none());
  REQUIRE(gpu_slot{} == gpu_slot::none());
  REQUIRE_FALSE(gpu_slot{0}.is_none());
  REQUIRE(gpu_slot{0} != gpu_slot{});
}

} // namespace kvferry::test
