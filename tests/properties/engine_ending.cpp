// How a random run ends: nothing is held any more, and step by step everything must be possible again.
#include <algorithm>
#include <ranges>

#include "tests/properties/random_engine.hpp"

namespace kvferry::test {
namespace {

constexpr int failures_max = 40; ///< tries after which every copy that was to fail has failed

} // namespace

std::vector<request_id> random_engine::requests_in(model_status status) const {
  std::vector<request_id> found;
  for (const auto& [id, r] : model_.requests)
    if (r.status == status)
      found.push_back(id);
  return found;
}

void random_engine::end() {
  tell("the end: all streams are let go");
  let_go_of_all();
  settle();
  end_prefills();
  end_decoders();
  end_suspended();
  end_of_all();
}

void random_engine::settle_and_check() {
  if (!wrong_.empty())
    return;
  settle();
  after_command();
}

/// Whether a block is on the GPU only because its copy has failed.
bool random_engine::copy_has_failed() {
  for (request_id id : requests_in(model_status::active))
    for (std::size_t g = 0; g < config_.groups.size(); ++g)
      for (block_ordinal o = 0; o < model_.complete(model_.requests.at(id)); ++o)
        if (auto reasons = runtime_->why_on_gpu(id, group_id{static_cast<std::uint8_t>(g)}, o);
            reasons && model_.spare_host(g, places_) > 0)
          for (const blocker& reason : *reasons)
            if (reason.why == blocker::cause::copy_failed)
              return true;
  return false;
}

/// Once nobody needs it on the GPU, all complete history goes to the host, if there is room.
void random_engine::end_prefills() {
  for (request_id id : requests_in(model_status::active))
    if (model_request& r = model_.requests.at(id); wrong_.empty() && !r.decoding)
      id.value() % 2 ? suspend(r) : close(r);
  settle_and_check();
  bool failed = true;
  for (int tries = 0; tries < failures_max && failed && wrong_.empty(); ++tries) {
    failed = copy_has_failed();
    if (!failed)
      break;
    for (request_id id : requests_in(model_status::active)) // the engine asks again
      if (wrong_.empty())
        enter_decode(model_.requests.at(id));
    settle_and_check();
  }
  if (failed && wrong_.empty())
    wrong("copies are said to have failed, and asking again does not help");
}

void random_engine::end_decoders() {
  for (request_id id : requests_in(model_status::active))
    if (wrong_.empty())
      close(model_.requests.at(id));
  settle_and_check();
}

/// The suspended ones, one after the other: the last at least must get its pages back.
void random_engine::end_suspended() {
  while (wrong_.empty() && !model_.requests.empty()) {
    model_request& r = model_.requests.begin()->second;
    const bool last = model_.requests.size() == 1;
    for (int tries = 0; tries < failures_max && r.status == model_status::suspended && wrong_.empty(); ++tries) {
      resume(r);
      settle_and_check();
    }
    const bool host_short = std::ranges::any_of(config_.groups, [&](const group_config& group) {
      return group.kind == group_kind::sparse && model_.complete(r) > group.host_slots;
    });
    if (r.status == model_status::suspended && last && !(r.decoding && host_short) && wrong_.empty())
      wrong(fmt::format("request {} is alone and cannot be resumed", r.id.value()));
    if (wrong_.empty())
      close(r);
    settle_and_check();
  }
}

void random_engine::end_of_all() {
  if (!wrong_.empty())
    return;
  std::uint32_t slots = config_.groups[0].gpu_slots;
  for (const group_config& group : config_.groups)
    slots = std::min(slots, group.gpu_slots);
  auto all = runtime_->open(std::vector<token>(slots * config_.tokens_per_block, 99), {});
  if (!all)
    return wrong("nothing is open, and a prompt as long as the pool is refused: " + all.error().message);
  if (auto granted = runtime_->reserve(all->request, slots * config_.tokens_per_block); !granted)
    wrong("nothing is open, and the whole pool is not to be had: " + granted.error().message);
  if (auto closed = runtime_->close(all->request); !closed)
    wrong("close was refused: " + closed.error().message);
  drain();
  const leftovers left = runtime_->shut_down();
  if (left.slots + left.owners + left.copies + left.requests != 0)
    wrong("everything was closed, and there is left: " + left.description);
}

} // namespace kvferry::test
