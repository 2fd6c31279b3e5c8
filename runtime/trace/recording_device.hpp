// The device as an actor sees it while a recorder or a delivery strategy looks on: every call goes through to the
// device, is recorded with its answer, and the strategy is told which stream it was about.
#pragma once

#include "device/device.hpp"
#include "kvferry/delivery.hpp"
#include "runtime/message_recorder.hpp"

namespace kvferry {

/// A number over the list, for comparing two.
std::uint64_t content_of(std::span<const page_copy> copies);
std::uint64_t content_of(std::span<const table_entry> entries);

class recording_device final : public device {
public:
  /// `caller` is the actor that has this device. All outlive it; recorder and strategy may be null.
  recording_device(device& target, message_recorder* recorder, delivery_strategy* strategy, const address& caller)
      : target_(target), recorder_(recorder), strategy_(strategy), caller_(caller) {}

  expected<std::vector<group_pools>> make_pools(const configuration& config) override {
    return target_.make_pools(config); // no actor calls it
  }
  stream_id create_stream(std::string_view name) override;
  bool capturing(stream_id stream) const override { return target_.capturing(stream); } // no actor calls it
  fence record(stream_id stream) override;
  void wait(stream_id stream, const fence_set& fences) override;
  device_progress poll() override { return target_.poll(); } // no actor calls it: it comes in as a message
  fence copy_pages(stream_id stream, copy_direction direction, std::span<const page_copy> copies) override;
  std::vector<fence> copy_lists(std::span<const copy_list> lists) override; // recorded as calls for each list
  expected<std::unique_ptr<device_memory>> allocate_tables(std::uint64_t bytes, std::uint64_t ones_bytes) override {
    return target_.allocate_tables(bytes, ones_bytes); // no actor calls it
  }
  expected<std::unique_ptr<device_memory>> allocate_staging(std::uint64_t bytes) override;
  void write_tables(stream_id stream, device_memory& tables, std::span<const table_entry> entries) override;

private:
  void tell(stream_id on, std::optional<fence> recorded) const;
  void waited(stream_id stream, const fence_set& fences);
  void copied(const copy_list& list, fence submitted);

  device& target_;
  message_recorder* const recorder_;
  delivery_strategy* const strategy_;
  const address caller_;
};

} // namespace kvferry
