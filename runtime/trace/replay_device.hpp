// The device in a replay: it does nothing, compares each call with the recorded one, and gives the recorded answer.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "runtime/trace/trace_file.hpp"

namespace kvferry {

/// Ends a handling: an actor called the device otherwise than the record says, and there is no answer to go on with.
struct device_call_differs {
  const trace_record* recorded = nullptr; ///< null: the record has no further call
  any_message made;                       ///< the call, with the recorded answer if there is one
};

class replay_device final : public device {
public:
  /// The calls that the handling which begins now has to make.
  void expect(std::vector<const trace_record*> calls) {
    expected_ = std::move(calls);
    made_ = 0;
  }

  /// The first expected call that was not made; null: all were.
  const trace_record* not_made() const { return made_ < expected_.size() ? expected_[made_] : nullptr; }

  std::size_t made() const { return made_; }

  stream_id create_stream(std::string_view name) override;
  bool capturing(stream_id) const override { return false; } // no actor calls it
  fence record(stream_id stream) override;
  void wait(stream_id stream, const fence_set& fences) override;
  fence copy_pages(stream_id stream, copy_direction direction, std::span<const page_copy> copies) override;
  expected<std::unique_ptr<device_memory>> allocate_staging(std::uint64_t bytes) override;
  void write_tables(stream_id stream, device_memory& tables, std::span<const table_entry> entries) override;

  // Actors do not call these.
  expected<std::vector<group_pools>> make_pools(const configuration& config) override;
  device_progress poll() override;
  expected<std::unique_ptr<device_memory>> allocate_tables(std::uint64_t bytes, std::uint64_t ones_bytes) override;

  /// Memory of that size that holds nothing, in the place of a batch's tables.
  static std::unique_ptr<device_memory> blank_tables(std::uint64_t bytes);

private:
  template <class Call, class TakeAnswer>
  Call answer(Call call, TakeAnswer take_answer);

  std::vector<const trace_record*> expected_;
  std::size_t made_ = 0;
};

} // namespace kvferry
