// The counters in a picture of a run: free slots and deferred blocks, which only the registry itself knows. Watches a
// replay.
#pragma once

#include <map>
#include <string>

#include <fmt/format.h>

#include "runtime/trace/concerned_claims.hpp"
#include "runtime/trace/perfetto_events.hpp"
#include "runtime/trace/replayer.hpp"

namespace kvferry {

class registry_counters final : public replay_observer {
public:
  /// `time_of` says where a record is drawn.
  registry_counters(const configuration& config, perfetto_events& events, std::uint64_t (*time_of)(std::uint64_t seq))
      : config_(config), events_(events), time_of_(time_of) {}

  void handled(const trace_record& record, const any_message& message, const std::vector<outgoing>& sent,
               const replayed_actors& actors) override {
    if (record.to.kind != actor_kind::page_registry)
      return;
    const page_registry& registry = *actors.registry();
    for (std::size_t g = 0; g < config_.groups.size(); ++g)
      for (tier on : {tier::gpu, tier::host}) {
        const auto group = group_id{static_cast<std::uint8_t>(g)};
        show(record, fmt::format("free {} slots, {}", on == tier::gpu ? "GPU" : "host", config_.groups[g].name),
             registry.ledger().free_count(group, on));
      }
    for (request_id request : requests_of(message, sent))
      if (const claim* c = registry.find_claim(request))
        for (const auto& table : c->tables)
          for (const claim_entry& entry : table)
            if (entry.held != nullptr && entry.held->deferred_at != 0)
              deferred_[entry.held] = entry.held->id;
    std::erase_if(deferred_, [](const auto& d) { return d.first->id != d.second || d.first->deferred_at == 0; });
    show(record, "deferred blocks", deferred_.size());
  }

private:
  void show(const trace_record& record, const std::string& name, std::uint64_t value) {
    auto [place, fresh] = shown_.try_emplace(name, value);
    if (fresh || place->second != value)
      events_.counter(time_of_(record.seq), name, value);
    place->second = value;
  }

  const configuration& config_;
  perfetto_events& events_;
  std::uint64_t (*time_of_)(std::uint64_t seq);
  std::map<std::string, std::uint64_t> shown_;
  std::map<const block*, block_id> deferred_; // records of blocks are reused, never freed
};

} // namespace kvferry
