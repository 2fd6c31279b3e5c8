// Storage: batches per direction, at once or with the step, each move answered once.
#include "actors/storage.hpp"

#include "tests/actors/probe.hpp"
#include "tests/device/rig.hpp"

namespace kvferry::test {

namespace {

page_move move_of(std::uint64_t number, move_kind kind, std::uint32_t gpu, std::uint32_t host, std::uint8_t group = 0) {
  return {move_id{number}, kind, block_id{number + 100}, group_id{group}, gpu_slot{gpu}, host_slot{host},
          gpu_slot::none()};
}

/// Two groups, which most tests use the first of.
struct storage_rig {
  storage_rig()
      : device({}, config_of({group_of({24, 8}, 32, 32), group_of({16}, 32, 32)})),
        engine(device.gpu->create_stream("engine")), store(*device.runtime_view) {}

  void copy(std::vector<page_move> moves, bool urgent = false, fence_set to_host = {}, fence_set to_gpu = {}) {
    store.send(copy_pages{std::move(moves), std::move(to_host), std::move(to_gpu), urgent});
  }

  std::vector<copies_submitted> submitted() const {
    std::vector<copies_submitted> all;
    for (const outgoing& each : store.sent)
      if (auto* body = each.body.get_if<copies_submitted>())
        all.push_back(*body);
    return all;
  }

  static std::vector<std::uint64_t> numbers(const copies_submitted& of) {
    std::vector<std::uint64_t> list;
    for (const page_move& move : of.moves)
      list.push_back(move.move.value());
    return list;
  }

