#include "examples/pages/page_layout.hpp"

namespace pages {

page_layout layout_of(const kvferry::configuration& config) {
  page_layout layout;
  layout.tokens_per_block = config.tokens_per_block;
  for (const kvferry::group_config& group : config.groups) {
    auto number = static_cast<std::uint32_t>(layout.groups.size());
    group_layout made{group.kind, group.window_tokens, group.gpu_slots, group.host_slots, {}};
    for (const kvferry::buffer_config& buffer : group.buffers)
      made.buffers.emplace_back(number, static_cast<std::uint32_t>(made.buffers.size()), buffer.bytes_per_slot,
                                config.tokens_per_block);
    layout.groups.push_back(std::move(made));
  }
  return layout;
}

} // namespace pages
