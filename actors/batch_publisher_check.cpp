// Invariants 7 and 8 of design section 10: rows show what their owners are bound to, and count no more than that.
#include <algorithm>

#include <fmt/format.h>

#include "actors/batch_publisher.hpp"

namespace kvferry {

namespace {

std::string words(const page_change* page) {
  return page == nullptr ? "nothing" : fmt::format("tier {} slot {}", int(page->on), page->slot);
}

/// The first entry in which two lists, sorted by group and ordinal, differ; "" when they are equal.
std::string first_difference(const std::vector<page_change>& shown, const std::vector<page_change>& bound) {
  auto at = std::mismatch(shown.begin(), shown.end(), bound.begin(), bound.end());
  if (at.first == shown.end() && at.second == bound.end())
    return "";
  const page_change* left = at.first == shown.end() ? nullptr : &*at.first;
  const page_change* right = at.second == bound.end() ? nullptr : &*at.second;
  const page_change& where = left != nullptr ? *left : *right;
  return fmt::format("group {} ordinal {}: {} is shown, {} is bound", where.group.value(), where.ordinal, words(left),
                     words(right));
}

} // namespace

void batch_publisher::handle(const check_rows& message, outbox& out) {
  rows_checked checked{message.call, {}};
  for (const claim_pages& claim : message.claims) {
    auto row = row_of(claim.request);
    if (!row || rows_[row->value()].oversized)
      continue;
    auto find = [&](const std::string& what) {
      checked.findings.push_back(fmt::format("{} (request {}, row {})", what, claim.request.value(), row->value()));
    };
    const std::string differs =
        first_difference(mirror_.pages_of(*row), claim.visible ? claim.pages : std::vector<page_change>{});
    if (!differs.empty())
      find("8: " + differs);
    for (std::size_t g = 0; g < mirror_.layout().groups.size(); ++g) {
      const auto group = group_id{static_cast<std::uint8_t>(g)};
      const std::uint32_t counted = mirror_.history_of(*row, group);
      const auto on_host = std::count_if(claim.pages.begin(), claim.pages.end(), [&](const page_change& p) {
        return p.group == group && p.ordinal < counted && p.on == tier::host;
      });
      if (counted > (claim.visible && claim.decoding ? claim.complete : 0) || on_host != counted)
        find(fmt::format("7: group {} publishes {} history blocks, {} of them are on the host, {} are complete", g,
                         counted, on_host, claim.complete));
    }
  }
  out.send(std::move(checked));
}

} // namespace kvferry
