// Two requests share a prefix. One decodes while the other still needs the shared block on the GPU, so that block
// waits; it moves, for both, when the other decodes too. Exits with 1 when something is not as it should be.
#include <algorithm>
#include <array>
#include <cstdlib>

#include <fmt/format.h>

#include "kvferry/host_device.hpp"
#include "kvferry/runtime.hpp"

using namespace kvferry;

constexpr std::uint64_t page_bytes = 64;
static bool good = true;

static void expect(bool right, std::string_view what) {
  fmt::print("{} {}\n", right ? " ok" : "NOT", what);
  good = good && right;
}

template <class T>
static T must(expected<T> result) {
  if (!result) {
    fmt::print(stderr, "{}: {}\n", to_string(result.error().code), result.error().message);
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>)
    return std::move(*result);
}

// Where a block's page is. A kernel finds the tables as they were published last before it was launched.
static page_ref page_at(const table_view& tables, row_id row, std::uint32_t block) {
  std::size_t entry = std::size_t{row.value()} * tables.max_blocks + block;
  auto slot = static_cast<std::uint32_t>(tables.groups[0].page_index[entry]);
  return {group_id{0}, tier{tables.groups[0].page_tier[entry]}, slot};
}

// A kernel that prints a row, and reads its pages wherever they are: the KV of a block is one letter, repeated.
static void attention(kernel& k, const table_view& tables, row_id row, std::string_view letters) {
  fmt::print("    row {} | num_blocks {}", row.value(), tables.groups[0].num_blocks[row.value()]);
  for (std::uint32_t block = 0; block < letters.size(); ++block) {
    page_ref page = page_at(tables, row, block);
    fmt::print(" | {} {:>4} {}", letters[block], page.tier == tier::gpu ? "gpu" : "host", page.slot);
    good = good && std::ranges::count(k.read(page, 0, 0, page_bytes), std::byte(letters[block])) == page_bytes;
  }
  fmt::print("{}\n", good ? "" : " | NOT these letters");
}

int main() {
  configuration config;
  config.tokens_per_block = 4;
  config.groups = {{"attention", group_kind::sparse, 0, {{"kv", page_bytes}}, 16, 64}};
  auto gpu = host_device::create(); // emulated; runs when it is told to
  auto rt = must(runtime::create(config, gpu->interface()));
  auto rows = must(rt->create_batch({.rows = 2, .max_blocks = 4}));
  table_view tables = rows->tables();
  stream_id stream = gpu->create_stream("compute");
  auto prefill = [&](row_id row, std::uint32_t block, char letter) {
    gpu->launch(stream, "prefill", [=](kernel& k) {
      std::ranges::fill(k.write(page_at(tables, row, block), 0, 0, page_bytes), std::byte(letter));
    });
  };

  // A has a prompt of three blocks. When they are submitted and committed others may share them, behind `stream`.
  request_id a = must(rt->open({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})).request;
  row_id row_a = must(rows->add(a));
  must(rt->reserve(a, 12));
  must(rows->publish(std::array{a}, stream));
  for (std::uint32_t block = 0; block < 3; ++block)
    prefill(row_a, block, "abc"[block]);
  must(rt->advance({a, 12, {13}}, stream)); // 13: the first token that it generates
  must(rt->commit(a));

  // B begins with the same block and has yet to compute its second one when A decodes.
  opened found = must(rt->open({1, 2, 3, 4, 21, 22, 23, 24}));
  expect(found.matched_tokens == 4, "B finds A's first block");
  request_id b = found.request;
  row_id row_b = must(rows->add(b));
  must(rt->reserve(b, 8));
  decode_entry entry = must(rt->enter_decode(a));
  expect(entry.moving == 2 && entry.deferred == 1, "A decodes: two of its blocks move, the shared one waits");
  expect(must(rt->why_on_gpu(a, group_id{0}, 0)).at(0).request == b, "because B needs it on the GPU");
  must(rows->publish(std::array{a, b}, stream)); // copies are submitted with it
  prefill(row_b, 1, 'd');

  auto look = [&] {
    gpu->launch(stream, "attention", [=](kernel& k) {
      attention(k, tables, row_a, "abc");
      attention(k, tables, row_b, "ad");
    });
    gpu->run_all();
    rt->poll(); // what has been copied enters here, to be published next
  };
  look();
  must(rt->advance({b, 8, {25}, true}, stream));
  expect(must(rt->enter_decode(b)).moving == 2, "B decodes: its own block moves, and the shared one for both");
  for (int step = 0; step < 2; ++step) {
    must(rows->publish(std::array{a, b}, stream));
    look();
  }
  auto history = [&](row_id row) { return tables.groups[0].num_blocks[row.value()]; };
  expect(history(row_a) == 3 && history(row_b) == 2, "all of their history is on the host");
  expect(rt->take_statistics().pages_offloaded == 4, "by four copies");
  return good ? 0 : 1;
}
