// Measures one cell: so many pages of one size, one direction or both at once, host slots in a run or scattered; each
// way and the baselines in turn, round by round, so that what drifts drifts for all.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/cuda/baselines.hpp"
#include "benchmarks/cuda/matrix_load.hpp"
#include "benchmarks/cuda/results.hpp"
#include "device/device.hpp"
#include "kvferry/cuda_device.hpp"

namespace bench {

struct bench_options {
  std::uint64_t bytes_max = std::uint64_t{16} << 30; ///< of a cell
  double seconds_per_way = 0.05;
  std::uint32_t rounds_max = 15;
  bool kvferry_only = false;                                  ///< not held to one way: that takes memory of its own
  std::uint32_t copies_a_page_max = 20'000;                   ///< above, one copy a page is left out: it takes seconds
  std::uint64_t pinned_piece_bytes = std::uint64_t{64} << 30; ///< no contiguous copy goes across pieces
};

struct cell_shape {
  std::uint32_t pages = 0;
  std::string direction;
  bool scattered_host = false;
  bool beside_matrix = false;
};

class page_bench {
public:
  page_bench(int ordinal, const bench_options& options);

  /// Makes pools of `pages_max` pages of this size.
  void use_pages(std::uint64_t page_bytes, std::uint32_t pages_max);

  cell measure(const cell_shape& shape);

  std::string gpu_name() const { return devices_.front().gpu->name(); }
  int sms() const { return sms_; }

private:
  /// kvferry as it is, and held to one way.
  struct device_way {
    std::string name;
    std::shared_ptr<kvferry::cuda_device> gpu;
    std::shared_ptr<kvferry::device> view;
    kvferry::stream_id to_host;
    kvferry::stream_id to_gpu;
    kvferry::group_pools pools;
  };

  struct lists {
    std::vector<kvferry::page_copy> to_host;
    std::vector<kvferry::page_copy> to_gpu;
  };

  lists lists_of(const cell_shape& shape) const;
  timing run_device(device_way& way, const lists& copies);
  timing run_baseline(baseline how, baseline_copies* down, baseline_copies* up);
  double sm_share(const cell_shape& shape, const lists& copies, const timing& ours, const kvferry::copy_counts& before);
  double gather_us(const lists& copies);

  bench_options options_;
  int sms_ = 0;
  std::vector<device_way> devices_;
  std::uint64_t page_bytes_ = 0;
  std::uint32_t pages_max_ = 0;
  matrix_load load_;
  double products_alone_ = 0.0; ///< in a second
};

} // namespace bench
