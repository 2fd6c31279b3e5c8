// Picks how a list of page copies goes: by a kernel over mapped memory, by the copy engine fragment by fragment, or
// through a buffer on the GPU, between which and a run of consecutive host slots the copy engine goes at the link's
// speed. It estimates each way's time from measured costs and takes the shortest; a list whose long runs are worth the
// buffer and whose rest is not goes two ways. Beside a kernel the copy engine takes a share of large pages: a kernel
// alone does not fill the link, and entries of the copy engine's list cost the caller time.
//
// A plain class without CUDA, used by the CUDA device. It knows numbers of slots, no addresses.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "device/device.hpp"
#include "kvferry/cuda_device.hpp"

namespace kvferry {

/// What counts of a group's pages.
struct page_shape {
  std::uint64_t page_bytes = 0;
  std::uint32_t fragments = 1; ///< of a page, one for each buffer
  bool dense = false;          ///< one buffer without gaps: consecutive slots are consecutive bytes on the GPU, too
};

/// One page of a list, and its position there.
struct planned_page {
  std::uint32_t gpu = 0;
  std::uint32_t host = 0;
  std::uint32_t position = 0;
};

/// Pages [first, first + count) of a plan that go one way together.
struct copy_piece {
  copy_way way = copy_way::kernel;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  bool beside = false; ///< the copy engine's share beside the kernel's piece before
};

struct copy_plan {
  std::vector<planned_page> pages; ///< all of the list; by host slot where that makes runs
  std::vector<copy_piece> pieces;  ///< cover them, in the order in which they are submitted
  double estimated_us = 0.0;
};

/// A long list is planned part by part, so that the first is under way while the others are looked at: how many of the
/// list's pages stand before and behind the part.
struct part_of_list {
  std::uint64_t before = 0;
  std::uint64_t behind = 0;
  bool both = false; ///< the other direction is copied at the same time
};

struct copy_limits {
  std::uint32_t part_pages_first = 128; ///< of a list's first part: it is looked at and launched in a few us
  std::uint32_t part_pages_max = 8064;
  std::uint64_t part_bytes_max = 256 << 20;
  std::uint64_t staged_bytes_max = 32 << 20;  ///< of a staged piece
  std::uint64_t staged_bytes_first = 1 << 20; ///< the piece whose kernel nothing hides
  std::uint32_t staged_growth = 4;            ///< a kernel of so many times a transfer's bytes still hides behind it
  std::uint32_t staged_pages_max = 8064;
  std::uint32_t engine_entries_max = 512; ///< of one call: the engine begins when a call returns
};

class copy_planner {
public:
  explicit copy_planner(copy_costs costs, copy_limits limits = {}, std::optional<copy_way> only = std::nullopt)
      : costs_(costs), limits_(limits), only_(only) {}

  /// Plans pages of one group. `pages` is taken as it is and may be put in another order. What starting costs counts
  /// for a list's first part alone, and that part goes the way that is best if the rest is like it.
  copy_plan plan(copy_direction direction, const page_shape& shape, std::vector<planned_page> pages,
                 part_of_list part = {});

  /// Pages of the part behind one of `pages`: so many that they are looked at and submitted while those are copied,
  /// three to four times as many.
  std::uint32_t next_part(copy_direction direction, std::uint64_t page_bytes, std::uint32_t pages) const;

  const copy_limits& limits() const { return limits_; }

private:
  struct run {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };

  struct looked {
    bool sorted = true;
    std::uint32_t runs = 0;
    std::uint32_t dense_entries = 0; ///< of the copy engine's list, where consecutive slots are consecutive bytes
    std::uint32_t longest = 0;       ///< run's pages
    std::uint32_t host_bits = 0;     ///< that any host slot has
  };

  /// Runs that are worth the buffer.
  struct worthy {
    std::uint32_t runs = 0;
    std::uint32_t pages = 0; ///< in them; they stand in front of the others
  };

  /// What a plan is made for.
  struct asked {
    const copy_costs::direction& costs;
    copy_direction direction;
    const page_shape& shape;
    part_of_list part;
    double starts; ///< 0: what starting costs hides behind the parts before
    double weight; ///< pages from here to the list's end, over those of this part
    double kernel_bytes_per_us;

    double page_us_by_link() const;
    double page_us_by_kernel() const;
  };

  static std::vector<run> runs_of(std::span<const planned_page> pages);
  static looked look(std::span<const planned_page> pages);
  worthy split(const asked& of, std::vector<planned_page>& pages, const looked& seen);
  std::uint32_t engine_share(const asked& of, std::uint32_t pages) const;
  double kernel_us(const asked& of, std::uint32_t pages) const;
  double engine_us(const asked& of, std::uint32_t pages, const looked& seen) const;
  double staged_us(const asked& of, const worthy& front) const;
  std::vector<std::uint32_t> staged_counts(const asked& of, std::uint32_t pages) const;
  void add(copy_plan& plan, copy_way way, const asked& of, std::uint32_t first, std::uint32_t count) const;
  void add_engine(copy_plan& plan, const asked& of, std::uint32_t first, std::uint32_t count, bool beside) const;

  copy_costs costs_;
  copy_limits limits_;
  std::optional<copy_way> only_;
  std::vector<planned_page> scratch_; ///< kept for its memory
};

} // namespace kvferry
