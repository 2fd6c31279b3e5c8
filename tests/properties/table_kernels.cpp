#include "tests/properties/table_kernels.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace kvferry::test {
namespace {

constexpr std::uint8_t gpu_tier = 0;
constexpr std::uint8_t host_tier = 1;
constexpr std::uint8_t no_tier = 255;

/// One group's entries of a row, as they lie in the tables.
struct entries {
  const std::int32_t* slot;
  const std::uint8_t* tier;
  std::int32_t num_blocks;

  entries(const expected_tables& expected, std::size_t group, std::uint32_t row)
      : slot(expected.tables.groups[group].page_index + std::size_t{row} * expected.tables.max_blocks),
        tier(expected.tables.groups[group].page_tier + std::size_t{row} * expected.tables.max_blocks),
        num_blocks(expected.tables.groups[group].num_blocks[row]) {}

  bool empty(std::uint32_t ordinal) const { return slot[ordinal] == -1 && tier[ordinal] == no_tier; }

  bool shows(std::uint32_t ordinal, const page_storage& storage, std::size_t group) const {
    const auto& blocks = storage.groups[group].blocks;
    if (ordinal >= blocks.size() || blocks[ordinal].tier == kvferry::tier::none)
      return empty(ordinal);
    return slot[ordinal] == static_cast<std::int32_t>(blocks[ordinal].slot) &&
           tier[ordinal] == static_cast<std::uint8_t>(blocks[ordinal].tier);
  }
};

std::string where(const expected_tables& expected, std::uint32_t row, std::size_t group, std::uint32_t ordinal) {
  const entries e(expected, group, row);
  return fmt::format("version {}, row {}, request {}, group {}, block {} shown in tier {} slot {}", expected.version,
                     row, expected.rows[row] ? expected.rows[row]->request.value() : 0,
                     expected.config.groups[group].name, ordinal, e.tier[ordinal], e.slot[ordinal]);
}

bool slot_exists(const group_config& group, std::uint8_t tier, std::int32_t slot) {
  const std::uint32_t slots = tier == gpu_tier ? group.gpu_slots : tier == host_tier ? group.host_slots : 0;
  return slot >= 0 && static_cast<std::uint32_t>(slot) < slots;
}

/// Calls `part(buffer, first byte, bytes per token)` for each buffer of a page.
template <class Function>
void each_buffer(const group_config& group, std::uint32_t tokens_per_block, Function part) {
  for (std::uint32_t b = 0; b < group.buffers.size(); ++b)
    part(b, group.buffers[b].bytes_per_slot / tokens_per_block);
}

/// Tokens [from, until) of the block, which holds the sequence's tokens from `first` on.
void read_block(kernel& gpu, const expected_tables& expected, std::uint32_t row, std::size_t group,
                std::uint32_t ordinal, std::uint32_t until, std::vector<std::string>& wrong) {
  const entries e(expected, group, row);
  const group_config& config = expected.config.groups[group];
  const std::uint32_t t = expected.config.tokens_per_block;
  const page_ref page{group_id{static_cast<std::uint8_t>(group)}, static_cast<kvferry::tier>(e.tier[ordinal]),
                      static_cast<std::uint32_t>(e.slot[ordinal])};
  each_buffer(config, t, [&](std::uint32_t b, std::uint64_t width) {
    const auto found = gpu.read(page, b, 0, (until - ordinal * t) * width);
    for (std::uint64_t i = 0; i < found.size(); ++i) {
      const auto position = static_cast<std::uint32_t>(ordinal * t + i / width);
      const std::byte right =
          kv_byte(expected.rows[row]->kv.words()[position], static_cast<std::uint32_t>(group), b, i % width);
      if (found[i] != right) {
        wrong.push_back(fmt::format("{}: token {} has byte {:#04x} in buffer {}, should have {:#04x}",
                                    where(expected, row, group, ordinal), position, std::to_integer<int>(found[i]), b,
                                    std::to_integer<int>(right)));
        return;
      }
    }
  });
}

void check_row(const expected_tables& expected, std::uint32_t row, std::vector<std::string>& wrong) {
  const std::optional<expected_row>& should = expected.rows[row];
  const std::uint64_t holder = should && should->fits ? should->request.value() : request_id::none().value();
  if (expected.tables.row_request[row] != holder)
    wrong.push_back(fmt::format("version {}, row {}: request {}, should be {}", expected.version, row,
                                expected.tables.row_request[row], holder));
  if (expected.tables.row_version[row] > expected.version)
    wrong.push_back(fmt::format("version {}, row {}: changed by version {}", expected.version, row,
                                expected.tables.row_version[row]));
  for (std::size_t g = 0; g < expected.config.groups.size(); ++g) {
    const entries e(expected, g, row);
    for (std::uint32_t o = 0; o < expected.tables.max_blocks; ++o) {
      const bool right =
          should && should->visible ? e.shows(o, *should->before, g) || e.shows(o, *should->after, g) : e.empty(o);
      if (!right)
        wrong.push_back(fmt::format("{}: {}", where(expected, row, g, o),
                                    should && should->visible ? "its page is elsewhere" : "should be empty"));
    }
    const auto most = static_cast<std::int32_t>(should && should->visible ? should->may_count[g] : 0);
    if (e.num_blocks < 0 || e.num_blocks > most)
      wrong.push_back(
          fmt::format("{}: num_blocks is {}, should be at most {}", where(expected, row, g, 0), e.num_blocks, most));
    std::int32_t on_host = 0;
    while (on_host < most && e.tier[on_host] == host_tier)
      ++on_host;
    if (e.num_blocks != on_host)
      wrong.push_back(fmt::format("{}: num_blocks is {}, {} blocks from the front are on the host",
                                  where(expected, row, g, 0), e.num_blocks, on_host));
  }
}

} // namespace

