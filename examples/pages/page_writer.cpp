#include "examples/pages/page_writer.hpp"

#include <algorithm>

#include "examples/pages/table_rows.hpp"

namespace pages {
namespace {

class row_writer {
public:
  row_writer(kvferry::kernel& kernel, const step_plan& plan, const planned_row& row, const page_layout& layout,
             mismatch_log& log)
      : kernel_(kernel), plan_(plan), row_(row), layout_(layout), log_(log) {}

  /// Writes the row's new tokens of one group, block by block.
  void write(std::uint8_t group, const row_entries& entries) {
    std::uint32_t T = layout_.tokens_per_block;
    for (std::uint32_t token = row_.history_tokens; token < row_.written_tokens;) {
      std::uint32_t ordinal = token / T;
      std::uint32_t end = std::min((ordinal + 1) * T, row_.written_tokens);
      std::int32_t slot = entries.slot[ordinal];
      if (entries.tier[ordinal] == gpu_tier && slot >= 0 &&
          slot < static_cast<std::int64_t>(layout_.groups[group].gpu_slots))
        write_block(group, static_cast<std::uint32_t>(slot), ordinal, token, end);
      else
        log_.add("step {}, version {}, request {}, group {}, ordinal {}: to be written, but tier {} slot {}",
                 plan_.step, plan_.version, row_.request.value(), group, ordinal, entries.tier[ordinal], slot);
      token = end;
    }
  }

private:
  void write_block(std::uint8_t group, std::uint32_t slot, std::uint32_t ordinal, std::uint32_t first,
                   std::uint32_t last) {
    std::uint32_t begin = ordinal * layout_.tokens_per_block;
    kvferry::page_ref page{kvferry::group_id{group}, kvferry::tier::gpu, slot};
    const auto& buffers = layout_.groups[group].buffers;
    for (std::uint32_t b = 0; b < buffers.size(); ++b) {
      std::uint64_t offset = buffers[b].begin_of(first - begin);
      std::uint64_t size = buffers[b].begin_of(last - begin) - offset;
      if (size != 0) // else fewer bytes than tokens, and none is theirs
        buffers[b].fill(row_.chain->words(first, last), first - begin, kernel_.write(page, b, offset, size));
    }
  }

  kvferry::kernel& kernel_;
  const step_plan& plan_;
  const planned_row& row_;
  const page_layout& layout_;
  mismatch_log& log_;
};

} // namespace

void write_row(kvferry::kernel& kernel, const step_plan& plan, const planned_row& row, std::uint32_t place,
               const kvferry::table_view& tables, const page_layout& layout, mismatch_log& log) {
  row_writer writer(kernel, plan, row, layout, log);
  for (std::uint8_t group = 0; group < layout.groups.size(); ++group)
    writer.write(group, row_entries(tables, group, place));
}

void write_pages(kvferry::kernel& kernel, const step_plan& plan, const kvferry::table_view& tables,
                 const page_layout& layout, mismatch_log& log) {
  for (std::uint32_t i = 0; i < plan.rows.size(); ++i) {
    const planned_row& row = plan.rows[i];
    std::int32_t place = tables.active_rows[i];
    if (place < 0 || tables.row_request[place] != row.request.value()) {
      log.add("step {}, version {}, request {}: active_rows[{}] is {}, which is not its row", plan.step, plan.version,
              row.request.value(), i, place);
      continue;
    }
    write_row(kernel, plan, row, static_cast<std::uint32_t>(place), tables, layout, log);
  }
}

} // namespace pages
