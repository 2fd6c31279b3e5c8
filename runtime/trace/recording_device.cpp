#include "runtime/trace/recording_device.hpp"

namespace kvferry {

namespace {

/// Mixes numbers into one, in order (the finaliser of MurmurHash3, one round a number).
class content_mixer {
public:
  void add(std::uint64_t number) {
    state_ = (state_ ^ number) * 0xff51afd7ed558ccdull;
    state_ ^= state_ >> 33;
  }
  std::uint64_t result() const { return state_; }

private:
  std::uint64_t state_ = 0;
};

} // namespace

std::uint64_t content_of(std::span<const page_copy> copies) {
  content_mixer mixer;
  for (const page_copy& copy : copies) {
    mixer.add(copy.group.value());
    mixer.add(std::uint64_t{copy.gpu.value()} << 32 | copy.host.value());
    mixer.add(copy.from.value());
  }
  return mixer.result();
}

std::uint64_t content_of(std::span<const table_entry> entries) {
  content_mixer mixer;
  for (const table_entry& entry : entries) {
    mixer.add(entry.offset << 8 | entry.width);
    mixer.add(entry.value);
  }
  return mixer.result();
}

void recording_device::tell(stream_id on, std::optional<fence> recorded) const {
  if (strategy_ != nullptr)
    strategy_->called_device(actor_key_of(caller_), on, recorded);
}

stream_id recording_device::create_stream(std::string_view name) {
  const stream_id made = target_.create_stream(name);
  if (recorder_ != nullptr)
    recorder_->called(caller_, device_create_stream{std::string{name}, made});
  return made;
}

fence recording_device::record(stream_id stream) {
  const fence recorded = target_.record(stream);
  if (recorder_ != nullptr)
    recorder_->called(caller_, device_record{stream, recorded});
  tell(stream, recorded);
  return recorded;
}

void recording_device::wait(stream_id stream, const fence_set& fences) {
  target_.wait(stream, fences);
  waited(stream, fences);
}

fence recording_device::copy_pages(stream_id stream, copy_direction direction, std::span<const page_copy> copies) {
  const fence submitted = target_.copy_pages(stream, direction, copies);
  copied({stream, direction, copies, {}}, submitted);
  return submitted;
}

std::vector<fence> recording_device::copy_lists(std::span<const copy_list> lists) {
  std::vector<fence> behind = target_.copy_lists(lists);
  for (std::size_t i = 0; i < lists.size(); ++i) {
    if (!lists[i].before.empty())
      waited(lists[i].stream, lists[i].before);
    copied(lists[i], behind[i]);
  }
  return behind;
}

void recording_device::waited(stream_id stream, const fence_set& fences) {
  if (recorder_ != nullptr)
    recorder_->called(caller_, device_wait{stream, fences});
  tell(stream, {});
}

void recording_device::copied(const copy_list& list, fence submitted) {
  if (recorder_ != nullptr)
    recorder_->called(caller_, device_copy_pages{list.stream, list.direction == copy_direction::to_host,
                                                 list.direction == copy_direction::within_gpu,
                                                 static_cast<std::uint32_t>(list.copies.size()),
                                                 content_of(list.copies), submitted});
  tell(list.stream, submitted);
}

expected<std::unique_ptr<device_memory>> recording_device::allocate_staging(std::uint64_t bytes) {
  auto memory = target_.allocate_staging(bytes);
  if (recorder_ == nullptr)
    return memory;
  device_allocate_staging call{bytes, {}};
  if (!memory)
    call.refused = refusal{memory.error().code, memory.error().message, memory.error().numbers};
  recorder_->called(caller_, call);
  return memory;
}

void recording_device::write_tables(stream_id stream, device_memory& tables, std::span<const table_entry> entries) {
  target_.write_tables(stream, tables, entries);
  if (recorder_ != nullptr)
    recorder_->called(caller_, device_write_tables{stream, entries.size(), content_of(entries)});
  tell(stream, {});
}

} // namespace kvferry
