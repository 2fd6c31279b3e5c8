// The page tables as text.
#include "examples/scenario/page_words.hpp"
#include "examples/scenario/took.hpp"

namespace scenarios {
namespace {

std::string_view word_of(request_record::state status) {
  switch (status) {
  case request_record::state::loading: return "loading";
  case request_record::state::active: return "active";
  case request_record::state::suspended: return "suspended";
  case request_record::state::dropped: return "dropped";
  case request_record::state::closed: return "closed";
  case request_record::state::lost: return "lost";
  }
  return "?";
}

/// What the device's tables show of the request now; the device may be behind.
std::string published_row(const batch_record& b, kvferry::request_id request, std::size_t group) {
  for (std::uint32_t row = 0; row < b.tables.rows; ++row) {
    if (b.tables.row_request[row] != request.value())
      continue;
    std::string text = fmt::format("row {}:", row);
    for (std::uint32_t o = 0; o < b.tables.max_blocks; ++o) {
      const std::size_t at = std::size_t{row} * b.tables.max_blocks + o;
      const auto on = static_cast<kvferry::tier>(b.tables.groups[group].page_tier[at]);
      if (on != kvferry::tier::none)
        text += fmt::format(" {} {}", on == kvferry::tier::gpu ? "gpu" : "host", b.tables.groups[group].page_index[at]);
    }
    return text + (text.back() == ':' ? " empty" : "") +
           fmt::format(", num_blocks {}, version {}", b.tables.groups[group].num_blocks[row],
                       b.tables.row_version[row]);
  }
  return "no row";
}

} // namespace

std::string world::page_table() {
  std::string text;
  if (!alive())
    return text;
  for (auto& [name, r] : requests_) {
    if (r.status == request_record::state::closed)
      continue;
    auto storage = runtime_->storage_of(r.id);
    if (!storage) {
      text += fmt::format("    {:<8} {}\n", name, to_string(storage.error().code));
      continue;
    }
    const std::string head =
        fmt::format("{:<8} {:<7} {:<9}", name, r.decoding ? "decode" : "prefill", word_of(r.status));
    for (std::size_t g = 0; g < storage->groups.size(); ++g) {
      std::string blocks;
      for (const kvferry::block_place& at : storage->groups[g].blocks)
        blocks += fmt::format("{}{}", blocks.empty() ? "" : ", ", words_of(at));
      text += fmt::format("    {:<26} {:<10} {} | history {}", g == 0 ? head : "", runtime_->config().groups[g].name,
                          blocks.empty() ? "no blocks" : blocks, storage->groups[g].history_blocks);
      if (auto b = batches_.find(r.batch); b != batches_.end())
        text += " | " + published_row(b->second, r.id, g);
      text += "\n";
    }
  }
  return text;
}

} // namespace scenarios
