// The order of messages as a strategy's choice (kvferry/delivery.hpp).
#include "kvferry/delivery.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>

#include "kvferry/contract.hpp"
#include "kvferry/test_hooks.hpp"
#include "tests/device/death.hpp"
#include "tests/runtime/runtime_rig.hpp"
#include "tests/serve/scratch_file.hpp"

namespace kvferry::test {
namespace {

/// Does what a function says, and notes what it was told.
struct scripted_order final : delivery_strategy {
  using function = std::function<std::optional<std::size_t>(std::span<const waiting_message>, bool)>;
  explicit scripted_order(function choose) : choose(std::move(choose)) {}

  std::optional<std::size_t> next(std::span<const waiting_message> waiting, bool caller_may_go_on) override {
    most_waiting = std::max(most_waiting, waiting.size());
    return choose(waiting, caller_may_go_on);
  }
  void handling(actor_key who, std::string_view message) noexcept override {
    handled.push_back(to_string(who) + " " + std::string{message});
  }
  void told_engine(actor_key) noexcept override { ++told; }
  void called_device(actor_key who, stream_id, std::optional<fence>) noexcept override { ++calls[to_string(who)]; }
  void ended(actor_key who) noexcept override { ends.push_back(to_string(who)); }
  void caller_goes_on() noexcept override { ++went_on; }

  function choose;
  std::vector<std::string> handled, ends;
  std::map<std::string, int> calls;
  int told = 0, went_on = 0;
  std::size_t most_waiting = 0;
};

std::optional<std::size_t> oldest(std::span<const waiting_message>, bool) { return 0; }

/// The caller goes on as soon as it may.
std::optional<std::size_t> hasty(std::span<const waiting_message>, bool caller_may_go_on) {
  return caller_may_go_on ? std::nullopt : std::optional<std::size_t>{0};
}

/// The newest message that is the oldest of its two ends.
std::optional<std::size_t> newest(std::span<const waiting_message> waiting, bool) {
  for (std::size_t i = waiting.size(); i-- > 0;)
    if (is_oldest_of_its_ends(waiting, i))
      return i;
  return 0;
}

struct ordered_rig {
  explicit ordered_rig(scripted_order::function choose, bool by_strategy = true,
                       const std::filesystem::path& record = {})
      : order(std::move(choose)) {
    configuration config = config_of({group_of({8}, 16, 16)});
    config.tokens_per_block = 4;
    config.record_path = record;
    of = runtime::create(config, gpu->interface(), by_strategy ? &order : nullptr).value();
    rows = of->create_batch({.rows = 4, .max_blocks = 8}).value();
  }

  /// One request from its prompt to host pages and its end.
  void serve_one() {
    const request_id id = of->open(runtime_rig::prompt('a', 2)).value().request;
    REQUIRE(of->reserve(id, 8));
    REQUIRE(rows->add(id));
    REQUIRE(rows->publish({{id}}, engine));
    REQUIRE(of->advance({id, 7, {}, true}, engine));
    REQUIRE(of->enter_decode(id).value().moving == 1);
    REQUIRE(rows->publish({{id}}, engine));
    for (int round = 0; round < 4; ++round) {
      gpu->run_all();
      of->poll();
    }
    REQUIRE(of->close(id));
    REQUIRE(rows->publish({}, engine));
    for (int round = 0; round < 4; ++round) {
      gpu->run_all();
      of->poll();
    }
  }

