// What routers outside are told of the prefix index (design section 4.5): which block is where, after the fact.
//
// No handler says what it did. Behind each handling the blocks that it touched are looked at, and what is there now is
// held against what was told. So every block and tier is told once, whatever way it came or went.
#include "actors/page_registry.hpp"
#include "kvferry/contract.hpp"

namespace kvferry {

void page_registry::enter_index(block& b, prefix_node& place) {
  index_.set(place, b);
  touched_.push_back(&b);
}

/// Told at once: behind the handling its place may be another block's.
void page_registry::leave_index(block& b) {
  tell(b, {});
  index_.clear(b);
}

/// Where the bytes of a block of the index are: copied, and written as far as is known.
tier_set page_registry::readable_on(const block& b) const {
  if (b.node == nullptr)
    return {};
  return {b.has_gpu() && !b.loading && b.written.covered_by(passed_), b.has_host()};
}

void page_registry::tell_routers(outbox& out) {
  for (block* b : touched_)
    if (!b->id.is_none()) {
      tell(*b, readable_on(*b));
      if (b->node != nullptr && b->has_gpu() && !b->loading && !b->told.gpu)
        await_written(*b);
    }
  if (!events_.empty()) {
    const std::uint64_t first = last_event_ + 1;
    last_event_ += events_.size();
    out.send(index_changed{first, std::exchange(events_, {})});
  }
  if (!written_unwatched_.empty()) {
    written_watched_.add(written_unwatched_);
    out.send(watch_fences{std::exchange(written_unwatched_, {})});
  }
}

void page_registry::tell(block& b, tier_set now) {
  const tier_set was = std::exchange(b.told, now);
  for (auto [on, other] : {std::pair{tier::gpu, tier::host}, std::pair{tier::host, tier::gpu}}) {
    if (now.has(on) && !was.has(on)) {
      if (was.has(other) && !now.has(other))
        events_.push_back({index_change::moved, b.id, b.group, on, b.node->hash, {}, {}, {}, {}});
      else
        events_.push_back(stored_event(b, on));
    }
    const bool told_as_moved = now.has(other) && !was.has(other);
    if (was.has(on) && !now.has(on) && !told_as_moved)
      events_.push_back({index_change::removed, b.id, b.group, on, b.node->hash, {}, {}, {}, {}});
  }
}

/// At most one fence a stream is watched: a later one in its place would be waited for instead, and there may always be
/// a later one.
void page_registry::await_written(block& b) {
  if (!b.unwritten) {
    b.unwritten = true;
    unwritten_.push_back(&b);
  }
  b.written.for_each([&](fence f) {
    if (f.sequence > passed_.sequence_on(f.stream) && written_watched_.sequence_on(f.stream) == 0)
      written_unwatched_.add(f);
  });
}

index_event page_registry::stored_event(const block& b, tier on) {
  const prefix_node& place = *b.node;
  const bool first = place.parent == place.root;
  return {index_change::stored,
          b.id,
          b.group,
          on,
          place.hash,
          first ? std::nullopt : std::optional{place.parent->hash},
          place.tokens,
          place.root->adapter,
          place.root->salt};
}

void page_registry::handle(const query_index& message, outbox& out) {
  begin(nullptr);
  index_told told{message.call, last_event_, {}};
  for (const prefix_node* place : index_.all())
    for (const block* b : place->blocks)
      for (tier on : {tier::gpu, tier::host})
        if (b != nullptr && b->told.has(on))
          told.events.push_back(stored_event(*b, on));
  out.send(std::move(told));
}

} // namespace kvferry
