// Ends of actors that tests bring about; planted faults are in actors/planted_fault.cpp.
#include "kvferry/test_hooks.hpp"

#include <fmt/format.h>

#include "runtime/runtime_impl.hpp"

namespace kvferry {

struct test_access {
  [[maybe_unused]] static runtime_impl& internals_of(runtime& of) { return *of.impl_; }
};

namespace {

expected<void> kill([[maybe_unused]] runtime& of, [[maybe_unused]] const address& who) {
#if KVFERRY_TEST_HOOKS
  test_access::internals_of(of).kill(who);
  return {};
#else
  return fail(error_code::invalid_argument, "actors can be killed in builds with KVFERRY_TEST_HOOKS only");
#endif
}

} // namespace

expected<void> repeat_completion([[maybe_unused]] runtime& of, [[maybe_unused]] fence submitted) {
#if KVFERRY_TEST_HOOKS
  test_access::internals_of(of).repeat_completion(submitted);
  return {};
#else
  return fail(error_code::invalid_argument, "completions can be repeated in builds with KVFERRY_TEST_HOOKS only");
#endif
}

expected<void> kill_request(runtime& of, request_id request) { return kill(of, address_of(request)); }

expected<void> kill_publisher(runtime& of, batch_id batch) {
  return kill(of, address{actor_kind::batch_publisher, batch.value()});
}

expected<void> kill_actor(runtime& of, std::string_view name) {
  for (actor_kind kind : {actor_kind::page_registry, actor_kind::storage, actor_kind::completions})
    if (to_string(kind) == name)
      return kill(of, address{kind, 0});
  return fail(error_code::invalid_argument, fmt::format("\"{}\" is not page_registry, storage or completions", name));
}

} // namespace kvferry
