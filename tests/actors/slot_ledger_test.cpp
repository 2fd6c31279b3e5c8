// The slot ledger: which slot is handed out next, and which is not yet.
#include "actors/slot_ledger.hpp"

#include "tests/catch.hpp"
#include "tests/device/death.hpp"
#include "tests/device/rig.hpp"

namespace kvferry::test {

namespace {

constexpr group_id g{0};
const stream_id one{1}, two{2};
const request_id r1{1}, r2{2};

slot_ledger ledger_of(std::uint32_t gpu_slots, std::uint32_t host_slots = 2) {
  return slot_ledger{{group_of({8}, gpu_slots, host_slots), group_of({8}, 1, 1)}};
}

slot_key gpu(std::uint32_t slot) { return key_of(g, gpu_slot{slot}); }

/// Takes every slot of the GPU pool.
slot_ledger all_taken(std::uint32_t gpu_slots) {
  slot_ledger ledger = ledger_of(gpu_slots);
  for (std::uint32_t i = 0; i < gpu_slots; ++i)
    ledger.take(g, tier::gpu);
  return ledger;
}

/// Slots that no row names any more with this acknowledgement.
std::vector<std::uint32_t> unnamed_by(slot_ledger& ledger, request_id request, row_seq seq, fence_set readers = {}) {
  std::vector<std::uint32_t> slots;
  ledger.acknowledge(request, seq, readers, [&](slot_key key) { slots.push_back(key.slot); });
  return slots;
}

std::vector<std::uint32_t> retiring(const slot_ledger& ledger, batch_id batch, std::uint32_t at_most = 9) {
  std::vector<std::uint32_t> slots;
  for (slot_key key : ledger.retiring_for(g, batch, at_most, [](request_id request) {
         return request == r1 ? batch_id{1} : request == r2 ? batch_id{2} : batch_id::none();
       }))
    slots.push_back(key.slot);
  return slots;
}

} // namespace

TEST_CASE("a new ledger has every slot of both tiers of each group free") {
  slot_ledger ledger = ledger_of(3, 2);
  REQUIRE(ledger.free_count(g, tier::gpu) == 3);
  REQUIRE(ledger.free_count(g, tier::host) == 2);
  REQUIRE(ledger.free_count(group_id{1}, tier::gpu) == 1);
  REQUIRE(ledger.taken_count(g, tier::gpu) == 0);
  REQUIRE_FALSE(ledger.any_fenced());
}

TEST_CASE("A7: each slot is taken once, and tiers and groups do not mix") {
  slot_ledger ledger = ledger_of(2, 2);
  const std::uint32_t a = ledger.take(g, tier::gpu), b = ledger.take(g, tier::gpu);
  REQUIRE(a != b);
  REQUIRE(std::max(a, b) == 1);
  REQUIRE(ledger.free_count(g, tier::gpu) == 0);
  REQUIRE(ledger.free_count(g, tier::host) == 2); // A7: GPU slot 0 and host slot 0 are two
  REQUIRE(ledger.free_count(group_id{1}, tier::gpu) == 1);
  REQUIRE(ledger.is_free(key_of(g, host_slot{0})));
  REQUIRE_FALSE(ledger.is_free(gpu(0)));
  REQUIRE_THAT(words_of_death([&] { ledger.take(g, tier::gpu); }), ContainsSubstring("no free slot in group 0"));
}

TEST_CASE("a slot that nothing has to wait for is handed out before one behind a fence") {
  slot_ledger ledger = all_taken(2);
  ledger.add_fences(gpu(0), fence{one, 5});
  ledger.give_back(gpu(0));
  ledger.give_back(gpu(1));
  REQUIRE(ledger.fenced_count(g, tier::gpu) == 1);
  REQUIRE(ledger.free_count(g, tier::gpu) == 2);
  REQUIRE(ledger.take(g, tier::gpu) == 1);
  REQUIRE(ledger.take(g, tier::gpu) == 0);
  REQUIRE(ledger.fences(gpu(0)).sequence_on(one) == 5); // the reply names it
}

TEST_CASE("of slots behind fences those whose fences have passed come first") {
  slot_ledger ledger = all_taken(3);
  for (std::uint32_t slot = 0; slot < 3; ++slot) {
    ledger.add_fences(gpu(slot), fence{one, 3 - slot});
    ledger.give_back(gpu(slot));
  }
  SECTION("none has: the oldest") { REQUIRE(ledger.take(g, tier::gpu) == 0); }
  SECTION("all have") {
    ledger.note_passed(fence{one, 3});
    REQUIRE_FALSE(ledger.any_fenced());
    REQUIRE(ledger.awaited().empty());
    REQUIRE(ledger.fences(gpu(0)).empty());
  }
}

// Was wrong once: only the front of the queue is looked at. Behind a slot that waits for a slow stream, slots whose
// fences have passed are not handed out first (design section 6, last rule).
TEST_CASE("a slot whose fence has passed comes before one that was freed earlier and whose fence has not") {
  slot_ledger ledger = all_taken(2);
  ledger.add_fences(gpu(0), fence{one, 5});
  ledger.give_back(gpu(0));
  ledger.add_fences(gpu(1), fence{two, 1});
  ledger.give_back(gpu(1));
  ledger.note_passed(fence{two, 1});
  REQUIRE(ledger.fenced_count(g, tier::gpu) == 1);
  REQUIRE(ledger.take(g, tier::gpu) == 1);
}

TEST_CASE("a fence that has passed already does not hold a slot back") {
  slot_ledger ledger = all_taken(1);
  ledger.note_passed(fence{one, 5});
  ledger.add_fences(gpu(0), fence{one, 5});
  ledger.give_back(gpu(0));
  REQUIRE_FALSE(ledger.any_fenced());
  REQUIRE(ledger.awaited().empty());
}

TEST_CASE("A14: a slot waits for the fences of all streams that were added") {
  // A14: a second stream's event must not take the place of the first's.
  slot_ledger ledger = all_taken(1);
  ledger.add_fences(gpu(0), fence{one, 5});
  ledger.add_fences(gpu(0), fence{two, 2});
  ledger.give_back(gpu(0));
  ledger.note_passed(fence{two, 2});
  REQUIRE(ledger.any_fenced());
  REQUIRE(ledger.awaited().sequence_on(one) == 5);
  ledger.note_passed(fence{one, 5});
  REQUIRE_FALSE(ledger.any_fenced());
}

TEST_CASE("a slot freed twice ends the process with its name") {
  slot_ledger ledger = all_taken(1);
  ledger.give_back(gpu(0));
  REQUIRE_THAT(words_of_death([&] { ledger.give_back(gpu(0)); }),
               ContainsSubstring("slot 0 of group 0 tier 0 is freed twice"));
  REQUIRE_THAT(words_of_death([&] { ledger.give_back(gpu(7)); }), ContainsSubstring("slot 7"));
  REQUIRE_THAT(words_of_death([&] { ledger.add_fences(gpu(0), fence{one, 1}); }), ContainsSubstring("is free"));
}

TEST_CASE("a slot that a row may name retires until that number is acknowledged") {
  slot_ledger ledger = all_taken(1);
  ledger.unname(gpu(0), r1, 4);
  ledger.give_back(gpu(0));
  REQUIRE(ledger.free_count(g, tier::gpu) == 0);
  REQUIRE(ledger.retiring_count(g, tier::gpu) == 1);
  REQUIRE(ledger.taken_count(g, tier::gpu) == 0);
  REQUIRE(unnamed_by(ledger, r1, 3).empty()); // an earlier number
  REQUIRE(unnamed_by(ledger, r2, 9).empty()); // another request's
  REQUIRE(ledger.retiring_count(g, tier::gpu) == 1);
  REQUIRE(unnamed_by(ledger, r1, 5) == std::vector<std::uint32_t>{0}); // a later number shows the earlier one too
  REQUIRE(ledger.free_count(g, tier::gpu) == 1);
  REQUIRE(ledger.retiring_count(g, tier::gpu) == 0);
  REQUIRE_FALSE(ledger.is_named(gpu(0)));
}

TEST_CASE("a slot that several rows may name waits for all of them, and then for all their readers") {
  slot_ledger ledger = all_taken(1);
  ledger.unname(gpu(0), r1, 4);
  ledger.unname(gpu(0), r2, 7);
  ledger.give_back(gpu(0));
  REQUIRE(ledger.names_of(gpu(0)) == std::vector<row_number>{{r1, 4}, {r2, 7}});
  REQUIRE(unnamed_by(ledger, r1, 4, fence{one, 3}).empty());
  REQUIRE(ledger.retiring_count(g, tier::gpu) == 1);
  REQUIRE(unnamed_by(ledger, r2, 7, fence{two, 6}).size() == 1);
  REQUIRE(ledger.fences(gpu(0)).sequence_on(one) == 3);
  REQUIRE(ledger.fences(gpu(0)).sequence_on(two) == 6);
  REQUIRE(ledger.fenced_count(g, tier::gpu) == 1);
}

TEST_CASE("a slot that the same row named again waits for the later number") {
  slot_ledger ledger = all_taken(1);
  ledger.unname(gpu(0), r1, 4);
  ledger.unname(gpu(0), r1, 6);
  ledger.give_back(gpu(0));
  REQUIRE(unnamed_by(ledger, r1, 4).empty());
  REQUIRE(ledger.retiring_count(g, tier::gpu) == 1);
  REQUIRE(unnamed_by(ledger, r1, 6).size() == 1);
}

TEST_CASE("a slot that is taken when its last name goes is told of, and does not become free") {
  slot_ledger ledger = all_taken(1);
  ledger.unname(gpu(0), r1, 4);
  REQUIRE(unnamed_by(ledger, r1, 4).size() == 1);
  REQUIRE(ledger.taken_count(g, tier::gpu) == 1);
  REQUIRE_FALSE(ledger.is_named(gpu(0)));
}

TEST_CASE("until gone is reached by no number, only by going") {
  slot_ledger ledger = all_taken(1);
  ledger.unname(gpu(0), r1, slot_ledger::until_gone);
  ledger.give_back(gpu(0));
  REQUIRE(unnamed_by(ledger, r1, ~row_seq{0} - 1).empty());
  REQUIRE(ledger.has_names(r1));
  REQUIRE(unnamed_by(ledger, r1, slot_ledger::until_gone).size() == 1);
  REQUIRE_FALSE(ledger.has_names(r1));
}

TEST_CASE("retiring slots are offered to a batch only when its rows alone name them") {
  slot_ledger ledger = all_taken(4);
  ledger.unname(gpu(0), r1, 1);
  ledger.unname(gpu(1), r2, 1);
  ledger.unname(gpu(2), r1, 1);
  ledger.unname(gpu(2), r2, 1);
  ledger.unname(gpu(3), request_id{3}, 1); // in no batch
  for (std::uint32_t slot = 0; slot < 4; ++slot)
    ledger.give_back(gpu(slot));
  REQUIRE(retiring(ledger, batch_id{1}) == std::vector<std::uint32_t>{0});
  REQUIRE(retiring(ledger, batch_id{2}) == std::vector<std::uint32_t>{1});
  REQUIRE(retiring(ledger, batch_id::none()).empty());
  unnamed_by(ledger, r2, 1);
  REQUIRE(retiring(ledger, batch_id{1}) == std::vector<std::uint32_t>{0, 2});
  REQUIRE(retiring(ledger, batch_id{1}, 1).size() == 1);
}

TEST_CASE("a retiring slot that was granted is taken, and retires again when it is given back early") {
  slot_ledger ledger = all_taken(1);
  ledger.unname(gpu(0), r1, 4);
  ledger.give_back(gpu(0));
  ledger.take_retiring(gpu(0));
  REQUIRE(ledger.taken_count(g, tier::gpu) == 1);
  REQUIRE_THAT(words_of_death([&] { ledger.take_retiring(gpu(0)); }), ContainsSubstring("does not retire"));
  ledger.give_back(gpu(0));
  REQUIRE(ledger.retiring_count(g, tier::gpu) == 1);
  unnamed_by(ledger, r1, 4);
  REQUIRE(ledger.free_count(g, tier::gpu) == 1);
}

TEST_CASE("C8 C16: many cycles of taking, naming, acknowledging and giving back lose no slot") {
  // C8: hit rates that decayed over hours, 10,000 cycles of allocate and clear.
  slot_ledger ledger = ledger_of(5);
  std::vector<std::uint32_t> taken;
  row_seq seq = 0;
  for (std::uint32_t i = 0; i < 10000; ++i) {
    if (ledger.free_count(g, tier::gpu) > 0 && i % 3 != 2) {
      taken.push_back(ledger.take(g, tier::gpu));
    } else if (!taken.empty()) {
      slot_key key = gpu(taken[i % taken.size()]);
      taken.erase(taken.begin() + i % static_cast<std::uint32_t>(taken.size()));
      if (i % 2 == 0)
        ledger.unname(key, r1, ++seq);
      ledger.add_fences(key, fence{one, i + 1});
      ledger.give_back(key);
    }
    if (i % 7 == 0)
      unnamed_by(ledger, r1, seq);
    if (i % 11 == 0)
      ledger.note_passed(fence{one, i});
    REQUIRE(ledger.free_count(g, tier::gpu) + ledger.retiring_count(g, tier::gpu) + taken.size() == 5);
    REQUIRE(ledger.taken_count(g, tier::gpu) == taken.size());
  }
}

} // namespace kvferry::test
