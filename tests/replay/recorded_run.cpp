#include "tests/replay/recorded_run.hpp"

#include <array>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "examples/serve/serve.hpp"
#include "kvferry/host_device.hpp"
#include "runtime/configuration_json.hpp"
#include "runtime/runtime_impl.hpp"
#include "tests/catch.hpp"
#include "tests/serve/scratch_file.hpp"

namespace kvferry::test {

namespace {

using serve::test::scratch_file;

template <class T>
T must(expected<T> result) {
  INFO((result ? "" : result.error().message));
  REQUIRE(result.has_value());
  if constexpr (!std::is_void_v<T>)
    return std::move(*result);
}

configuration small_configuration(std::uint32_t gpu_slots) {
  configuration config;
  config.tokens_per_block = 4;
  config.groups = {{"attention", group_kind::sparse, 0, {{"kv", 64}}, gpu_slots, 64}};
  return config;
}

std::vector<token> prompt(token first, std::size_t tokens) {
  std::vector<token> made;
  for (std::size_t i = 0; i < tokens; ++i)
    made.push_back(first + static_cast<token>(i));
  return made;
}

} // namespace

std::string content_of(const std::filesystem::path& file) {
  std::ifstream in{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

std::string record_of_shared_block() {
  scratch_file file("shared_block.jsonl", "");
  configuration config = small_configuration(6);
  config.record_path = file.path();
  {
    auto gpu = host_device::create();
    auto rt = must(runtime::create(config, gpu->interface()));
    auto rows = must(rt->create_batch({.rows = 3, .max_blocks = 8}));
    const stream_id stream = gpu->create_stream("compute");
    auto publish = [&](std::span<const request_id> order) {
      must(rows->publish(order, stream));
      gpu->run_all();
      rt->poll();
    };

    const request_id a = must(rt->open(prompt(1, 12))).request;
    must(rows->add(a));
    must(rt->reserve(a, 12));
    publish(std::array{a});
    must(rt->advance({a, 12, {13}, true}, stream));

    auto shared = prompt(1, 4);
    shared.insert(shared.end(), {21, 22, 23, 24});
    const request_id b = must(rt->open(shared)).request;
    must(rows->add(b));
    must(rt->reserve(b, 8));
    must(rt->enter_decode(a));
    publish(std::array{a, b});

    must(rt->advance({b, 8, {25}, true}, stream));
    must(rt->enter_decode(b));
    publish(std::array{a, b});
    publish(std::array{a, b});

    const request_id c = must(rt->open(prompt(100, 24))).request;
    must(rows->add(c));
    must(rt->reserve(c, 24)); // all slots there are
    publish(std::array{a, b, c});
    for (request_id each : {a, b, c})
      must(rt->close(each));
    publish({});
    rows.reset();
    rt->shut_down();
  }
  return content_of(file.path());
}

std::string record_of_branch() {
  scratch_file file("branch.jsonl", "");
  configuration config = small_configuration(6);
  config.record_path = file.path();
  {
    auto gpu = host_device::create();
    auto rt = must(runtime::create(config, gpu->interface()));
    const stream_id stream = gpu->create_stream("compute");
    const request_id a = must(rt->open(prompt(1, 8))).request;
    must(rt->reserve(a, 8));
    must(rt->advance({a, 8, {9}, true}, stream));
    auto half_way = prompt(1, 6);
    half_way.insert(half_way.end(), {31, 32});
    const request_id b = must(rt->open(half_way)).request;
    for (int round = 0; round < 2; ++round) {
      rt->poll();
      gpu->run_all();
    }
    rt->poll();
    for (request_id each : {a, b})
      must(rt->close(each));
  }
  return content_of(file.path());
}

std::string record_of_death() {
  scratch_file file("death.jsonl", "");
  configuration config = small_configuration(16);
  config.record_path = file.path();
  {
    auto gpu = host_device::create();
    runtime_impl rt{config, gpu->interface(), must(gpu->interface()->make_pools(config)),
                    must(message_recorder::create(config.record_path, config)), nullptr};
    const batch_id rows = must(rt.create_batch({.rows = 2, .max_blocks = 8}));
    const stream_id stream = gpu->create_stream("compute");
    const request_id a = must(rt.open(prompt(1, 12), {})).request;
    const request_id b = must(rt.open(prompt(50, 12), {})).request;
    for (request_id each : {a, b}) {
      must(rt.add(rows, each));
      must(rt.reserve(each, 12));
    }
    must(rt.publish(rows, std::array{a, b}, stream));
    must(rt.advance_history({a, 12, {13}, true}, stream));
    rt.kill(address_of(a));
    must(rt.publish(rows, std::array{b}, stream));
    gpu->run_all();
    rt.poll();
    must(rt.close(b, {}));
    rt.close_batch(rows);
    rt.shut_down();
  }
  return content_of(file.path());
}

serve::serve_options rough_options() {
  serve::serve_options options;
  options.tokens_per_block = 64;
  auto groups = serve::parse_groups("sparse:2x64,dense:1x64:window=128");
  REQUIRE(groups);
  options.groups = *groups;
  options.gpu_slots = 14;
  options.host_slots = 20;
  options.rows = 8;
  options.prefill_tokens = 512;
  options.fail_copies = 0.05;
  options.abort = 0.003;
  options.suspend = 0.06;
  return options;
}

std::string record_of_workload(serve::serve_options options, std::uint32_t requests, std::uint32_t router_events_max) {
  std::string text; // Mooncake's form: an id per 512 tokens; all share the first, every third the second
  for (std::uint32_t i = 0; i < requests; ++i)
    text += fmt::format(R"({{"timestamp":{},"input_length":{},"output_length":{},"hash_ids":[0,{}]}})"
                        "\n",
                        i * 40, 540 + 97 * (i % 4), 20 + 15 * (i % 3), 1 + i % 3);
  scratch_file lines("small.jsonl", text), record("record.jsonl", "");
  auto loaded = serve::read_workload(lines.path(), {});
  REQUIRE(loaded);
  configuration listened = must(serve::configuration_of(options));
  listened.router_events_max = router_events_max;
  scratch_file config("router.json", to_json_text(listened));
  if (router_events_max > 0)
    options.config = config.path().string();
  options.record = record.path().string();
  auto report = serve::serve_workload(options, *loaded);
  INFO((report ? serve::table_of(*report) : report.error().message));
  REQUIRE(report);
  REQUIRE(report->good());
  return content_of(record.path());
}

} // namespace kvferry::test
