// How host memory is registered in pieces; the driver is a stand-in.
#include "device/cuda/pinned_pool.hpp"

#include <map>

#include "tests/catch.hpp"

namespace kvferry::test {

namespace {

struct driver {
  std::map<std::byte*, std::uint64_t> locked;
  std::size_t refuse_from = ~std::size_t{0};

  page_locking locking() {
    return {[this](std::byte* piece, std::uint64_t bytes) {
              if (locked.size() >= refuse_from)
                return std::string("the driver has had enough");
              locked[piece] = bytes;
              return std::string();
            },
            [this](std::byte* piece) { locked.erase(piece); }};
  }
};

} // namespace

TEST_CASE("host memory is registered in pieces that cover it, and given back with it") {
  driver gpu;
  {
    auto pool = pinned_pool::make(10 * 4096 + 5, 4 * 4096, "pool", gpu.locking()).value();
    REQUIRE(pool.pieces() == 3);
    std::byte* next = pool.data();
    for (auto [piece, bytes] : gpu.locked) {
      REQUIRE(piece == next);
      next += bytes;
    }
    REQUIRE(next == pool.data() + 10 * 4096 + 5);
    REQUIRE(pool.bytes_to_piece_end(pool.data() + 4 * 4096 - 1) == 1);
    REQUIRE(pool.begins_piece(pool.data() + 4 * 4096));
    REQUIRE_FALSE(pool.begins_piece(pool.data() + 4 * 4096 + 1));
    pinned_pool moved = std::move(pool);
    REQUIRE(gpu.locked.size() == 3);
  }
  REQUIRE(gpu.locked.empty());
}

TEST_CASE("when a piece is refused the error tells what was asked and got, and all of it is given back") {
  driver gpu;
  gpu.refuse_from = 2;
  auto pool = pinned_pool::make(4 * 8192, 8192, "host memory of groups[0]", gpu.locking());
  REQUIRE(pool.error().code == error_code::out_of_memory);
  REQUIRE(pool.error().message ==
          "host memory of groups[0]: 32768 bytes in 4 pieces were to be pinned, 16384 bytes in 2 "
          "pieces were got, and are given back; the driver has had enough");
  REQUIRE(gpu.locked.empty());
}

TEST_CASE("no memory is no piece") {
  driver gpu;
  auto pool = pinned_pool::make(0, 4096, "pool", gpu.locking()).value();
  REQUIRE(pool.data() == nullptr);
  REQUIRE(pool.pieces() == 0);
}

TEST_CASE("pieces are whole pages of memory, however small they are asked to be") {
  driver gpu;
  auto pool = pinned_pool::make(8192, 1, "pool", gpu.locking()).value();
  REQUIRE(pool.pieces() == 2);
  REQUIRE(pool.data()[8191] == std::byte{0});
}

} // namespace kvferry::test
