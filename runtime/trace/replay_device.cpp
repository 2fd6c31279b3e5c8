#include "runtime/trace/replay_device.hpp"

#include "kvferry/contract.hpp"
#include "messages/json.hpp"
#include "runtime/trace/recording_device.hpp"

namespace kvferry {

namespace {

class plain_memory final : public device_memory {
public:
  plain_memory(std::uint64_t bytes, bool backed) : bytes_(bytes), content_(backed ? bytes / 8 + 1 : 0) {}
  std::byte* data() override { return reinterpret_cast<std::byte*>(content_.data()); }
  std::uint64_t size_bytes() const override { return bytes_; }

private:
  std::uint64_t bytes_;
  std::vector<std::uint64_t> content_; // aligned for table entries
};

} // namespace

/// Compares arguments and answer at once, as text: the answer is the recorded one by then.
template <class Call, class TakeAnswer>
Call replay_device::answer(Call call, TakeAnswer take_answer) {
  const trace_record* recorded = not_made();
  if (recorded == nullptr || !recorded->is<Call>())
    throw device_call_differs{recorded, any_message{std::move(call)}};
  auto parsed = trace_file::message_of(*recorded);
  if (!parsed)
    throw device_call_differs{recorded, any_message{std::move(call)}};
  take_answer(call, *parsed->template get_if<Call>());
  any_message made{call};
  std::string text;
  print_body(made, text);
  if (text != recorded->body)
    throw device_call_differs{recorded, std::move(made)};
  ++made_;
  return call;
}

stream_id replay_device::create_stream(std::string_view name) {
  return answer(device_create_stream{std::string{name}, {}},
                [](auto& call, const auto& recorded) { call.stream = recorded.stream; })
      .stream;
}

fence replay_device::record(stream_id stream) {
  return answer(device_record{stream, {}}, [](auto& call, const auto& recorded) { call.recorded = recorded.recorded; })
      .recorded;
}

void replay_device::wait(stream_id stream, const fence_set& fences) {
  answer(device_wait{stream, fences}, [](auto&, const auto&) {});
}

fence replay_device::copy_pages(stream_id stream, copy_direction direction, std::span<const page_copy> copies) {
  device_copy_pages call{stream,
                         direction == copy_direction::to_host,
                         direction == copy_direction::within_gpu,
                         static_cast<std::uint32_t>(copies.size()),
                         content_of(copies),
                         {}};
  return answer(std::move(call), [](auto& made, const auto& recorded) { made.submitted = recorded.submitted; })
      .submitted;
}

expected<std::unique_ptr<device_memory>> replay_device::allocate_staging(std::uint64_t bytes) {
  auto call = answer(device_allocate_staging{bytes, {}},
                     [](auto& made, const auto& recorded) { made.refused = recorded.refused; });
  if (call.refused)
    return tl::unexpected<error>{error{call.refused->code, call.refused->message, call.refused->numbers}};
  return std::make_unique<plain_memory>(bytes, true);
}

void replay_device::write_tables(stream_id stream, device_memory&, std::span<const table_entry> entries) {
  answer(device_write_tables{stream, entries.size(), content_of(entries)}, [](auto&, const auto&) {});
}

expected<std::vector<group_pools>> replay_device::make_pools(const configuration&) {
  KVFERRY_REQUIRE(false, "an actor makes pools in a replay of {} calls", expected_.size());
  return {};
}

device_progress replay_device::poll() {
  KVFERRY_REQUIRE(false, "an actor polls in a replay of {} calls", expected_.size());
  return {};
}

expected<std::unique_ptr<device_memory>> replay_device::allocate_tables(std::uint64_t bytes, std::uint64_t) {
  KVFERRY_REQUIRE(false, "an actor allocates tables of {} bytes in a replay", bytes);
  return {};
}

std::unique_ptr<device_memory> replay_device::blank_tables(std::uint64_t bytes) {
  return std::make_unique<plain_memory>(bytes, false);
}

} // namespace kvferry
