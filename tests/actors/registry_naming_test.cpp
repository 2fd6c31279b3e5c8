// Slots that a published row may still name: who may have them, and on what condition (rule 4, section 6).
#include "tests/actors/registry_rig.hpp"

namespace kvferry::test {

namespace {

/// R1, shown by its batch with two private pages, has closed: one slot of three is free, two retire. R2 has no page.
struct closed_but_shown : registry_rig {
  explicit closed_but_shown(batch_id second_batch = the_batch) : registry_rig(sparse_only(3, 4)) {
    open(R1, "Ax");
    join(R1);
    grow(R1, 2);
    open(R2, "Byz");
    join(R2, second_batch);
    publish();
    close(R1);
    REQUIRE(free(tier::gpu) == 1);
    REQUIRE(retiring(tier::gpu) == 2);
  }
};

} // namespace

TEST_CASE("slots of a closed request retire until a publication without its row") {
  closed_but_shown r;
  r.publish(fence{stream_id{1}, 8});
  REQUIRE(r.retiring(tier::gpu) == 0);
  REQUIRE(r.free(tier::gpu) == 3);
  REQUIRE(r.grow(R2, 3).granted.after.sequence_on(stream_id{1}) == 8); // behind the readers of that version
}

TEST_CASE("a retiring slot is granted to a writer of the same batch, with the pairs that unname it") {
  closed_but_shown r;
  auto granted = r.grow(R2, 2);
  REQUIRE_FALSE(granted.refused);
  REQUIRE(granted.granted.unnames.size() == 1);
  REQUIRE(granted.granted.unnames[0].request == R1);
  REQUIRE(r.retiring(tier::gpu) == 1);
  r.publish();
  REQUIRE(r.free(tier::gpu) == 1);
  REQUIRE(r.taken(tier::gpu) == 2);
}

TEST_CASE("free slots are granted before retiring ones, and without pairs") {
  closed_but_shown r;
  REQUIRE(r.grow(R2, 1).granted.unnames.empty());
  REQUIRE(r.retiring(tier::gpu) == 2);
}

TEST_CASE("a retiring slot is not granted to a writer of another batch or of none") {
  closed_but_shown r(GENERATE(batch_id{2}, batch_id::none())); // values: GENERATE keeps references to what it can
  auto refused = r.grow(R2, 2);
  REQUIRE(refused.refused);
  REQUIRE(refused.why.code == error_code::publish_first);
  REQUIRE(refused.why.numbers->free == 1);
  REQUIRE(refused.why.numbers->unpublished == 2);
  r.publish();
  REQUIRE_FALSE(r.grow(R2, 2).refused);
}

TEST_CASE("a retiring slot is never granted to a copy") {
  registry_rig r(sparse_only(3, 4));
  r.prefill(R2, "Ay");
  r.enter_decode(R2);
  r.copies_end();
  r.open(R1, "Bx");
  r.join(R1);
  r.grow(R1, 2);
  r.publish();
  r.close(R1);
  REQUIRE(r.retiring(tier::gpu) == 2);
  auto refused = r.open(R3, "Az"); // would load A
  REQUIRE(refused.refused);
  REQUIRE(refused.why.code == error_code::publish_first);
  r.close(R3);
  r.publish();
  REQUIRE(r.open(R4, "Aw").loading);
}

TEST_CASE("the GPU slot of a page that moved to the host is named by the number that moved it") {
  registry_rig r(sparse_only(3, 4));
  r.prefill(R1, "Ax");
  r.join(R1);
  r.publish();
  r.enter_decode(R1);
  r.copies_end();
  REQUIRE(r.tiers(R1) == "hg");
  REQUIRE(r.retiring(tier::gpu) == 1);
  r.open(R2, "Byz");
  r.join(R2);
  auto granted = r.grow(R2, 2);
  REQUIRE(granted.granted.unnames == std::vector<row_number>{{R1, r.requests.at(R1).seq}});
}

TEST_CASE("a slot whose pairs belong to two batches is granted to neither") {
  registry_rig r(sparse_only(3, 4));
  r.prefill(R1, "Ax");
  r.prefill(R2, "Ay"); // the same page
  r.join(R1);
  r.join(R2, other_batch);
  r.publish();
  r.publish({}, other_batch);
  r.enter_decode(R1);
  r.enter_decode(R2);
  r.copies_end();
  REQUIRE(r.retiring(tier::gpu) == 1);
  r.open(R3, "Bz");
  r.join(R3);
  REQUIRE(r.grow(R3, 1).why.code == error_code::publish_first);
  r.publish();
  REQUIRE(r.retiring(tier::gpu) == 1);
  r.publish({}, other_batch);
  REQUIRE_FALSE(r.grow(R3, 1).refused);
}

TEST_CASE("an idle page that the last version names is not taken") {
  registry_rig r(sparse_only(2, 4));
  r.prefill(R1, "Ax");
  r.join(R1);
  r.publish();
  r.close(R1);
  r.open(R2, "By");
  r.join(R2);
  REQUIRE(r.grow(R2, 2).why.code == error_code::publish_first);
  r.publish();
  REQUIRE_FALSE(r.grow(R2, 2).refused);
  r.copies_end();
}

TEST_CASE("an idle page that is named can be matched, and is shared as it is") {
  registry_rig r(sparse_only(2, 4));
  r.prefill(R1, "Ax");
  r.join(R1);
  r.publish();
  r.close(R1);
  REQUIRE(r.open(R2, "Ay").matched_tokens == 4);
  r.publish();
  REQUIRE(r.tiers(R2) == "g");
  REQUIRE(r.taken(tier::gpu) == 1);
}

TEST_CASE("a publication without the row may overtake the release of its owners") {
  // The model's rule gone_is_remembered: slots retired for ever.
  registry_rig r(sparse_only(3, 4));
  r.open(R1, "Ax");
  r.join(R1);
  r.grow(R1, 2);
  r.publish();
  r.send(rows_published{the_batch, 9, {}, {R1}, {}, fence{stream_id{1}, 4}});
  REQUIRE(r.taken(tier::gpu) == 2); // the request has not let go yet
  r.close(R1);
  REQUIRE(r.retiring(tier::gpu) == 0);
  REQUIRE(r.free(tier::gpu) == 3);
  REQUIRE(r.registry.ledger().fenced_count(sparse_group, tier::gpu) == 2); // its last readers may still run
}

// Was wrong once: the request's word may overtake the publisher's; the slot is then free without the fence of those who
// read the page through the row. Rule 4: numbers, not arrival order.
TEST_CASE("what a request acknowledges itself waits for the readers of the batch that it has left") {
  registry_rig r(sparse_only(3, 4));
  r.prefill(R1, "Ax");
  r.join(R1);
  r.publish();
  r.enter_decode(R1);
  r.copies_end();
  r.join(R1, batch_id::none()); // told that its row is gone, it acknowledges
  REQUIRE(r.retiring(tier::gpu) == 1);
  r.send(rows_published{the_batch, 9, {}, {}, {R1}, fence{stream_id{1}, 4}});
  REQUIRE(r.retiring(tier::gpu) == 0);
  r.open(R2, "Byz");
  REQUIRE(r.grow(R2, 2).granted.after.sequence_on(stream_id{1}) == 4);
}

TEST_CASE("a request that never had a row names nothing when it has closed") {
  registry_rig r(sparse_only(3, 4));
  r.rowless_acknowledge = false;
  r.open(R1, "Ax");
  r.grow(R1, 2);
  r.close(R1);
  REQUIRE(r.free(tier::gpu) == 3);
}

TEST_CASE("what still runs a request when it closes is what its slots wait for") {
  registry_rig r(sparse_only(2, 4));
  r.open(R1, "Ax");
  r.grow(R1, 2);
  r.close(R1, fence{stream_id{1}, 6});
  REQUIRE(r.only<watch_fences>().fences.sequence_on(stream_id{1}) == 6);
  r.open(R2, "By");
  REQUIRE(r.grow(R2, 1).granted.after.sequence_on(stream_id{1}) == 6);
  r.send(fence_passed{fence{stream_id{1}, 6}});
  REQUIRE(r.grow(R2, 2).granted.after.empty());
}

// Was wrong once: the retiring slots that this caller could be granted count twice, as free and as unpublished. The
// refusal says publish_first where no publication helps (error.hpp: "slots will be available after the next
// publication"), and its numbers do not add up.
TEST_CASE("publish first is said only when publishing makes enough slots available") {
  registry_rig r(sparse_only(4, 0));
  r.open(R3, "Cz");
  r.grow(R3, 2);
  r.open(R1, "Ax");
  r.join(R1);
  r.grow(R1, 2);
  r.open(R2, "Byzz");
  r.join(R2);
  r.publish();
  r.close(R1);
  auto refused = r.grow(R2, 4);
  REQUIRE(refused.refused);
  REQUIRE(refused.why.numbers->unpublished == 2);
  REQUIRE(refused.why.numbers->free == 0);
  REQUIRE(refused.why.code == error_code::gpu_full);
}

TEST_CASE("publish first names each batch whose publication frees a slot") {
  closed_but_shown r(other_batch);
  REQUIRE(r.grow(R2, 2).why.numbers->batches == std::vector<batch_id>{the_batch}); // both slots are its
}

TEST_CASE("a slot that a move leaves is behind the writers of its page") {
  registry_rig r(sparse_only(2, 4));
  r.open(R1, "Ax");
  r.grow(R1, 2);
  r.write(R1, 1, fence{stream_id{1}, 5});
  r.enter_decode(R1);
  r.copies_end();
  REQUIRE(r.tiers(R1) == "hg");
  r.open(R2, "y");
  REQUIRE(r.grow(R2, 1).granted.after.sequence_on(stream_id{1}) == 5);
}

} // namespace kvferry::test