  std::shared_ptr<host_device> gpu = host_device::create();
  stream_id engine = gpu->create_stream("compute");
  scripted_order order;
  std::unique_ptr<runtime> of;
  std::unique_ptr<batch> rows;
};

} // namespace

TEST_CASE("actors have names, and names lead back to them") {
  for (const char* name : {"engine", "page_registry", "storage", "completions", "request_cache/7", "batch_publisher/2"})
    REQUIRE(to_string(actor_named(name).value()) == name);
  REQUIRE(actor_named("engine") == actor_key::engine);
  REQUIRE_FALSE(actor_named("page_registrar"));
}

TEST_CASE("a strategy that takes the oldest message delivers as the configuration's fifo does") {
  auto record_of = [](bool by_strategy) {
    const serve::test::scratch_file record{"order.jsonl", ""};
    {
      ordered_rig r(oldest, by_strategy, record.path());
      r.serve_one();
    }
    std::ifstream in{record.path(), std::ios::binary};
    std::vector<std::string> told;
    for (std::string line; std::getline(in, line);)
      if (const auto from = line.find("\"from\""); // when the engine looks at its answers is its own matter
          from != std::string::npos && line.find("\"to\":\"engine\"") == std::string::npos)
        told.push_back(line.substr(from, line.find(",\"cause\"") - from) +
                       line.substr(line.find("\"body\""), line.find(",\"check\"") - line.find("\"body\"")));
    return told;
  };
  const std::vector<std::string> by_strategy = record_of(true);
  REQUIRE(by_strategy.size() > 50);
  REQUIRE(by_strategy == record_of(false));
}

TEST_CASE("a strategy hears of handlings, of what the engine is told, of calls on streams, and of its going on") {
  ordered_rig r(oldest);
  r.serve_one();
  REQUIRE(r.of->take_statistics().pages_offloaded == 1);
  REQUIRE(r.order.told >= 10);
  REQUIRE(r.order.went_on > 10);
  REQUIRE(r.order.calls.contains("storage"));
  REQUIRE(r.order.calls.contains("batch_publisher/1"));
  REQUIRE(r.order.handled.front() == "page_registry register_request");
  REQUIRE(r.order.ends == std::vector<std::string>{"request_cache/1"});
  r.rows.reset();
  REQUIRE(r.order.ends.back() == "batch_publisher/1");
  REQUIRE(std::find(r.order.handled.begin(), r.order.handled.end(), "request_cache/1 enter_decode") !=
          r.order.handled.end());
}

TEST_CASE(
    "a caller that goes on as soon as it has its answer leaves messages on their way, and is served all the same") {
  ordered_rig r(hasty);
  r.serve_one();
  REQUIRE(r.order.most_waiting > 3);
  r.order.choose = oldest;
  r.gpu->run_all();
  r.of->poll();
  r.of->poll();
  REQUIRE(r.of->take_statistics().pages_offloaded == 1);
  REQUIRE(r.of->check_quiet().value() == std::vector<std::string>{});
  r.order.choose = hasty;
  r.rows.reset();
  const leftovers left = r.of->shut_down(); // delivers what is left
  REQUIRE(left.slots + left.owners + left.copies + left.requests == 0);
}

TEST_CASE("a strategy that takes the newest message it may ends in the same place") {
  ordered_rig r(newest);
  r.serve_one();
  REQUIRE(r.of->take_statistics().pages_offloaded == 1);
  REQUIRE(r.of->check_quiet().value() == std::vector<std::string>{});
}

TEST_CASE("the news of a request's end comes from the request, behind all that it has sent") {
  std::string news;
  ordered_rig r([&news](std::span<const waiting_message> waiting, bool) -> std::optional<std::size_t> {
    news.clear();
    for (const waiting_message& message : waiting)
      news += to_string(message.from) + " to " + to_string(message.to) + "; ";
    return 0;
  });
  const request_id id = r.of->open(runtime_rig::prompt('a', 2)).value().request;
  REQUIRE(kill_request(*r.of, id));
  REQUIRE(news == "request_cache/1 to page_registry; ");
  REQUIRE(std::find(r.order.handled.begin(), r.order.handled.end(), "page_registry request_down") !=
          r.order.handled.end());
}

TEST_CASE("a strategy cannot deliver a message before an older one with the same two ends") {
  REQUIRE_THAT(words_of_death([] {
                 ordered_rig r([](std::span<const waiting_message> waiting, bool) { return waiting.size() - 1; });
                 r.of->poll(); // two messages to the registry
                 r.of->poll();
                 r.order.choose = hasty;
                 r.of->poll();
                 r.of->poll();
                 r.order.choose = [](std::span<const waiting_message> waiting, bool) { return waiting.size() - 1; };
                 r.of->poll();
               }),
               ContainsSubstring("from engine to page_registry is behind an older one"));
}

TEST_CASE("a contract that a strategy breaks can be thrown, and the runtime ends all the same") {
  const contracts_throw contracts;
  {
    ordered_rig r(oldest);
    r.order.choose = [](std::span<const waiting_message>, bool) { return std::size_t{99}; };
    REQUIRE_THROWS_AS(r.of->poll(), contract_failure);
    r.order.choose = oldest;
  }
  REQUIRE_THAT(contracts.broken().value(), ContainsSubstring("message 99 of 1"));
}

TEST_CASE("runtimes that leave their actor system to the next are like any other") {
  const auto handled_of_one = [] {
    ordered_rig r(newest);
    r.serve_one();
    return r.order.handled;
  };
  const std::vector<std::string> expected = handled_of_one();
  const keeps_actor_host kept;
  for (int i = 0; i < 3; ++i)
    REQUIRE(handled_of_one() == expected);
  {
    ordered_rig first(newest); // two at a time have one each
    REQUIRE(handled_of_one() == expected);
    first.serve_one();
    REQUIRE(first.order.handled == expected);
  }
  {
    const contracts_throw contracts;
    ordered_rig broken(oldest);
    broken.order.choose = [](std::span<const waiting_message>, bool) { return std::size_t{99}; };
    REQUIRE_THROWS_AS(broken.of->poll(), contract_failure);
    broken.order.choose = oldest;
  }
  REQUIRE(handled_of_one() == expected);
}

TEST_CASE("threads deliver as they like: a strategy for them is refused") {
  configuration config = config_of({group_of({8}, 16, 16)});
  config.scheduler = scheduler_kind::threaded;
  scripted_order order(oldest);
  const auto made = runtime::create(config, host_device::create()->interface(), &order);
  REQUIRE_FALSE(made);
  REQUIRE(made.error().code == error_code::invalid_configuration);
  REQUIRE_THAT(made.error().message, ContainsSubstring("scheduler is threaded"));
}

} // namespace kvferry::test
