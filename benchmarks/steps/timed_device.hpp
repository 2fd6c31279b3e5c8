// A device that counts what is asked of another one, and how long the caller was in it: what of a step is the driver's.
#pragma once

#include <chrono>
#include <memory>
#include <type_traits>
#include <utility>

#include "benchmarks/timing.hpp"
#include "device/device.hpp"

namespace bench {

class timed_device final : public kvferry::device {
public:
  struct calls {
    std::uint32_t records = 0;
    std::uint32_t waits = 0;
    std::uint32_t table_writes = 0;
    std::uint32_t copy_lists = 0;
    std::uint32_t copied_pages = 0;
    double in_device_us = 0.0; ///< in any of these and in `poll`
  };

  explicit timed_device(std::shared_ptr<kvferry::device> target) : target_(std::move(target)) {}

  calls take() { return std::exchange(calls_, {}); }

  kvferry::expected<std::vector<kvferry::group_pools>> make_pools(const kvferry::configuration& config) override {
    return target_->make_pools(config);
  }
  kvferry::stream_id create_stream(std::string_view name) override { return target_->create_stream(name); }
  bool capturing(kvferry::stream_id stream) const override { return target_->capturing(stream); }
  kvferry::fence record(kvferry::stream_id stream) override {
    ++calls_.records;
    return timed([&] { return target_->record(stream); });
  }
  void wait(kvferry::stream_id stream, const kvferry::fence_set& fences) override {
    ++calls_.waits;
    timed([&] { return target_->wait(stream, fences), 0; });
  }
  kvferry::device_progress poll() override {
    return timed([&] { return target_->poll(); });
  }
  kvferry::fence copy_pages(kvferry::stream_id stream, kvferry::copy_direction direction,
                            std::span<const kvferry::page_copy> copies) override {
    ++calls_.copy_lists;
    calls_.copied_pages += static_cast<std::uint32_t>(copies.size());
    return timed([&] { return target_->copy_pages(stream, direction, copies); });
  }
  std::vector<kvferry::fence> copy_lists(std::span<const kvferry::copy_list> lists) override {
    for (const kvferry::copy_list& list : lists) {
      ++calls_.copy_lists;
      calls_.copied_pages += static_cast<std::uint32_t>(list.copies.size());
    }
    return timed([&] { return target_->copy_lists(lists); });
  }
  kvferry::expected<std::unique_ptr<kvferry::device_memory>> allocate_tables(std::uint64_t bytes,
                                                                             std::uint64_t ones_bytes) override {
    return target_->allocate_tables(bytes, ones_bytes);
  }
  kvferry::expected<std::unique_ptr<kvferry::device_memory>> allocate_staging(std::uint64_t bytes) override {
    return target_->allocate_staging(bytes);
  }
  void write_tables(kvferry::stream_id stream, kvferry::device_memory& tables,
                    std::span<const kvferry::table_entry> entries) override {
    ++calls_.table_writes;
    timed([&] { return target_->write_tables(stream, tables, entries), 0; });
  }

private:
  template <class Call>
  std::invoke_result_t<Call> timed(Call call) {
    const auto begin = std::chrono::steady_clock::now();
    auto result = call();
    calls_.in_device_us += us_since(begin);
    return result;
  }

  std::shared_ptr<kvferry::device> target_;
  calls calls_;
};

} // namespace bench
