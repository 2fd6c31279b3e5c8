// Publications in the device's order: streams, readers, staging.
#include "tests/actors/publisher_rig.hpp"

namespace kvferry::test {

namespace {

const request_id R1 = publisher_rig::R1, R2 = publisher_rig::R2;

page_change gpu(block_ordinal o, std::uint32_t slot) { return publisher_rig::page(tier::gpu, o, slot); }

/// Slot of block 0 in row 0 as a kernel on `stream` finds it, when all work has run.
int* look(publisher_rig& r, stream_id stream, int& found) {
  auto* tables = r.tables.get();
  r.device.gpu->launch(stream, "look", [tables, &found](kernel&) {
    found = table_layout(1, publisher_rig::shape).view(tables->data()).groups[0].page_index[0];
  });
  return &found;
}

/// Version 1 shows slot 10 in row 0; a read of it on `other` was begun and has been launched, and is held.
void hold_a_read(publisher_rig& r, int& found) {
  r.join(R1, 1, {gpu(0, 10)});
  r.publish({}, {R1});
  r.device.gpu->run_all();
  r.send(begin_read{call_id{2}, r.other});
  r.device.gpu->hold_stream(r.other);
  look(r, r.other, found);
}

/// Whatever waited for the read goes on.
void let_the_read_go(publisher_rig& r) {
  r.device.gpu->release_stream(r.other);
  r.device.gpu->run_all();
}

bool all_passed(publisher_rig& r, const fence_set& fences) {
  bool passed = true;
  fences.for_each([&](fence f) { passed = passed && r.device.gpu->passed(f); });
  return passed;
}

} // namespace

TEST_CASE("B1 B2: steps in flight see their own version, however far publications have gone on") {
  // B1, B2: one staging buffer that the next step overwrote in place.
  publisher_rig r(GENERATE(publisher_options{}, publisher_rig::all_staged()));
  std::vector<int> found(6, -9);
  r.join(R1, 1, {gpu(0, 10)});
  for (int step = 0; step < 6; ++step) {
    r.change(R1, static_cast<row_seq>(step + 2), {gpu(0, static_cast<std::uint32_t>(step))});
    r.publish({}, {R1});
    look(r, r.engine, found[static_cast<std::size_t>(step)]);
  }
  r.device.gpu->run_all();
  REQUIRE(found == std::vector<int>{0, 1, 2, 3, 4, 5});
  REQUIRE(r.device.gpu->unordered_accesses() == 0);
}

TEST_CASE("a publication comes after what it is told to wait for") {
  publisher_rig r;
  r.device.gpu->hold_stream(r.other);
  r.device.gpu->launch(r.other, "before", [](kernel&) {});
  r.join(R1, 1, {gpu(0, 10)});
  r.send(publish{call_id{1}, {}, {}, r.engine, r.device.gpu->record(r.other), {}});
  const fence written = r.device.gpu->record(r.engine);
  r.device.gpu->run_all();
  REQUIRE_FALSE(r.device.gpu->passed(written));
  r.device.gpu->release_stream(r.other);
  r.device.gpu->run_all();
  REQUIRE(r.device.gpu->passed(written));
}

TEST_CASE("a read on another stream sees the latest publication") {
  publisher_rig r;
  r.join(R1, 1, {gpu(0, 10)});
  r.send(begin_read{call_id{1}, r.other});
  REQUIRE(r.publisher.only<read_changed>().refused->code == error_code::not_published);
  r.publish({}, {R1});
  r.device.gpu->hold_stream(r.engine);
  r.send(begin_read{call_id{2}, r.other});
  REQUIRE(r.publisher.only<read_changed>().version == 1);
  int found = -9;
  look(r, r.other, found);
  r.device.gpu->run_all();
  REQUIRE(found == -9); // waits for the table writes
  r.device.gpu->release_stream(r.engine);
  r.device.gpu->run_all();
  REQUIRE(found == 10);
}

TEST_CASE("a publication while a read is open is refused by name, and nothing is lost") {
  publisher_rig r;
  r.join(R1, 1, {gpu(0, 10)});
  r.publish({}, {R1});
  r.send(begin_read{call_id{2}, r.other});
  r.send(begin_read{call_id{3}, r.other});
  r.change(R1, 2, {gpu(0, 11)});
  r.publish({{R1, 2}}, {R1});
  REQUIRE(r.done().refused->code == error_code::read_open);
  REQUIRE(r.done().version == 1);
  r.send(end_read{call_id{4}, r.other});
  r.publish({{R1, 2}}, {R1});
  REQUIRE(r.done().refused->code == error_code::read_open); // one is open still
  r.send(end_read{call_id{5}, r.other});
  REQUIRE_FALSE(r.publisher.only<read_changed>().refused.has_value());
  r.publish({{R1, 2}}, {R1});
  REQUIRE(r.done().version == 2);
  r.send(end_read{call_id{6}, r.other});
  REQUIRE(r.publisher.only<read_changed>().refused.has_value());
}

TEST_CASE("tables are not rewritten before the readers of the last version have read them") {
  publisher_rig r;
  int found = -9;
  hold_a_read(r, found);
  r.send(end_read{call_id{3}, r.other});
  r.change(R1, 2, {gpu(0, 11)});
  r.publish({}, {R1});
  const fence_set readers = r.told().readers;
  r.device.gpu->run_all();
  REQUIRE_FALSE(all_passed(r, readers)); // slots that it unnames wait for them, too
  let_the_read_go(r);
  REQUIRE(all_passed(r, readers));
  REQUIRE(found == 10);
}

TEST_CASE("a publication that changes nothing comes after the reads that have ended, and its news with it") {
  publisher_rig r;
  int found = -9;
  hold_a_read(r, found);
  r.send(end_read{call_id{3}, r.other});
  const bool with_news = GENERATE(false, true);
  if (with_news) { // as it was: the page in slot 11 was never shown
    r.change(R1, 2, {gpu(0, 11)});
    r.change(R1, 3, {gpu(0, 10)});
  }
  r.publish({}, {R1});
  REQUIRE(r.done().version == 1);
  const fence_set readers = r.told().readers;
  REQUIRE(readers.empty() != with_news);
  int step_saw = -9;
  look(r, r.engine, step_saw);
  r.device.gpu->run_all();
  REQUIRE(step_saw == -9); // a step writes into pages that the read may read
  let_the_read_go(r);
  REQUIRE(all_passed(r, readers));
  REQUIRE(found == 10);
  REQUIRE(step_saw == 10);
}

TEST_CASE("a publication that only adds pages is one call on the device, and leaves no fence") {
  publisher_rig r;
  r.join(R1, 1, {gpu(0, 10)});
  r.publish({}, {R1});
  const fence before = r.device.gpu->record(r.engine);
  r.change(R1, 2, {gpu(1, 11)});
  r.publish({}, {R1});
  REQUIRE(r.done().version == 2);
  REQUIRE(r.device.gpu->record(r.engine).sequence == before.sequence + 2); // this one, and the table writes
  REQUIRE(r.told().shown == std::vector<row_number>{{R1, 2}});
  REQUIRE(r.told().readers.empty());
}

TEST_CASE("a page that goes, moves or has its row left is told with readers") {
  publisher_rig r;
  r.join(R1, 1, {gpu(0, 10), gpu(1, 11)});
  r.join(R2, 1, {gpu(0, 20)});
  r.publish({}, {R1, R2});
  const int what = GENERATE(0, 1, 2, 3, 4, 5);
  switch (what) {
  case 0: r.change(R1, 2, {publisher_rig::page(tier::none, 1, 0)}); break;
  case 1: r.change(R1, 2, {publisher_rig::page(tier::host, 1, 11)}); break;
  case 2: r.change(R1, 2, {gpu(1, 12)}); break;
  case 3: r.change(R1, 2, {gpu(0, 10)}, true); break; // the whole row, without one
  case 4: r.send(leave_row{R1, false}); break;
  case 5: r.send(drop_row{R1}); break;
  }
  INFO(what);
  r.publish({}, {R1, R2});
  REQUIRE(r.told().readers.sequence_on(r.engine) > 0);
}

TEST_CASE("news of a publication that changes no table have the readers of now") {
  publisher_rig r;
  r.join(R1, 1, {gpu(0, 10), gpu(1, 11)});
  r.publish({}, {R1});
  r.change(R1, 2, {gpu(1, 12)});
  r.publish({}, {R1});
  r.device.gpu->run_all();
  r.device.gpu->hold_stream(r.engine);
  r.device.gpu->launch(r.engine, "step", [](kernel&) {});
  r.change(R1, 3, {gpu(1, 13)});
  r.change(R1, 4, {gpu(1, 12)}); // as it was
  r.publish({}, {R1});
  REQUIRE(r.done().version == 2);
  const fence_set readers = r.told().readers;
  r.device.gpu->run_all();
  REQUIRE_FALSE(all_passed(r, readers)); // the step is one of them
  r.device.gpu->release_stream(r.engine);
  r.device.gpu->run_all();
  REQUIRE(all_passed(r, readers));
}

TEST_CASE("what a row that is too long would have lost is told with readers as well") {
  publisher_rig r;
  r.join(R1, 1, {gpu(0, 10)});
  r.publish({}, {R1});
  r.change(R1, 2, {gpu(publisher_rig::shape.max_blocks, 11)});
  r.publish({}, {R1});
  REQUIRE(r.told().readers.sequence_on(r.engine) > 0);
  r.device.gpu->launch(r.engine, "step", [](kernel&) {});
  r.change(R1, 3, {publisher_rig::page(tier::host, 0, 5)}); // slot 10, which the first version showed
  r.publish({}, {R1});
  REQUIRE(r.told().readers.sequence_on(r.engine) > 0);
}

TEST_CASE("once there was a read on another stream, each publication leaves the place that such a read waits for") {
  publisher_rig r;
  r.join(R1, 1, {gpu(0, 10)});
  r.publish({}, {R1});
  r.send(begin_read{call_id{2}, r.other});
  r.send(end_read{call_id{3}, r.other});
  r.change(R1, 2, {gpu(1, 11)});
  r.publish({}, {R1});
  r.device.gpu->run_all();
  r.device.gpu->hold_stream(r.engine);
  r.device.gpu->launch(r.engine, "step", [](kernel&) {}); // behind the publication: the read need not wait for it
  r.send(begin_read{call_id{4}, r.other});
  int found = -9;
  look(r, r.other, found);
  r.device.gpu->run_all();
  REQUIRE(found == 10);
  r.device.gpu->release_stream(r.engine);
}

TEST_CASE("a batch that is closed while reads are open leaves fences of their streams") {
  publisher_rig r;
  int found = -9;
  hold_a_read(r, found);
  r.send(close_batch{call_id{3}, {}});
  const fence_set readers = r.publisher.only<batch_closed>().readers;
  REQUIRE(r.told().readers.sequence_on(r.other) == readers.sequence_on(r.other));
  r.device.gpu->run_all();
  REQUIRE_FALSE(r.device.gpu->passed({r.other, readers.sequence_on(r.other)}));
  let_the_read_go(r);
  REQUIRE(r.device.gpu->passed({r.other, readers.sequence_on(r.other)}));
  REQUIRE(found == 10);
}

TEST_CASE("a publication on another stream that is refused leaves the stream of the one before") {
  publisher_rig r(publisher_rig::all_staged());
  r.join(R1, 1, {gpu(0, 10)});
  r.publish({}, {R1});
  r.change(R1, 2, {gpu(0, 11)});
  r.device.gpu->fail_allocation(0); // the first slot of the staging memory is still read
  r.publish({{R1, 2}}, {R1}, r.other);
  REQUIRE(r.done().refused->code == error_code::out_of_memory);
  r.device.gpu->begin_capture(r.other); // nothing of it is asked of that stream any more
  r.publish({{R1, 2}}, {R1});
  REQUIRE(r.done().version == 2);
  r.device.gpu->end_capture(r.other);
}

TEST_CASE("a read ends on the stream on which it was begun") {
  publisher_rig r;
  r.join(R1, 1, {gpu(0, 10)});
  r.publish({}, {R1});
  r.send(begin_read{call_id{2}, r.other});
  r.send(end_read{call_id{3}, r.engine});
  REQUIRE(r.publisher.only<read_changed>().refused->code == error_code::invalid_argument);
  r.send(end_read{call_id{4}, r.other});
  REQUIRE_FALSE(r.publisher.only<read_changed>().refused.has_value());
}

TEST_CASE("readers of the last version are told with the publication after it, of the publishing stream as well") {
  publisher_rig r;
  r.join(R1, 1, {gpu(0, 10)});
  r.publish({}, {R1});
  REQUIRE(r.told().readers.empty()); // there was no version to read
  r.device.gpu->launch(r.engine, "step", [](kernel&) {});
  r.change(R1, 2, {gpu(0, 11)});
  r.publish({}, {R1});
  const std::uint64_t behind_step = r.told().readers.sequence_on(r.engine);
  REQUIRE(behind_step > 0);
  REQUIRE(r.told().readers.sequence_on(r.other) == 0);
}

TEST_CASE("a publication on another stream comes after the old one's work") {
  publisher_rig r;
  r.join(R1, 1, {gpu(0, 10)});
  r.publish({}, {R1});
  r.device.gpu->run_all();
  r.device.gpu->hold_stream(r.engine);
  int found = -9;
  look(r, r.engine, found);
  r.change(R1, 2, {gpu(0, 11)});
  r.publish({}, {R1}, r.other);
  r.device.gpu->run_all();
  r.device.gpu->release_stream(r.engine);
  r.device.gpu->run_all();
  REQUIRE(found == 10);
  REQUIRE(r.slots(0)[0] == 11);
}

// Was wrong once: a publication that changes nothing is not ordered behind the stream of the version it returns, and
// that stream goes on counting as the publishing one. Design section 5: publishing on another stream than last time
// first orders it after the old one; the publishing stream needs no begin_read.
TEST_CASE("a publication on another stream that changes nothing still comes after the old one's table writes") {
  publisher_rig r;
  r.join(R1, 1, {gpu(0, 10)});
  r.device.gpu->hold_stream(r.engine);
  r.publish({}, {R1});
  r.publish({}, {R1}, r.other);
  REQUIRE(r.done().version == 1);
  int found = -9;
  look(r, r.other, found); // the step that was launched behind it
  r.device.gpu->run_all();
  REQUIRE(found == -9);
  r.device.gpu->release_stream(r.engine);
  r.device.gpu->run_all();
  REQUIRE(found == 10);
}

TEST_CASE("B5: steps behind a publication on another stream that changed nothing count as readers") {
  // Was wrong once, too: their fence is missing from the next publication, so tables and slots are overwritten early.
  publisher_rig r;
  r.join(R1, 1, {gpu(0, 10)});
  r.publish({}, {R1});
  r.publish({}, {R1}, r.other);
  r.device.gpu->run_all();
  r.device.gpu->hold_stream(r.other);
  int found = -9;
  look(r, r.other, found);
  r.change(R1, 2, {gpu(0, 11)});
  r.publish({}, {R1}, r.engine);
  r.device.gpu->run_all();
  r.device.gpu->release_stream(r.other);
  r.device.gpu->run_all();
  REQUIRE(found == 10);
}

TEST_CASE("staging memory that the device has read is used again") {
  publisher_rig r(publisher_rig::all_staged());
  r.join(R1, 1, {gpu(0, 10)});
  for (row_seq step = 2; step < 300; ++step) { // more than there may be in flight
    r.change(R1, step, {gpu(0, static_cast<std::uint32_t>(step))});
    r.device.gpu->run_all();
    r.send(publish{call_id{step}, {}, {}, r.engine, {}, r.device.runtime_view->poll().passed});
    REQUIRE_FALSE(r.done().refused.has_value());
  }
  REQUIRE(r.slots(0)[0] == 299);
}

TEST_CASE("E1: a publication without staging memory is refused, and the next one shows what it would have shown") {
  publisher_rig r(publisher_rig::all_staged());
  r.join(R1, 1, {gpu(0, 10)});
  r.device.gpu->fail_allocation(0);
  r.publish({}, {R1});
  REQUIRE(r.done().refused->code == error_code::out_of_memory);
  REQUIRE(r.publisher.count<rows_published>() == 0); // nothing is acknowledged
  r.publish({}, {R1});
  REQUIRE(r.done().version == 1);
  REQUIRE(r.slots(0)[0] == 10);
  REQUIRE(r.told().shown == std::vector<row_number>{{R1, 1}});
}

} // namespace kvferry::test
