#include "device/host/order_checker.hpp"

#include <limits>

#include <fmt/format.h>

namespace kvferry {

namespace {

std::string_view name_of(tier on) { return on == tier::gpu ? "gpu" : "host"; }

} // namespace

order_checker::order_checker(order_check mode)
    : mode_(mode), sample_mask_(mode == order_check::sampled ? 15 : 0), names_{"an operation"} {}

void order_checker::add_stream(std::string_view name) {
  streams_.push_back({std::string(name), {}});
  grow_shadows();
}

void order_checker::set_pools(const std::vector<pool_slots>& groups) {
  pools_ = groups;
  shadows_.clear();
  grow_shadows();
}

void order_checker::grow_shadows() {
  if (!enabled())
    return;
  shadows_.resize(pools_.size() * 2);
  for (std::size_t i = 0; i < shadows_.size(); ++i) {
    std::uint32_t slots = i % 2 == 0 ? pools_[i / 2].gpu : pools_[i / 2].host;
    shadows_[i].writes.resize(slots);
    for (std::size_t stream = 0; stream < streams_.size(); ++stream)
      shadows_[i].last_read[stream].resize(slots);
  }
}

void order_checker::enqueued(std::uint32_t stream, std::string_view what) {
  if (!enabled())
    return;
  auto found = name_index_.find(what);
  // Names that are all different (say a step's number in each) must not take memory without end.
  if (found == name_index_.end() && names_.size() <= std::numeric_limits<std::uint16_t>::max()) {
    found = name_index_.emplace(what, static_cast<std::uint16_t>(names_.size())).first;
    names_.emplace_back(what);
  }
  streams_[stream].operations.push_back(found == name_index_.end() ? std::uint16_t{0} : found->second);
}

void order_checker::check_write(const stamp& by, page_ref page, bool begins_page) {
  shadow& of = shadow_of(page);
  last_write& last = of.writes[page.slot];
  if (last.stream == by.stream && last.sequence == by.sequence)
    return;
  if (!by.before.covers(last.stream, last.sequence))
    report_pair(page, "write", by, "write", last.stream, last.sequence);
  for (std::uint32_t stream = 0; stream < streams_.size(); ++stream) {
    std::uint32_t& read = of.last_read[stream][page.slot];
    if (!by.before.covers(stream, read))
      report_pair(page, "write", by, "read", stream, read);
    read = 0; // whoever comes after this write comes after what it came after
  }
  last.sequence = by.sequence;
  last.stream = by.stream & 15u;
  last.generation = (last.generation + (begins_page ? 1u : 0u)) & 0xFFFFFFFu;
}

void order_checker::report_pair(page_ref page, std::string_view access, const stamp& by, std::string_view earlier,
                                std::uint32_t earlier_stream, std::uint32_t earlier_sequence) {
  if (first_found_.size() == reports_max) {
    ++found_;
    return;
  }
  report(fmt::format("group {} {} slot {} (generation {}): {} by {} is not ordered after {} by {}", page.group.value(),
                     name_of(page.tier), page.slot, std::uint32_t{shadow_of(page).writes[page.slot].generation}, access,
                     describe(by.stream, by.sequence), earlier, describe(earlier_stream, earlier_sequence)));
}

void order_checker::report(std::string description) {
  ++found_;
  if (first_found_.size() < reports_max)
    first_found_.push_back({std::move(description)});
}

std::string order_checker::describe(std::uint32_t stream, std::uint32_t sequence) const {
  const auto& on = streams_[stream];
  std::size_t name = sequence - 1 < on.operations.size() ? on.operations[sequence - 1] : 0;
  return fmt::format("{} at {}:{}", names_[name], on.name, sequence);
}

} // namespace kvferry
