// kvferry-bench: how fast page copies are, against what the link allows and what the driver's own calls give.
//
// Prints a table; `--json FILE` writes all numbers. Exit status 2: the command line is wrong or there is no GPU.
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "benchmarks/cuda/cells.hpp"

namespace {

constexpr std::uint64_t KiB = 1024;

std::string command_of(int argc, char** argv) {
  std::string text = "kvferry-bench";
  for (int i = 1; i < argc; ++i)
    text += std::string(" ") + argv[i];
  return text;
}

/// Of the checkout, when it can be had; $KVFERRY_COMMIT else.
std::string commit() {
  const char* given = std::getenv("KVFERRY_COMMIT");
  return given == nullptr ? "unknown" : given;
}

} // namespace

int main(int argc, char** argv) {
  bench::bench_options options;
  std::vector<std::uint64_t> page_kib{4, 16, 64, 256, 2048};
  std::vector<std::uint32_t> pages{64, 512, 4096, 16'384, 100'000};
  std::vector<std::string> directions{"to host", "to gpu", "both"};
  std::string json;
  std::uint64_t mib_max = 16 * KiB;
  bool no_matrix = false;
  CLI::App app{"Measures page copies between a GPU and pinned host memory.", "kvferry-bench"};
  app.add_option("--page-kib", page_kib, "page sizes, in KiB");
  app.add_option("--pages", pages, "pages of a cell");
  app.add_option("--mib-max", mib_max, "bytes of a cell, in MiB; larger cells are left out");
  app.add_option("--seconds", options.seconds_per_way, "time for each way of a cell");
  app.add_option("--directions", directions, "to host, to gpu, both");
  app.add_flag("--kvferry-only", options.kvferry_only, "leave out kvferry held to one way: it takes memory of its own");
  app.add_flag("--no-matrix", no_matrix, "do not measure beside matrix products");
  app.add_option("--json", json, "a file for all numbers");
  CLI11_PARSE(app, argc, argv);
  options.bytes_max = mib_max << 20;
  if (auto gpus = kvferry::cuda_device::count(); !gpus) {
    std::fprintf(stderr, "kvferry-bench: %s\n", gpus.error().message.c_str());
    return 2;
  }

  bench::page_bench bench(0, options);
  const bench::run_facts facts{bench.gpu_name(), command_of(argc, argv), commit(), bench.sms()};
  fmt::print("{}, {} SMs; {}; commit {}\n{}", facts.gpu, facts.sms, facts.command, facts.commit, bench::heading());
  std::vector<bench::cell> cells;
  for (std::uint64_t kib : page_kib) {
    std::vector<std::uint32_t> counts;
    for (std::uint32_t count : pages)
      if (count * kib * KiB <= options.bytes_max)
        counts.push_back(count);
    if (counts.empty())
      continue;
    // Beside matrix products only the first count whose copy takes a millisecond.
    auto long_enough = std::find_if(counts.begin(), counts.end(), [&](auto count) { return count * kib >= 64 * KiB; });
    const std::uint32_t beside_matrix = long_enough == counts.end() ? counts.back() : *long_enough;
    bench.use_pages(kib * KiB, *std::max_element(counts.begin(), counts.end()));
    for (std::uint32_t count : counts)
      for (const std::string& direction : directions)
        for (bool scattered : {false, true})
          for (bool matrix : {false, true}) {
            if (matrix && (no_matrix || scattered || count != beside_matrix))
              continue;
            cells.push_back(bench.measure({count, direction, scattered, matrix}));
            fmt::print("{}", bench::line_of(cells.back()));
            std::fflush(stdout);
          }
  }
  if (!json.empty()) {
    std::ofstream out(json, std::ios::binary);
    out << bench::json_of(facts, cells);
    if (!out.flush()) {
      std::fprintf(stderr, "kvferry-bench: %s: cannot be written\n", json.c_str());
      return 2;
    }
  }
  return 0;
}