void write_tokens(kernel& gpu, const expected_tables& expected, const std::vector<row_write>& writes,
                  std::vector<std::string>& wrong) {
  const std::uint32_t t = expected.config.tokens_per_block;
  for (const row_write& write : writes)
    for (std::size_t g = 0; g < expected.config.groups.size(); ++g)
      for (std::uint32_t position = write.from; position < write.until; ++position) {
        const std::uint32_t ordinal = position / t;
        const entries e(expected, g, write.row);
        if (e.tier[ordinal] != gpu_tier || !slot_exists(expected.config.groups[g], gpu_tier, e.slot[ordinal])) {
          wrong.push_back(where(expected, write.row, g, ordinal) + ": it is to be written");
          return;
        }
        const page_ref page{group_id{static_cast<std::uint8_t>(g)}, kvferry::tier::gpu,
                            static_cast<std::uint32_t>(e.slot[ordinal])};
        each_buffer(expected.config.groups[g], t, [&](std::uint32_t b, std::uint64_t width) {
          const auto bytes = gpu.write(page, b, (position % t) * width, width);
          for (std::uint64_t i = 0; i < width; ++i)
            bytes[i] = kv_byte(expected.rows[write.row]->kv.words()[position], static_cast<std::uint32_t>(g), b, i);
        });
      }
}

void check_entries(const expected_tables& expected, std::vector<std::string>& wrong) {
  for (std::uint32_t row = 0; row < expected.tables.rows; ++row)
    check_row(expected, row, wrong);
  if (*expected.tables.num_active != static_cast<std::int32_t>(expected.active.size()))
    wrong.push_back(fmt::format("version {}: num_active is {}, should be {}", expected.version,
                                *expected.tables.num_active, expected.active.size()));
  for (std::uint32_t i = 0; i < expected.tables.rows; ++i) {
    const std::int32_t should = i < expected.active.size() ? expected.active[i] : -1;
    if (expected.tables.active_rows[i] != should)
      wrong.push_back(fmt::format("version {}: active_rows[{}] is {}, should be {}", expected.version, i,
                                  expected.tables.active_rows[i], should));
  }
}

void read_tokens(kernel& gpu, const expected_tables& expected, const std::vector<row_write>& writes, bool partial,
                 std::vector<std::string>& wrong) {
  const std::uint32_t t = expected.config.tokens_per_block;
  for (std::uint32_t row = 0; row < expected.rows.size(); ++row) {
    if (!expected.rows[row] || !expected.rows[row]->visible)
      continue;
    std::uint32_t written = partial ? expected.rows[row]->written : expected.rows[row]->ordered;
    for (const row_write& write : writes)
      if (write.row == row)
        written = std::max(written, write.until);
    const std::uint32_t end = partial ? written : written / t * t;
    for (std::size_t g = 0; g < expected.config.groups.size(); ++g)
      for (std::uint32_t ordinal = 0; ordinal * t < end; ++ordinal) {
        const entries e(expected, g, row);
        if (e.empty(ordinal))
          continue; // that it may be is for check_places to know
        if (!slot_exists(expected.config.groups[g], e.tier[ordinal], e.slot[ordinal]))
          wrong.push_back(where(expected, row, g, ordinal) + ": there is no such slot");
        else
          read_block(gpu, expected, row, g, ordinal, std::min(end, (ordinal + 1) * t), wrong);
      }
  }
}

} // namespace kvferry::test
