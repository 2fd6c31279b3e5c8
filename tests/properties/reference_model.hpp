// What an engine may expect of the runtime, by the design's rules alone: what each request has, what a prompt may
// match, where pages may be, which refusals a state allows. It knows nothing of blocks, actors or messages.
//
// A random engine tells it of every call that succeeded; it answers with sentences about what is wrong.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kvferry/runtime.hpp"
#include "tests/properties/kv_record.hpp"

namespace kvferry::test {

enum class model_status : std::uint8_t { loading, active, suspended };

struct model_request {
  request_id id;
  kv_sequence kv;            ///< prompt, then generated
  std::uint32_t prompt = 0;  ///< tokens
  std::uint32_t told = 0;    ///< tokens that the runtime was given
  std::uint32_t history = 0; ///< tokens reported
  std::uint32_t written = 0; ///< tokens whose kernels are launched
  std::uint32_t blocks = 0;  ///< capacity
  model_status status = model_status::active;
  bool decoding = false;
  bool awaits_loads = false;          ///< it was `loading`, and the end of that was not told
  std::optional<std::uint32_t> batch; ///< whose member it is
  stream_id last_stream;              ///< where its kernels ran last
};

using storages = std::map<request_id, page_storage>;
using sentences = std::vector<std::string>;

/// A refusal, and what can be known about it from outside.
struct refusal_seen {
  std::string_view call;              ///< the name of the interface's function
  const model_request* who = nullptr; ///< null: no such request is open
  error why;
  std::uint32_t wanted_blocks = 0; ///< open, reserve: that the request would have had
  bool settled = false;            ///< nothing was pending: no copy, no fence, nothing unpublished
};

class reference_model {
public:
  /// `large`: the pools are such that nothing is ever short or evicted.
  reference_model(const configuration& config, bool large) : config_(config), large_(large) {}

  std::map<request_id, model_request> requests;

  std::uint32_t blocks_of(std::uint32_t tokens) const {
    return (tokens + config_.tokens_per_block - 1) / config_.tokens_per_block;
  }

  std::uint32_t complete(const model_request& r) const { return r.history / config_.tokens_per_block; }

  /// The request's complete blocks have been offered to the prefix index.
  void note_commit(const model_request& r);

  /// Copies may fail from now on, so what is committed may be lost.
  void note_failures() { failures_ = true; }

  /// What is wrong with a match of `matched` tokens for `prompt`.
  void check_match(const kv_sequence& prompt, std::uint32_t matched, sentences& wrong) const;

  /// What is wrong with where pages are; `now` has an entry for each open request.
  void check_places(const storages& now, sentences& wrong) const;

  /// What is wrong with a refusal, by where pages were before it.
  void check_refusal(const refusal_seen& refused, const storages& before, sentences& wrong) const;

  /// Whether `call` may succeed in the request's status.
  void check_granted(std::string_view call, const model_request* who, sentences& wrong) const;

  /// With nothing pending: what is wrong with a block of an active decoder's complete history that is on the GPU, and
  /// the reasons that were named. `published`: more often than the bound of deferral since it was deferred.
  void check_reasons(const model_request& r, group_id group, block_ordinal ordinal, const std::vector<blocker>& reasons,
                     bool published, const storages& now, sentences& wrong) const;

  /// GPU slots of the group that no open request is bound to.
  std::uint32_t spare_gpu(std::size_t group, const storages& now) const;

  /// Host slots of the group that can be had for sure.
  std::uint32_t spare_host(std::size_t group, const storages& now) const;

  /// The first block that attention of the group may still look at.
  block_ordinal first_needed(std::size_t group, std::uint32_t history) const;

private:
  void check_request(const model_request& r, const page_storage& storage, sentences& wrong) const;
  void check_place(const model_request& r, std::size_t group, block_ordinal ordinal, const block_place& place,
                   sentences& wrong) const;
  void check_sharing(const storages& now, sentences& wrong) const;
  bool gpu_suffices(const refusal_seen& refused, const storages& before) const;
  bool host_suffices(const model_request& r, const storages& before) const;
  bool windowed() const;

  const configuration& config_;
  bool large_;
  bool failures_ = false;
  std::vector<kv_sequence> committed_; ///< each cut to whole blocks
};

} // namespace kvferry::test
