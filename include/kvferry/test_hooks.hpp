// Faults that tests plant on purpose, to show that the checks find them, ends that tests bring about, and what makes
// many short runs cheap.
#pragma once

#include <memory>
#include <string_view>

#include "kvferry/error.hpp"
#include "kvferry/fence.hpp"
#include "kvferry/ids.hpp"

namespace kvferry {

class runtime;

/// Plants the fault of that name in every runtime made from now on; "none" takes it away. Process-wide.
/// Errors: invalid_argument: no such fault (the message names them), or a build without KVFERRY_TEST_HOOKS.
expected<void> plant_fault(std::string_view name);

/// Ends an actor of a runtime as a crash would; one that has ended already stays so. Of `kill_actor` the name is
/// "page_registry", "storage" or "completions".
/// Errors: invalid_argument: no such actor, or a build without KVFERRY_TEST_HOOKS.
expected<void> kill_request(runtime& of, request_id request);
expected<void> kill_publisher(runtime& of, batch_id batch);
expected<void> kill_actor(runtime& of, std::string_view name);

/// Tells storage of the end of a submission, as a device would that reports one twice, or when nobody waits any more.
/// The message is on its way when this returns. Errors: invalid_argument: a build without KVFERRY_TEST_HOOKS.
expected<void> repeat_completion(runtime& of, fence submitted);

/// While one lives, a runtime under `stepped` that ends on its thread leaves its actor system to the next one made
/// there, unless a contract was broken: making and ending one takes as long as a short run. REQUIRES: one at a time on
/// a thread.
class keeps_actor_host {
public:
  keeps_actor_host();
  ~keeps_actor_host();
  keeps_actor_host(const keeps_actor_host&) = delete;
  keeps_actor_host& operator=(const keeps_actor_host&) = delete;

  struct kept;

private:
  std::unique_ptr<kept> kept_;
};

} // namespace kvferry
