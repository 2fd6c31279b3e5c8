// The engine-facing interface: requests, their progress, and what became of their pages. The only place where a caller
// may wait, and it waits for messages, never for the device.
//
// One thread at a time. Every call returns a value or a named error; a refused call leaves everything as it was. A call
// that touches a stream which is being captured into a graph is refused with `stream_capturing`.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kvferry/batch.hpp"
#include "kvferry/configuration.hpp"
#include "kvferry/error.hpp"
#include "kvferry/ids.hpp"
#include "kvferry/pools.hpp"
#include "kvferry/router_events.hpp"
#include "kvferry/statistics.hpp"

namespace kvferry {

class delivery_strategy;
class device;
class runtime_impl;

struct opened {
  request_id request;
  std::uint32_t matched_tokens = 0; ///< tokens whose KV is there; prefill begins behind them
  bool loading = false;             ///< pages are on their way from the host; it may run once `take_ready` names it
};

/// What decode entry did with the complete history, in blocks over all sparse groups.
struct decode_entry {
  std::uint32_t moving = 0;   ///< copies to the host begun or joined
  std::uint32_t rebound = 0;  ///< were on the host already: rebound without a copy
  std::uint32_t deferred = 0; ///< stay on the GPU until their blockers go
};

struct resumed {
  bool loading = false; ///< as in `opened`
};

/// One request's place, a value that is safe to keep.
struct block_place {
  kvferry::tier tier = kvferry::tier::none;
  std::uint32_t slot = 0; ///< raw slot on that tier
  bool ready = false;     ///< false while a load into it is under way

  friend bool operator==(const block_place&, const block_place&) = default;
};

struct group_storage {
  std::vector<block_place> blocks;  ///< by ordinal; tier::none where a window has passed
  std::uint32_t history_blocks = 0; ///< contiguous complete-history blocks on the host, from ordinal 0
};

struct page_storage {
  version_number version = 0; ///< the batch's latest publication, 0 when the request is in none
  row_seq change = 0;         ///< the request's latest change
  std::vector<group_storage> groups;
};

/// Why a block of complete history is still on the GPU (design section 4.2).
struct blocker {
  enum class cause : std::uint8_t {
    owner,          ///< `request` is active and needs the block on the GPU
    host_full,      ///< no host slot is available
    copy_failed,    ///< the copy failed more often than `copy_retries`
    copy_under_way, ///< it is on its way
  };
  cause why = cause::owner;
  request_id request; ///< with `owner`
  block_ordinal ordinal = 0;

  friend bool operator==(const blocker&, const blocker&) = default;
};

class runtime {
public:
  /// Validates `config`, makes the pools on `target` and starts the actors.
  /// `deliver_by` (kvferry/delivery.hpp), which outlives the runtime, chooses the order of messages under `stepped`;
  /// null: `config.order` does. Errors: invalid_configuration, out_of_memory, io_error (the record file).
  static expected<std::unique_ptr<runtime>> create(const configuration& config, std::shared_ptr<device> target,
                                                   delivery_strategy* deliver_by = nullptr);

  /// Ends in bounded time, with work in flight too. Open requests are dropped.
  ~runtime();

  const configuration& config() const;

  /// The memory of each group, in the order of the configuration.
  std::span<const group_pools> pools() const;

  /// Makes a batch: one set of tables. Errors: invalid_configuration, out_of_memory.
  expected<std::unique_ptr<batch>> create_batch(const batch_config& config);

  /// Opens a request over `prompt` and matches its prefix. Slots for the rest come with `reserve`.
  /// Errors: gpu_full, copies_in_flight, publish_first (loads found no slot), prompt_exceeds_gpu_pool.
  expected<opened> open(std::vector<token> prompt, const prefix_namespace& space = {});

  /// Gives the request slots for `capacity_tokens` in every group, all or nothing. Cheap when they are there already.
  /// Errors: gpu_full, copies_in_flight, publish_first with numbers.
  expected<void> reserve(request_id request, std::uint32_t capacity_tokens);

  /// Reports that the KV of the first `history_tokens` tokens has been submitted on `written_on`. Never refused for
  /// lack of slots. REQUIRES: not less than before, not more than the capacity and the tokens known.
  expected<void> advance(const progress& made, stream_id written_on);

  /// Enters the complete blocks of the history into the prefix index.
  expected<void> commit(request_id request);

  /// From prefill to decode: complete history of sparse groups moves to the host.
  /// Errors: host_full with numbers (policy `refuse`), wrong_status.
  expected<decode_entry> enter_decode(request_id request);

  /// The request gives up its claims and keeps its pages. `running` are the streams that may still run it; none named:
  /// its batch's.
  expected<void> suspend(request_id request, std::span<const stream_id> running = {});

  /// Errors: gpu_full, host_full, copies_in_flight, publish_first, must_recompute.
  expected<resumed> resume(request_id request);

  /// Gives slots back: capacity shrinks to what `capacity_tokens`, or the history if that is more, needs. `running` as
  /// in `suspend`. Errors: wrong_status while loading.
  expected<void> shrink(request_id request, std::uint32_t capacity_tokens, std::span<const stream_id> running = {});

  /// The last way out of a shortage: a suspended request gives up all its pages. Every later call but `close` gets
  /// `must_recompute`; open it anew, with the tokens it had. Errors: wrong_status.
  expected<void> drop(request_id request);

  /// Ends the request, whatever it is doing; abort is the same. Doing it again succeeds. `running` as in `suspend`.
  expected<void> close(request_id request, std::span<const stream_id> running = {});

  /// Lets completions of the device in: copies that have ended, fences that have passed.
  void poll();

  /// Requests whose loads have ended since the last call (also part of `step_result`).
  std::vector<ready_request> take_ready();

  /// Errors: unknown_request.
  expected<page_storage> storage_of(request_id request);

  /// Who keeps the block on the GPU; empty when nothing does. Errors: unknown_request, invalid_argument.
  expected<std::vector<blocker>> why_on_gpu(request_id request, group_id group, block_ordinal ordinal);

  /// Whether dense attention of `group` can run: refused with `bound_to_host` exactly when a needed block is bound to a
  /// host page; the message names the ordinals.
  expected<void> dense_ready(request_id request, group_id group);

  /// What became of the blocks of the prefix index since the last call (router_events.hpp). At most `router_events_max`
  /// events wait for it; when there are more they are lost, and the call is answered as `list_router_events`.
  /// Errors: invalid_configuration (`router_events_max` is 0).
  expected<router_news> take_router_events();

  /// The same, beginning with a listing of all that is there: for a router that has just come, or lost what it knew.
  expected<router_news> list_router_events();

  statistics take_statistics();

  /// Invariants that span actors (design section 10, Q): a sentence for each that does not hold, with the page's name.
  /// For tests and long runs. Looks at everything; under `threaded` only when no call is running and nothing completes.
  expected<std::vector<std::string>> check_quiet();

  /// Stops taking calls, ends all actors and reports what was left (leaks); later calls get `runtime_stopped`.
  leftovers shut_down();

private:
  friend struct test_access; // test_hooks.hpp
  explicit runtime(std::unique_ptr<runtime_impl> impl);
  std::unique_ptr<runtime_impl> impl_;
};

} // namespace kvferry
