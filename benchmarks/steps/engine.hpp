// What kvferry-step-bench measures on: an engine with requests in rows, and what each of its steps costs.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "benchmarks/steps/step_device.hpp"
#include "benchmarks/steps/timed_device.hpp"
#include "benchmarks/timing.hpp"
#include "kvferry/contract.hpp"
#include "kvferry/runtime.hpp"

namespace bench {

constexpr std::size_t groups = 4;

/// What one thing cost, over rounds.
struct costs {
  std::vector<double> total_us, device_us;
  timed_device::calls last;
  std::uint64_t messages = 0; // of the first round

  void add(double us, const timed_device::calls& calls) {
    total_us.push_back(us);
    device_us.push_back(calls.in_device_us);
    last = calls;
  }
  double total(double q = 0.5) const { return quantile(total_us, q); }
  double ours() const {
    std::vector<double> rest;
    for (std::size_t i = 0; i < total_us.size(); ++i)
      rest.push_back(total_us[i] - device_us[i]);
    return median(std::move(rest));
  }
  void print(const std::string& what) const {
    fmt::print("{:<58} {:>8.2f} {:>8.2f} {:>8.2f} | {:>3} | {:>2} {:>2} {:>2} {:>2} ({} pages)\n", what, total(),
               total(0.99), ours(), messages, last.table_writes, last.records, last.waits, last.copy_lists,
               last.copied_pages);
    std::fflush(stdout);
  }
};

/// An engine with so many requests: prompts of their own, written, in rows.
struct engine {
  engine(std::unique_ptr<step_device> on, std::uint32_t requests, std::uint32_t tokens_per_block,
         std::uint32_t blocks_each, kvferry::group_kind kind)
      : gpu(std::move(on)), timed(std::make_shared<timed_device>(gpu->interface())) {
    kvferry::configuration config;
    config.tokens_per_block = tokens_per_block;
    for (std::size_t g = 0; g < groups; ++g)
      config.groups.push_back(
          {"g" + std::to_string(g), kind, 0, {{"kv", 256}}, requests * blocks_each + 64, requests * blocks_each + 64});
    of = kvferry::runtime::create(config, timed).value();
    rows = of->create_batch({.rows = requests, .max_blocks = 2048}).value();
    stream = gpu->create_stream();
  }

  ~engine() { rows.reset(); }

  kvferry::request_id open(std::uint32_t number, std::uint32_t tokens) {
    std::vector<kvferry::token> prompt(tokens, static_cast<kvferry::token>(number + 1));
    const kvferry::request_id id = of->open(std::move(prompt)).value().request;
    must(of->reserve(id, tokens));
    must(of->advance({id, tokens, {}, false}, stream));
    order.push_back(id);
    history.push_back(tokens);
    return id;
  }

  /// What was enqueued has ended and is known.
  void settle() {
    gpu->finish();
    of->poll();
    (void)of->take_ready();
  }

  template <class T>
  static void must(const kvferry::expected<T>& done) {
    KVFERRY_REQUIRE(done.has_value(), "{}", done.error().message);
  }

  template <class Call>
  void measure(costs& into, Call call) {
    const bool first = into.total_us.empty(); // counting disturbs what is timed
    const std::uint64_t handled = first ? of->take_statistics().messages : 0;
    timed->take();
    const auto begin = std::chrono::steady_clock::now();
    call();
    const double us = us_since(begin);
    into.add(us, timed->take());
    if (first)
      into.messages = of->take_statistics().messages - handled - 1; // but for its own, the query
    settle();
  }

  std::unique_ptr<step_device> gpu;
  std::shared_ptr<timed_device> timed;
  std::unique_ptr<kvferry::runtime> of;
  std::unique_ptr<kvferry::batch> rows;
  kvferry::stream_id stream;
  std::vector<kvferry::request_id> order;
  std::vector<std::uint32_t> history;
};

} // namespace bench
