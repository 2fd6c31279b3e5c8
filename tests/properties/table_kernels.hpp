// Kernels that do what a model's would, through the published tables: write the KV of new tokens, and read what
// attention reads. They compare all that they find with what the engine knew when it published.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kvferry/host_device.hpp"
#include "kvferry/runtime.hpp"
#include "tests/properties/kv_record.hpp"

namespace kvferry::test {

/// What a row of a publication has to show.
struct expected_row {
  request_id request;
  bool visible = false; ///< its request is active, and fits
  bool fits = true;     ///< else it is shown as a hole
  kv_sequence kv;
  std::uint32_t written = 0;               ///< tokens whose kernels come before the publication in every stream's order
  std::uint32_t ordered = 0;               ///< tokens of these that reads on other streams come after
  std::vector<std::uint32_t> may_count;    ///< by group: num_blocks is no more than this
  std::optional<page_storage> before = {}; ///< where pages were when the publication was asked for,
  std::optional<page_storage> after = {};  ///< and when it had been answered
};

/// What a publication has to show. A value that kernels share.
struct expected_tables {
  configuration config;
  table_view tables;
  version_number version = 0;
  std::vector<std::optional<expected_row>> rows; ///< none: a hole
  std::vector<std::int32_t> active;              ///< rows in the engine's order
};

/// Tokens [from, until) of the request in `row`, to be written.
struct row_write {
  std::uint32_t row = 0;
  std::uint32_t from = 0;
  std::uint32_t until = 0;
};

/// Writes through the tables. What does not fit them goes to `wrong`, as a sentence.
void write_tokens(kernel& gpu, const expected_tables& expected, const std::vector<row_write>& writes,
                  std::vector<std::string>& wrong);

/// Compares every entry of the tables.
void check_entries(const expected_tables& expected, std::vector<std::string>& wrong);

/// Reads through the tables: of each visible row the blocks that are full of written tokens, and with `partial` the
/// rest of its tokens too, behind the writes given.
void read_tokens(kernel& gpu, const expected_tables& expected, const std::vector<row_write>& writes, bool partial,
                 std::vector<std::string>& wrong);

} // namespace kvferry::test
