// The public classes: thin, so that nothing of the actors shows in their headers.
#include "kvferry/runtime.hpp"

#include "runtime/runtime_impl.hpp"

namespace kvferry {

expected<std::unique_ptr<runtime>> runtime::create(const configuration& config, std::shared_ptr<device> target,
                                                   delivery_strategy* deliver_by) {
  if (auto right = validate(config); !right)
    return tl::unexpected<error>{right.error()};
  if (deliver_by != nullptr && config.scheduler != scheduler_kind::stepped)
    return fail(error_code::invalid_configuration,
                "scheduler is threaded, but a delivery_strategy chooses the order of messages under stepped alone");
  std::unique_ptr<message_recorder> recorder;
  if (!config.record_path.empty()) {
    auto created = message_recorder::create(config.record_path, config);
    if (!created)
      return tl::unexpected<error>{created.error()};
    recorder = std::move(*created);
  }
  auto pools = target->make_pools(config);
  if (!pools)
    return tl::unexpected<error>{pools.error()};
  return std::unique_ptr<runtime>{new runtime{
      std::make_unique<runtime_impl>(config, std::move(target), std::move(*pools), std::move(recorder), deliver_by)}};
}

runtime::runtime(std::unique_ptr<runtime_impl> impl) : impl_(std::move(impl)) {}
runtime::~runtime() = default;

const configuration& runtime::config() const { return impl_->config; }
std::span<const group_pools> runtime::pools() const { return impl_->pools; }

expected<std::unique_ptr<batch>> runtime::create_batch(const batch_config& config) {
  auto id = impl_->create_batch(config);
  if (!id)
    return tl::unexpected<error>{id.error()};
  return std::unique_ptr<batch>{new batch{*impl_, *id}};
}

expected<opened> runtime::open(std::vector<token> prompt, const prefix_namespace& space) {
  return impl_->open(std::move(prompt), space);
}

expected<void> runtime::reserve(request_id request, std::uint32_t capacity_tokens) {
  return impl_->reserve(request, capacity_tokens);
}

expected<void> runtime::advance(const progress& made, stream_id written_on) {
  return impl_->advance_history(made, written_on);
}

expected<void> runtime::commit(request_id request) { return impl_->commit(request); }
expected<decode_entry> runtime::enter_decode(request_id request) { return impl_->enter_decode(request); }

expected<void> runtime::suspend(request_id request, std::span<const stream_id> running) {
  return impl_->suspend(request, running);
}

expected<resumed> runtime::resume(request_id request) { return impl_->resume(request); }

expected<void> runtime::shrink(request_id request, std::uint32_t capacity_tokens, std::span<const stream_id> running) {
  return impl_->shrink(request, capacity_tokens, running);
}

expected<void> runtime::drop(request_id request) { return impl_->drop(request); }

expected<void> runtime::close(request_id request, std::span<const stream_id> running) {
  return impl_->close(request, running);
}

void runtime::poll() { impl_->poll(); }
std::vector<ready_request> runtime::take_ready() { return impl_->take_ready(); }
expected<page_storage> runtime::storage_of(request_id request) { return impl_->storage_of(request); }

expected<std::vector<blocker>> runtime::why_on_gpu(request_id request, group_id group, block_ordinal ordinal) {
  return impl_->why_on_gpu(request, group, ordinal);
}

expected<void> runtime::dense_ready(request_id request, group_id group) { return impl_->dense_ready(request, group); }
expected<std::vector<std::string>> runtime::check_quiet() { return impl_->check_quiet(); }
expected<router_news> runtime::take_router_events() { return impl_->take_router_events(); }
expected<router_news> runtime::list_router_events() { return impl_->list_router_events(); }
statistics runtime::take_statistics() { return impl_->take_statistics(); }
leftovers runtime::shut_down() { return impl_->shut_down(); }

batch::batch(runtime_impl& owner, batch_id id) : owner_(owner), id_(id) {}
batch::~batch() { owner_.close_batch(id_); }

batch_id batch::id() const { return id_; }
table_view batch::tables() const { return owner_.tables(id_); }
expected<row_id> batch::add(request_id request) { return owner_.add(id_, request); }
expected<void> batch::remove(request_id request) { return owner_.remove(id_, request); }

expected<publication> batch::publish(std::span<const request_id> order, stream_id stream) {
  return owner_.publish(id_, order, stream);
}

expected<version_number> batch::begin_read(stream_id stream) { return owner_.change_read(id_, stream, true); }

expected<void> batch::end_read(stream_id stream) {
  if (auto changed = owner_.change_read(id_, stream, false); !changed)
    return tl::unexpected<error>{changed.error()};
  return {};
}

expected<step_result> batch::step(const step_input& input) { return owner_.step(id_, input); }

} // namespace kvferry