  rig device;
  stream_id engine;
  probe<storage> store;
};

using ids = std::vector<std::uint64_t>;

} // namespace

TEST_CASE("copies wait for the end of the step, and go as one batch in each direction") {
  storage_rig r;
  r.copy({move_of(1, move_kind::offload, 0, 0), move_of(2, move_kind::load, 1, 1)});
  REQUIRE(r.store.sent.empty());
  r.copy({move_of(3, move_kind::spill, 2, 2)});
  REQUIRE(r.store.sent.empty());
  REQUIRE(r.store.state.unfinished() == 3);
  r.store.send(submit_copies{});
  REQUIRE(r.submitted().size() == 2);
  REQUIRE(storage_rig::numbers(r.submitted()[0]) == ids{1, 3});
  REQUIRE(storage_rig::numbers(r.submitted()[1]) == ids{2});
  REQUIRE(r.submitted()[0].submitted.stream != r.submitted()[1].submitted.stream);
  REQUIRE(r.store.count<watch_copies>() == 2);
  r.store.send(submit_copies{});
  REQUIRE(r.store.sent.empty()); // nothing is queued
}

TEST_CASE("a copy that a reply waits for is submitted at once, with all that was queued before") {
  storage_rig r;
  r.copy({move_of(1, move_kind::offload, 0, 0)});
  r.copy({move_of(2, move_kind::demote, 1, 1)}, true);
  REQUIRE(r.submitted().size() == 1);
  REQUIRE(storage_rig::numbers(r.submitted()[0]) == ids{1, 2});
}

TEST_CASE("each move is answered once, with its block and whether its bytes are there") {
  storage_rig r;
  r.copy({move_of(1, move_kind::offload, 0, 0), move_of(2, move_kind::offload, 1, 1),
          move_of(3, move_kind::offload, 2, 2)},
         true);
  const fence at = r.submitted()[0].submitted;
  r.store.send(copy_completed{at, {1}});
  const auto done = r.store.only<copies_done>();
  REQUIRE(done.results.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    REQUIRE(done.results[i].move == move_id{i + 1});
    REQUIRE(done.results[i].block == block_id{i + 101});
    REQUIRE(done.results[i].outcome == (i != 1 ? move_outcome::completed : move_outcome::failed));
  }
  REQUIRE(r.store.state.unfinished() == 0);
  r.store.send(copy_completed{at, {}});
  REQUIRE(r.store.sent.empty());
  r.store.send(copy_completed{{stream_id{0}, 77}, {}});
  REQUIRE(r.store.sent.empty());
}

TEST_CASE("submissions of both directions end apart, in either order") {
  storage_rig r;
  r.copy({move_of(1, move_kind::offload, 0, 0), move_of(2, move_kind::load, 1, 1)}, true);
  const auto all = r.submitted();
  r.store.send(copy_completed{all[1].submitted, {}});
  REQUIRE(r.store.only<copies_done>().results.at(0).move == move_id{2});
  r.store.send(copy_completed{all[0].submitted, {0}});
  REQUIRE(r.store.only<copies_done>().results.at(0).outcome == move_outcome::failed);
}

TEST_CASE("both directions of a step go in one call, unless a load goes to a slot that is demoted") {
  storage_rig r;
  const bool follows = GENERATE(false, true);
  r.device.gpu->hold_stream(r.engine);
  const fence_set written = r.device.gpu->record(r.engine);
  r.copy({move_of(1, move_kind::demote, 0, 0), move_of(2, move_kind::load, follows ? 0 : 1, 1)}, true, written);
  r.device.gpu->run_all();
  REQUIRE_FALSE(r.device.gpu->passed(r.submitted().at(0).submitted));
  REQUIRE(r.device.gpu->passed(r.submitted().at(1).submitted) != follows);
  r.device.gpu->release_stream(r.engine);
  r.device.gpu->run_all();
  REQUIRE(r.device.gpu->passed(r.submitted().at(1).submitted));
  REQUIRE(r.device.gpu->unordered_accesses() == 0);
}

TEST_CASE("bytes go the right way, and the right pages") {
  storage_rig r;
  r.device.fill(r.engine, gpu_page(3), 42);
  r.copy({move_of(1, move_kind::offload, 3, 5)}, true, r.device.gpu->record(r.engine));
  r.device.gpu->run_all();
  r.device.runtime_view->poll();
  r.copy({move_of(2, move_kind::load, 7, 5)}, true);
  bool right = false;
  r.device.gpu->wait(r.engine, r.submitted()[0].submitted);
  r.device.compare(r.engine, gpu_page(7), 42, &right);
  r.device.gpu->run_all();
  REQUIRE(right);
  REQUIRE(r.device.gpu->unordered_accesses() == 0);
}

TEST_CASE("A1 A2: copies of each direction come after the fences they were sent with, whenever they are submitted") {
  // A1, A2: the copy read before the writer, or wrote before the reader.
  storage_rig r;
  const stream_id reader = r.device.gpu->create_stream("reader");
  r.device.gpu->hold_stream(r.engine);
  r.device.gpu->hold_stream(reader);
  const fence written = r.device.gpu->record(r.engine), read = r.device.gpu->record(reader);
  r.copy({move_of(1, move_kind::offload, 0, 0)}, false, written);
  r.copy({move_of(2, move_kind::load, 1, 1)}, false, {}, read);
  r.store.send(submit_copies{});
  const auto all = r.submitted();
  r.device.gpu->run_all();
  REQUIRE_FALSE(r.device.gpu->passed(all[0].submitted));
  REQUIRE_FALSE(r.device.gpu->passed(all[1].submitted));
  r.device.gpu->release_stream(reader);
  r.device.gpu->run_all();
  REQUIRE_FALSE(r.device.gpu->passed(all[0].submitted));
  REQUIRE(r.device.gpu->passed(all[1].submitted));
  r.device.gpu->release_stream(r.engine);
  r.device.gpu->run_all();
  REQUIRE(r.device.gpu->passed(all[0].submitted));
}

TEST_CASE("a load into the slot of a demoted page waits for the demotion") {
  storage_rig r;
  r.device.fill(r.engine, gpu_page(3), 1);
  const bool together = GENERATE(true, false);
  r.device.gpu->hold_stream(r.engine); // what the demotion has to wait for
  const fence_set written = r.device.gpu->record(r.engine);
  fence demotion, load;
  if (together) {
    r.copy({move_of(1, move_kind::demote, 3, 5), move_of(2, move_kind::load, 3, 6)}, true, written);
    demotion = r.submitted().at(0).submitted;
    load = r.submitted().at(1).submitted;
  } else {
    r.copy({move_of(1, move_kind::demote, 3, 5)}, true, written);
    demotion = r.submitted().at(0).submitted;
    r.copy({move_of(2, move_kind::load, 3, 6)}, true);
    load = r.submitted().at(0).submitted;
  }
  r.device.gpu->run_all();
  REQUIRE_FALSE(r.device.gpu->passed(load));
  r.device.gpu->release_stream(r.engine);
  r.device.gpu->run_all();
  REQUIRE(r.device.gpu->passed(load));
  REQUIRE(r.device.gpu->unordered_accesses() == 0);
}

TEST_CASE("A7: a load waits for the demotion out of its own slot, and not out of that of another group") {
  // A7: the key of what is pending left out which pool it is in.
  storage_rig r;
  const std::uint8_t left = GENERATE(std::uint8_t{0}, std::uint8_t{1});
  const std::uint8_t other = left == 0 ? 1 : 0;
  r.device.gpu->hold_stream(r.engine); // what the demotion has to wait for
  r.copy({move_of(1, move_kind::demote, 3, 5, left)}, true, r.device.gpu->record(r.engine));
  r.copy({move_of(2, move_kind::load, 3, 6, other)}, true);
  const fence elsewhere = r.submitted().at(0).submitted;
  r.copy({move_of(3, move_kind::load, 3, 6, left)}, true);
  const fence there = r.submitted().at(0).submitted;
  r.device.gpu->run_all();
  REQUIRE(r.device.gpu->passed(elsewhere));
  REQUIRE_FALSE(r.device.gpu->passed(there));
  r.device.gpu->release_stream(r.engine);
  r.device.gpu->run_all();
  REQUIRE(r.device.gpu->passed(there));
  REQUIRE(r.device.gpu->unordered_accesses() == 0);
}

TEST_CASE("a load into a slot whose demotion has ended waits for nothing") {
  storage_rig r;
  r.copy({move_of(1, move_kind::demote, 3, 5)}, true);
  const fence demotion = r.submitted().at(0).submitted;
  r.device.gpu->run_all();
  r.store.send(copy_completed{demotion, {}});
  r.device.gpu->hold_stream(demotion.stream);
  r.copy({move_of(2, move_kind::load, 3, 6)}, true);
  const fence load = r.submitted().at(0).submitted;
  r.device.gpu->run_all();
  REQUIRE(r.device.gpu->passed(load));
}

TEST_CASE("a branch is copied within the GPU, on the stream of the loads, or loaded from its host page") {
  storage_rig r;
  page_move within = move_of(1, move_kind::branch, 1, 0);
  within.host = host_slot::none();
  within.from = gpu_slot{2};
  const page_move from_host = move_of(2, move_kind::branch, 3, 4);
  r.copy({within, from_host}, true);
  REQUIRE(r.submitted().size() == 2);
  REQUIRE(storage_rig::numbers(r.submitted()[0]) == ids{1});
  REQUIRE(storage_rig::numbers(r.submitted()[1]) == ids{2});
  REQUIRE(r.submitted()[0].submitted.stream == r.submitted()[1].submitted.stream);
}

TEST_CASE("what is on no stream can be cancelled, and is answered once") {
  storage_rig r;
  r.store.send(copy_pages{{move_of(1, move_kind::offload, 0, 0), move_of(2, move_kind::load, 1, 1)}, {}, {}, false});
  r.store.send(cancel_copies{{move_id{2}, move_id{9}}});
  const copies_done done = r.store.only<copies_done>();
  REQUIRE(done.results.size() == 1);
  REQUIRE(done.results[0].move == move_id{2});
  REQUIRE(done.results[0].outcome == move_outcome::cancelled);
  r.store.send(submit_copies{});
  REQUIRE(r.store.only<copies_submitted>().moves.size() == 1);
  r.store.send(cancel_copies{{move_id{1}, move_id{2}}}); // too late
  REQUIRE(r.store.count<copies_done>() == 0);
  REQUIRE(r.store.state.unfinished() == 1);
}

} // namespace kvferry::test
