// Host memory of a pool: one range of addresses, registered with the GPU's driver in pieces, since drivers refuse to
// register very much at once. When a piece is refused those before it are given back.
//
// Knows no CUDA: what registers is passed in. Used by device/cuda.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "kvferry/error.hpp"

namespace kvferry {

/// How a piece of memory is registered and given back.
struct page_locking {
  /// Returns why not; empty: it is.
  std::function<std::string(std::byte* piece, std::uint64_t bytes)> lock;
  std::function<void(std::byte* piece)> unlock;
};

/// Owns zeroed host memory. Moved from, it is empty.
class pinned_pool {
public:
  pinned_pool() = default;
  pinned_pool(pinned_pool&&) noexcept = default;
  pinned_pool& operator=(pinned_pool&&) noexcept = default;
  ~pinned_pool() = default;

  /// Nothing is made for 0 bytes. `piece_bytes` is rounded up to whole pages of memory. `what` says whose it is.
  /// Errors: `out_of_memory`, with the bytes and pieces that were asked for and those that were got.
  static expected<pinned_pool> make(std::uint64_t bytes, std::uint64_t piece_bytes, std::string_view what,
                                    page_locking locking);

  std::byte* data() const { return owned_ ? owned_->data : nullptr; }
  std::uint64_t size_bytes() const { return owned_ ? owned_->bytes : 0; }
  std::uint64_t pieces() const { return owned_ ? owned_->locked : 0; }

  /// Bytes from `at` to the end of its piece: no copy engine crosses that. REQUIRES: `at` lies in the pool.
  std::uint64_t bytes_to_piece_end(const std::byte* at) const {
    return owned_->piece_bytes - static_cast<std::uint64_t>(at - owned_->data) % owned_->piece_bytes;
  }

  /// REQUIRES: `at` lies in the pool.
  bool begins_piece(const std::byte* at) const { return bytes_to_piece_end(at) == owned_->piece_bytes; }

private:
  struct mapping {
    std::byte* data = nullptr;
    std::uint64_t bytes = 0;
    std::uint64_t piece_bytes = 0;
    std::uint64_t locked = 0; // pieces
    page_locking locking;

    mapping() = default;
    mapping(const mapping&) = delete;
    mapping& operator=(const mapping&) = delete;
    ~mapping();
  };

  std::unique_ptr<mapping> owned_;
};

} // namespace kvferry
