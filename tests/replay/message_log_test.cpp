// What handlings append to a recorder's logs, and what becomes of it.
#include <thread>

#include "runtime/message_recorder.hpp"
#include "tests/device/death.hpp"
#include "tests/replay/edited.hpp"
#include "tests/replay/recorded_run.hpp"
#include "tests/serve/scratch_file.hpp"

namespace kvferry::test {

namespace {

using serve::test::scratch_file;

configuration recorded_configuration() {
  configuration config;
  config.groups = {{"g", group_kind::sparse, 0, {{"kv", 64}}, 8, 8}};
  return config;
}

std::unique_ptr<message_recorder> recorder_into(const scratch_file& file) {
  auto made = message_recorder::create(file.path(), recorded_configuration());
  REQUIRE(made);
  return std::move(*made);
}

const address engine{actor_kind::engine, 0};
const address registry{actor_kind::page_registry, 0};

/// A handling of a message with a list.
std::uint64_t record_one(message_recorder& recorder, std::uint64_t cause, std::uint32_t number) {
  copies_done done;
  done.results.assign(number % 5, {move_id{number}, block_id{number}, move_outcome::completed});
  return recorder.handling(engine, registry, cause, message_index<copies_done>, &done);
}

} // namespace

TEST_CASE("a message is recorded as it was when its handling began, and stays the handler's") {
  scratch_file file("record.jsonl", "");
  auto recorder = recorder_into(file);
  {
    copies_done done;
    done.results.assign(3, {move_id{1}, block_id{2}, move_outcome::completed});
    recorder->handling(engine, registry, 0, message_index<copies_done>, &done);
    REQUIRE(done.results.size() == 3);
    done.results.at(1).block = block_id{7};
  }
  recorder->called({actor_kind::storage, 0}, device_record{stream_id{0}, fence{stream_id{0}, 5}});
  recorder->flush();
  const trace_file read = parsed(content_of(file.path()));
  REQUIRE(read.records().size() == 2);
  auto message = trace_file::message_of(read.at(1));
  REQUIRE(message);
  for (const move_result& result : message->get_if<copies_done>()->results)
    REQUIRE(result.block == block_id{2});
  REQUIRE(read.at(2).cause == 1);
}

TEST_CASE("a message of any length is recorded between others") {
  scratch_file file("record.jsonl", "");
  {
    auto recorder = recorder_into(file);
    // Around what a chunk holds, and far more than may be ahead of the writer.
    for (std::size_t tokens : {16'300, 16'340, 16'352, 16'361, 16'362, 16'363, 16'370, 16'400, 5'000'000}) {
      record_one(*recorder, 0, 3);
      open_request large;
      large.prompt.assign(tokens, 9);
      large.prompt.back() = static_cast<token>(tokens);
      recorder->handling(engine, {actor_kind::request_cache, 1}, 0, message_index<open_request>, &large);
    }
    record_one(*recorder, 0, 4);
  }
  const trace_file read = parsed(content_of(file.path()));
  REQUIRE(read.records().size() == 19);
  for (std::uint64_t seq = 2; seq < 19; seq += 2) {
    auto message = trace_file::message_of(read.at(seq));
    REQUIRE(message);
    const auto& prompt = message->get_if<open_request>()->prompt;
    REQUIRE(prompt.size() == static_cast<std::size_t>(prompt.back()));
    REQUIRE(prompt.front() == 9);
  }
}

TEST_CASE("records of several threads stand in the order of their numbers, none lost") {
  scratch_file file("record.jsonl", "");
  constexpr std::uint32_t each = 20'000;
  {
    auto recorder = recorder_into(file);
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t)
      threads.emplace_back([&] {
        for (std::uint32_t i = 0; i < each; ++i) {
          copies_done done;
          done.results.assign(i % 5, {move_id{i}, block_id{i}, move_outcome::completed});
          recorder->handling(engine, registry, 0, message_index<copies_done>, &done);
        }
      });
    for (std::thread& thread : threads)
      thread.join();
  }
  const trace_file read = parsed(content_of(file.path()));
  REQUIRE(read.state() == trace_state::cut); // no end_of_run, and nothing worse
  REQUIRE(read.records().size() == 3 * each);
}

TEST_CASE("what was recorded is in the file once it is flushed") {
  scratch_file file("record.jsonl", "");
  auto recorder = recorder_into(file);
  std::uint64_t last = 0;
  for (std::uint32_t i = 0; i < 10; ++i)
    last = record_one(*recorder, last, i);
  recorder->flush();
  const trace_file read = parsed(content_of(file.path()));
  REQUIRE(read.records().size() == 10);
  REQUIRE(read.at(10).cause == 9);
}

TEST_CASE("a broken contract leaves a record that names the message that broke it") {
  scratch_file file("record.jsonl", "");
  const std::string words = words_of_death([&] {
    auto recorder = message_recorder::create(file.path(), recorded_configuration());
    copies_done done;
    done.results.assign(1, {move_id{4}, block_id{7}, move_outcome::completed});
    (*recorder)->handling(engine, registry, 0, message_index<copies_done>, &done);
    KVFERRY_REQUIRE(done.results.empty(), "{} results", done.results.size());
  });
  REQUIRE(words.find("1 results") != std::string::npos);
  const trace_file read = parsed(content_of(file.path()));
  REQUIRE(read.records().size() == 1);
  REQUIRE(read.at(1).body == R"({"results":[{"move":4,"block":7,"outcome":"completed"}]})");
}

} // namespace kvferry::test
