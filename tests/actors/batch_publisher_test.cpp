// A batch's publisher: what a publication shows, what it waits for, and whom it tells.
#include "tests/actors/publisher_rig.hpp"

namespace kvferry::test {

namespace {

using list = std::vector<int>;
using numbers = std::vector<row_number>;
using requests = std::vector<request_id>;

const request_id R1 = publisher_rig::R1, R2 = publisher_rig::R2, R3 = publisher_rig::R3, R4 = publisher_rig::R4;

page_change gpu(block_ordinal o, std::uint32_t slot) { return publisher_rig::page(tier::gpu, o, slot); }
page_change host(block_ordinal o, std::uint32_t slot) { return publisher_rig::page(tier::host, o, slot); }

} // namespace

TEST_CASE("B10: a publication shows each row's pages, tiers, history and request, and none elsewhere") {
  publisher_rig r;
  r.join(R1, 4, {host(0, 7), gpu(1, 2)}, {{group_id{0}, 1}});
  REQUIRE(r.publisher.only<row_joined>().row == row_id{0});
  r.join(R2, 2, {gpu(0, 5)});
  r.publish({{R1, 4}}, {R2, R1});
  REQUIRE(r.done().version == 1);
  REQUIRE(r.slots(0) == list{7, 2, -1, -1});
  REQUIRE(r.tiers(0) == list{1, 0, 255, 255});
  REQUIRE(r.history(0) == 1);
  REQUIRE(r.slots(1) == list{5, -1, -1, -1});
  REQUIRE(r.history(1) == 0);
  REQUIRE(r.slots(2) == list{-1, -1, -1, -1});
  REQUIRE(r.view().row_request[0] == 1);
  REQUIRE(r.view().row_request[2] == ~std::uint64_t{0});
  REQUIRE(r.view().row_version[0] == 1);
  REQUIRE(r.active() == list{1, 0, -1}); // the engine's order
  REQUIRE(*r.view().num_active == 2);
  REQUIRE(r.told().shown == numbers{{R1, 4}, {R2, 2}});
  REQUIRE(r.told().version == 1);
}

TEST_CASE("a publication that changes nothing keeps the version and does no device work, and is told of") {
  publisher_rig r;
  r.join(R1, 1, {gpu(0, 3)});
  r.publish({}, {R1});
  r.device.gpu->run_all();
  r.publish({{R1, 1}}, {R1});
  REQUIRE(r.done().version == 1);
  REQUIRE(r.done().entries == 0);
  REQUIRE_FALSE(r.device.gpu->run_one());
  REQUIRE(r.told().shown.empty());
  REQUIRE(r.told().version == 1);
}

TEST_CASE("a publication costs what has changed, not what there is") {
  publisher_rig r;
  r.join(R1, 1, {gpu(0, 3), gpu(1, 4), gpu(2, 5)});
  r.join(R2, 1, {gpu(0, 6)});
  r.publish({}, {R1, R2});
  r.change(R1, 2, {host(1, 4)});
  r.publish({}, {R1, R2});
  REQUIRE(r.done().version == 2);
  REQUIRE(r.done().entries == 2); // the tier (the slot has the same number), the row's version
  REQUIRE(r.view().row_version[0] == 2);
  REQUIRE(r.view().row_version[1] == 1);
  REQUIRE(r.tiers(0) == list{0, 1, 0, 255});
}

TEST_CASE("a publication waits for exactly the numbers that its caller was told of") {
  publisher_rig r;
  r.join(R1, 1, {gpu(0, 3)});
  r.join(R2, 1, {gpu(0, 4)});
  r.publish({{R1, 3}});
  REQUIRE_FALSE(r.published_now());
  r.change(R2, 9, {gpu(0, 5)}); // somebody else's
  REQUIRE_FALSE(r.published_now());
  r.change(R1, 2, {gpu(0, 6)}); // an earlier one
  REQUIRE_FALSE(r.published_now());
  r.change(R1, 3, {gpu(0, 7)});
  REQUIRE(r.published_now());
  REQUIRE(r.slots(0)[0] == 7);
  REQUIRE(r.told().shown == numbers{{R1, 3}, {R2, 9}}); // shows whatever it knows
}

TEST_CASE("a request that has left, ended or died satisfies what is asked of it") {
  const std::string how = GENERATE(as<std::string>{}, "left", "closed", "died");
  publisher_rig r;
  r.join(R1, 1, {gpu(0, 3)});
  r.publish({{R1, 5}, {R2, 1}});
  REQUIRE_FALSE(r.published_now());
  if (how == "died")
    r.send(drop_row{R1});
  else
    r.send(leave_row{R1, how == "closed"});
  REQUIRE(r.published_now());
  REQUIRE(r.slots(0) == list{-1, -1, -1, -1});
}

TEST_CASE("only one publication waits at a time") {
  publisher_rig r;
  r.join(R1, 1, {});
  r.publish({{R1, 2}});
  r.publish();
  REQUIRE(r.done().refused.has_value());
  r.change(R1, 2, {});
  REQUIRE_FALSE(r.done().refused.has_value());
}

TEST_CASE("B10: a row is shown whole before or whole after a change") {
  publisher_rig r;
  r.join(R1, 1, {gpu(0, 3), gpu(1, 4)});
  r.publish();
  r.change(R1, 2, {host(0, 8)}, true); // resumed with another table
  r.publish();
  REQUIRE(r.slots(0) == list{8, -1, -1, -1});
  r.change(R1, 3, {}, true); // suspended
  r.publish();
  REQUIRE(r.slots(0) == list{-1, -1, -1, -1});
  REQUIRE(r.tiers(0) == list{255, 255, 255, 255});
}

TEST_CASE("a row that leaves is a hole at once in the next version, and its going is told then") {
  publisher_rig r;
  r.join(R1, 4, {host(0, 3)}, {{group_id{0}, 1}});
  r.publish({}, {R1});
  r.send(leave_row{R1, false});
  REQUIRE(r.publisher.names() ==
          std::vector<std::string>{"request_cache/1 row_left"}); // rule 4: it counts when published
  r.change(R1, 5, {gpu(0, 9)});                                  // a number after it left
  r.publish({}, {R1});
  REQUIRE(r.publisher.count<row_gone>() == 1);
  REQUIRE(r.told().gone.empty());
  REQUIRE(r.told().shown.back() == row_number{R1, 5});
  REQUIRE(r.slots(0) == list{-1, -1, -1, -1});
  REQUIRE(r.history(0) == 0);
  REQUIRE(r.view().row_request[0] == ~std::uint64_t{0});
  REQUIRE(r.active() == list{-1, -1, -1});
}

TEST_CASE("a request that closes is told of to the registry, with the publication that no longer shows it") {
  publisher_rig r;
  r.join(R1, 4, {gpu(0, 3)});
  r.publish();
  r.send(leave_row{R1, true});
  REQUIRE(r.publisher.count<rows_published>() == 0);
  r.publish();
  REQUIRE(r.told().gone == requests{R1});
  REQUIRE(r.publisher.count<row_gone>() == 0);
  r.publish();
  REQUIRE(r.told().gone.empty()); // once
}

TEST_CASE("a request that was never shown is gone at once") {
  publisher_rig r;
  r.join(R1, 4, {gpu(0, 3)});
  SECTION("closing") {
    r.send(leave_row{R1, true});
    REQUIRE(r.told().gone == requests{R1});
    REQUIRE(r.told().version == 0); // no publication: it does not count for deferrals
  }
  SECTION("leaving") {
    r.send(leave_row{R1, false});
    REQUIRE(r.publisher.names() == std::vector<std::string>{"request_cache/1 row_gone", "request_cache/1 row_left"});
  }
  r.publish();
  REQUIRE(r.slots(0) == list{-1, -1, -1, -1});
}

TEST_CASE("B7 B8: a row that is used again shows the new request and nothing of the old one") {
  // B7, B8.
  publisher_rig r;
  r.join(R1, 4, {gpu(0, 3), gpu(1, 4), gpu(2, 5), gpu(3, 6)}, {{group_id{0}, 0}});
  r.publish();
  r.send(leave_row{R1, true});
  r.join(R2, 1, {gpu(0, 9)});
  REQUIRE(r.publisher.only<row_joined>().row == row_id{0});
  r.change(R1, 8, {gpu(1, 4)}); // late words of the old one
  r.publish();
  REQUIRE(r.slots(0) == list{9, -1, -1, -1});
  REQUIRE(r.view().row_request[0] == 2);
  REQUIRE(r.told().gone == requests{R1});
}

TEST_CASE("the dead do not come back") {
  publisher_rig r;
  r.join(R1, 1, {gpu(0, 3)});
  r.publish();
  r.send(drop_row{R1});
  r.change(R1, 2, {gpu(0, 4)});
  r.publish();
  REQUIRE(r.slots(0) == list{-1, -1, -1, -1});
  REQUIRE(r.told().gone == requests{R1});
  r.join(R1, 3, {gpu(0, 5)});
  REQUIRE(r.publisher.sent.empty());
  r.send(drop_row{R2}); // dead before its words came
  REQUIRE(r.told().gone == requests{R2});
  r.join(R2, 1, {gpu(0, 5)});
  REQUIRE(r.publisher.sent.empty());
}

TEST_CASE("a batch without a free row says so") {
  publisher_rig r;
  for (request_id id : {R1, R2, R3})
    r.join(id, 1, {});
  r.join(R4, 1, {gpu(0, 3)});
  REQUIRE(r.publisher.only<row_joined>().row.is_none());
  r.send(leave_row{R2, false});
  r.join(R4, 1, {gpu(0, 3)});
  REQUIRE(r.publisher.only<row_joined>().row == row_id{1});
}

TEST_CASE("a request that does not fit is shown as a hole and named, and the others are published") {
  publisher_rig r;
  r.join(R1, 1, {gpu(0, 3), gpu(3, 4)});
  r.join(R2, 1, {gpu(0, 5)});
  r.publish();
  REQUIRE(r.done().failed.empty());
  r.change(R1, 2, {gpu(4, 6)}, false, {{group_id{0}, 1}}); // four columns
  r.change(R2, 2, {gpu(1, 7)});
  r.publish({{R1, 2}, {R2, 2}});
  REQUIRE(r.done().failed == requests{R1});
  REQUIRE(r.slots(0) == list{-1, -1, -1, -1});
  REQUIRE(r.history(0) == 0);
  REQUIRE(r.slots(1) == list{5, 7, -1, -1});
  r.publish();
  REQUIRE(r.done().failed == requests{R1}); // as long as it lasts
  r.change(R1, 3, {gpu(0, 3)}, true);
  r.publish();
  REQUIRE(r.done().failed.empty());
  REQUIRE(r.slots(0) == list{3, -1, -1, -1});
}

TEST_CASE("an order that is not told again is the one of before, with the rows that its requests have now") {
  publisher_rig r;
  r.join(R1, 1, {gpu(0, 10)});
  r.publish({}, {R2, R1});
  REQUIRE(r.active() == list{0, -1, -1});
  r.join(R2, 1, {gpu(0, 20)});
  r.publish_in_same_order();
  REQUIRE(r.active() == list{1, 0, -1});
  r.change(R1, 2, {gpu(4, 11)}); // too long
  r.publish_in_same_order();
  REQUIRE(r.active() == list{1, -1, -1});
  REQUIRE(r.done().failed == std::vector{R1});
  r.publish_in_same_order();
  REQUIRE(r.done().entries == 0);
  REQUIRE(r.done().failed == std::vector{R1}); // each time
  r.change(R1, 3, {gpu(0, 12)}, true);
  r.send(leave_row{R2, false});
  r.publish_in_same_order();
  REQUIRE(r.active() == list{0, -1, -1});
  REQUIRE(r.done().failed.empty());
}

TEST_CASE("an order that was refused is not the one of before") {
  publisher_rig r;
  r.join(R1, 1, {gpu(0, 10)});
  r.join(R2, 1, {gpu(0, 20)});
  r.publish({}, {R1});
  r.publish({}, {R2, R2});
  REQUIRE(r.done().refused->code == error_code::invalid_argument);
  r.publish({}, {R1});
  REQUIRE(r.active() == list{0, -1, -1});
}

// Was wrong once: the row of a request that does not fit keeps its owner and its place among the active rows. Design
// section 5 shows it as a hole, and a hole's row_request is all ones (include/kvferry/batch.hpp, table_view).
TEST_CASE("a hole for a request that does not fit names nobody") {
  publisher_rig r;
  r.join(R1, 1, {gpu(4, 6)});
  r.publish({}, {R1});
  REQUIRE(r.done().failed == requests{R1});
  REQUIRE(r.view().row_request[0] == ~std::uint64_t{0});
  REQUIRE(*r.view().num_active == 0);
}

TEST_CASE("a batch that closes detaches its members, tells the registry of all it still waits for, and ends") {
  publisher_rig r;
  r.join(R1, 4, {gpu(0, 3)});
  r.join(R2, 2, {gpu(0, 4)});
  r.publish();
  r.send(leave_row{R2, true});
  r.publish({{R1, 9}}); // waits
  r.send(close_batch{call_id{50}, fence{r.engine, 77}});
  REQUIRE(r.told().gone == requests{R2});
  REQUIRE(r.told().shown.front() == row_number{R1, 4});
  REQUIRE(r.told().readers.sequence_on(r.engine) == 77);
  REQUIRE(r.publisher.count<row_gone>() == 1);
  REQUIRE(r.done().refused.has_value()); // invariant 13
  REQUIRE(r.publisher.only<batch_closed>().call == call_id{50});
  REQUIRE(r.publisher.only<batch_closed>().publications == 1);
  REQUIRE(r.publisher.state.ended());
}

} // namespace kvferry::test
