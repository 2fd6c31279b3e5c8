// kvferry-step-bench: host time of an engine's steps: publishing, whole steps, how they grow with requests, an owner
// that leaves, memory per page. The caller's time in the device's calls, which are the driver's, stands apart.
//
// Prints a table. Exit status 2: the command line is wrong or there is no GPU.
#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "benchmarks/steps/engine.hpp"

namespace {

using namespace bench;
using namespace kvferry;

device_maker make_device;
int rounds = 200;

void publishing() {
  engine e(make_device(), 256, 64, 2 + 8, group_kind::dense);
  for (std::uint32_t r = 0; r < 256; ++r)
    e.open(r, 64);
  costs changed, unchanged;
  auto publish = [&] { engine::must(e.rows->publish(e.order, e.stream)); };
  for (request_id id : e.order)
    engine::must(e.rows->add(id));
  publish();
  e.settle();
  std::uint32_t next = 0, capacity = 64;
  for (int i = 0; i < rounds; ++i) {
    for (std::uint32_t k = 0; k < 8; ++k, next = (next + 1) % 256) { // a page more in each group; at last one less
      capacity = next == 0 ? capacity == 64 * 8 ? 64 : capacity + 64 : capacity;
      if (capacity == 64)
        engine::must(e.of->shrink(e.order[next], 64));
      else
        engine::must(e.of->reserve(e.order[next], capacity));
    }
    e.measure(changed, publish);
    e.measure(unchanged, publish);
  }
  changed.print("publish, 8 of 256 rows, 4 groups");
  unchanged.print("publish, nothing changed");
  if (const auto rows_us = make_device()->whole_rows_us(8, rounds))
    fmt::print("{:<58} {:>8.2f}: {:.1f} times\n", "  the same 8 rows whole, by 64 copies", *rows_us,
               *rows_us / changed.total());
}

/// Every request advances by a token and some enter a new block; complete blocks of sparse groups go to the host.
costs decode_steps(std::uint32_t requests, std::uint32_t tokens_per_block, group_kind kind) {
  engine e(make_device(), requests, tokens_per_block, 6, kind);
  for (std::uint32_t r = 0; r < requests; ++r)
    e.open(r, tokens_per_block + 1 + r % tokens_per_block);
  step_input step;
  step.stream = e.stream;
  step.order = e.order;
  step.enter_decode = e.order;
  engine::must(e.rows->step(step));
  e.settle();
  step.enter_decode.clear();
  costs found;
  const int steps = std::min<int>(rounds, static_cast<int>(3 * tokens_per_block));
  for (int i = 0; i < steps; ++i) {
    step.advance.clear();
    step.reserve.clear();
    for (std::uint32_t r = 0; r < requests; ++r) {
      if (i != 0)
        step.advance.push_back({e.order[r], ++e.history[r], {8}, false});
      step.reserve.push_back({e.order[r], e.history[r] + 1});
    }
    const auto run = [&] {
      e.of->poll();
      auto done = e.rows->step(step);
      engine::must(done);
      KVFERRY_REQUIRE(done->refused.empty(), "{}", done->refused[0].why.message);
    };
    if (i < 8)
      run(), e.settle();
    else
      e.measure(found, run);
  }
  return found;
}

/// Only four requests change, by a block each; all are in the order.
costs few_changes(std::uint32_t requests) {
  engine e(make_device(), requests, 64, 3, group_kind::dense);
  for (std::uint32_t r = 0; r < requests; ++r)
    e.open(r, 64);
  step_input step;
  step.stream = e.stream;
  step.order = e.order;
  engine::must(e.rows->step(step));
  e.settle();
  costs found;
  bool more = true;
  for (int i = 0; i < rounds; ++i, more = !more) {
    step.reserve.clear();
    for (std::uint32_t k = 0; k < 4; ++k)
      if (more)
        step.reserve.push_back({e.order[k], 65});
      else
        engine::must(e.of->shrink(e.order[k], 64));
    const auto run = [&] {
      e.of->poll();
      engine::must(e.rows->step(step));
    };
    if (more && i > 8)
      e.measure(found, run);
    else
      run(), e.settle();
  }
  return found;
}

/// A shared page waits for its last reader in prefill; the reader leaves.
costs owner_leaves() {
  engine e(make_device(), 64, 64, 64, group_kind::sparse);
  costs found;
  for (int i = 0; i < rounds; ++i) {
    std::vector<token> prompt(65, static_cast<token>(i + 1));
    const request_id decodes = e.of->open(prompt).value().request;
    engine::must(e.of->reserve(decodes, 65));
    engine::must(e.of->advance({decodes, 65, {}, true}, e.stream));
    const opened reader = e.of->open(prompt).value();
    KVFERRY_REQUIRE(reader.matched_tokens == 64, "matched {}", reader.matched_tokens);
    const auto entered = e.of->enter_decode(decodes);
    engine::must(entered);
    KVFERRY_REQUIRE(entered->deferred == groups, "{} deferred", entered->deferred);
    e.settle();
    step_input step;
    step.stream = e.stream;
    step.close = {reader.request};
    e.measure(found, [&] { engine::must(e.rows->step(step)); });
    engine::must(e.of->close(decodes));
    e.settle();
  }
  return found;
}

void memory() {
  constexpr std::uint32_t requests = 1024, blocks = 256;
  const auto used = [] {
    const auto info = mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  engine warm(make_device(), 1, 64, 1, group_kind::dense); // what the driver and the calibration keep
  const auto before = used();
  engine e(make_device(), requests, 16, blocks, group_kind::sparse);
  const auto begun = used();
  for (std::uint32_t r = 0; r < requests; ++r)
    e.open(r, 16 * blocks);
  const double pages = double{groups} * requests * blocks;
  const double tokens = 4.0 * 16 * requests * blocks;
  fmt::print("{:<58} {:>8.1f} B, {:.1f} of them when the runtime is made; prompts: {:.1f} B a page more\n",
             "memory of ours per page, 1,048,576 pages", (static_cast<double>(used() - before) - tokens) / pages,
             static_cast<double>(begun - before) / pages, tokens / pages);
}

} // namespace

int main(int argc, char** argv) {
  CLI::App app{"Measures host time of an engine's steps.", "kvferry-step-bench"};
  std::string device = "cuda";
  app.add_option("--device", device, "cuda: GPU 0; host: the emulated device (cuda)")
      ->check(CLI::IsMember({"cuda", "host"}));
  std::vector<std::string> only{"publish", "decode", "change", "leave", "memory"};
  app.add_option("--only", only, "what is measured: publish, decode, change, leave, memory (all)")
      ->check(CLI::IsMember(only));
  app.add_option("--rounds", rounds, "of each measurement")->check(CLI::Range(16, 100'000));
  CLI11_PARSE(app, argc, argv);
  auto devices = device == "host" ? expected<device_maker>{make_host_devices()} : make_cuda_devices();
  if (!devices) {
    std::fprintf(stderr, "kvferry-step-bench: %s\n", devices.error().message.c_str());
    return 2;
  }
  make_device = std::move(*devices);
  fmt::print("{:<58} {:>8} {:>8} {:>8} | messages | calls: table writes, records, waits, copy lists\n", "host us",
             "p50", "p99", "not driver");
  const auto measured = [&](const char* what) { return std::find(only.begin(), only.end(), what) != only.end(); };
  if (measured("publish"))
    publishing();
  if (measured("decode"))
    for (group_kind kind : {group_kind::dense, group_kind::sparse})
      decode_steps(256, 64, kind)
          .print(fmt::format("step, 256 requests decode, 4 enter a block, {}",
                             kind == group_kind::dense ? "dense" : "sparse: 16 pages go"));
  if (measured("change"))
    for (std::uint32_t requests : {64u, 256u, 1024u, 4096u})
      few_changes(requests).print(fmt::format("step, {} requests, 4 of them change by a block", requests));
  if (measured("decode"))
    for (std::uint32_t requests : {64u, 256u, 1024u, 4096u})
      decode_steps(requests, requests / 4, group_kind::dense)
          .print(fmt::format("step, {} requests decode, 4 enter a block, dense", requests));
  if (measured("leave"))
    owner_leaves().print("step in which an owner leaves: 4 deferred pages go");
  if (measured("memory"))
    memory();
  return 0;
}
