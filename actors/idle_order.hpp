// Idle pages of one pool in the order in which they are taken: least recently used first. Requests let go of their
// blocks from the last to the first, so children stand before their parents.
//
// Intrusive: a block is in at most one list per tier. Part of the page registry's state.
#pragma once

#include <cstdint>

#include "actors/block.hpp"
#include "kvferry/contract.hpp"

namespace kvferry {

class idle_list {
public:
  /// `link` is the member of block that this list uses.
  explicit idle_list(idle_link block::*link) : link_(link) {}

  std::uint32_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  block* front() const { return front_; }
  block* after(const block& b) const { return (b.*link_).next; }

  /// Inserts by `idle_since`. Most blocks come last, or next to the one inserted before them.
  void insert(block& b) {
    idle_link& here = b.*link_;
    KVFERRY_REQUIRE(here.in == nullptr, "block {} is in an idle list already", b.id.value());
    block* before = back_;
    if (before != nullptr && before->idle_since > b.idle_since && latest_ != nullptr)
      before = latest_;
    while (before != nullptr && before->idle_since > b.idle_since)
      before = (before->*link_).previous;
    while (before != nullptr && (before->*link_).next != nullptr && (before->*link_).next->idle_since <= b.idle_since)
      before = (before->*link_).next;
    here = {before, before == nullptr ? front_ : (before->*link_).next, this};
    (before == nullptr ? front_ : (before->*link_).next) = &b;
    (here.next == nullptr ? back_ : (here.next->*link_).previous) = &b;
    latest_ = &b;
    ++size_;
  }

  void remove(block& b) {
    idle_link& here = b.*link_;
    KVFERRY_REQUIRE(here.in == this, "block {} is not in the idle list", b.id.value());
    if (latest_ == &b)
      latest_ = here.previous != nullptr ? here.previous : here.next;
    (here.previous == nullptr ? front_ : (here.previous->*link_).next) = here.next;
    (here.next == nullptr ? back_ : (here.next->*link_).previous) = here.previous;
    here = {};
    --size_;
  }

private:
  idle_link block::*link_;
  block* front_ = nullptr;
  block* back_ = nullptr;
  block* latest_ = nullptr; // where the last one was inserted, while it is there
  std::uint32_t size_ = 0;
};

/// The idle pages of one group that are in no copy.
struct idle_pages {
  idle_list gpu_clean{&block::on_gpu_list}; ///< the host page is there too: taken first
  idle_list gpu_only{&block::on_gpu_list};  ///< demoted or dropped
  idle_list gpu_named{&block::on_gpu_list}; ///< a published row may still name the page: cannot be taken
  idle_list host{&block::on_host_list};
  idle_list host_named{&block::on_host_list};

  std::uint32_t gpu_available() const { return gpu_clean.size() + gpu_only.size(); }

  bool gives_gpu(const block& b) const { return b.on_gpu_list.in == &gpu_clean || b.on_gpu_list.in == &gpu_only; }
  void count_kept(const block& b, std::uint32_t& taken, std::uint32_t& named) const {
    taken += gives_gpu(b) ? 1u : 0u;
    named += b.on_gpu_list.in == &gpu_named ? 1u : 0u;
  }
  bool gives_host(const block& b) const { return b.on_host_list.in == &host; }

  void remove(block& b) {
    if (b.on_gpu_list.in != nullptr)
      b.on_gpu_list.in->remove(b);
    if (b.on_host_list.in != nullptr)
      b.on_host_list.in->remove(b);
  }
};

} // namespace kvferry
