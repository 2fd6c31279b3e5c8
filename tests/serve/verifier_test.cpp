// The attention stand-in over tables made by hand: what it accepts, and that it finds and names each planted fault.
#include "examples/serve/verifier.hpp"

#include "tests/catch.hpp"
#include "tests/serve/fake_pages.hpp"

namespace serve::test {
namespace {

using kvferry::test::ContainsSubstring;

/// Request 7 decodes in row 2: 100 tokens in blocks of 16, of which the first four of the sparse group are on the host,
/// and the window group keeps what its window covers. Everything is as it should be.
struct decoding_row {
  static constexpr std::uint32_t row = 2;
  fake_pages pages{two_groups()};
  pages::step_plan plan;
  pages::mismatch_log log;

  decoding_row() {
    auto chain = std::make_shared<pages::token_chain>();
    for (std::uint32_t position = 0; position < 200; ++position)
      chain->append(generated_token(7, position));
    pages.row_request[row] = 7;
    pages.active_rows[0] = row;
    pages.num_active = 1;
    plan = {1, 3, {{request_id{7}, chain, false, 0, 100, 112}}, {}};
    for (std::uint8_t group = 0; group < 2; ++group)
      for (std::uint32_t ordinal = 0; ordinal < 7; ++ordinal)
        pages.set(group, row, ordinal, tier::gpu, static_cast<std::int32_t>(ordinal + 3));
    pages::write_pages(pages, plan, pages.tables(), pages.layout, log);
    plan.rows[0].decoding = true;
    plan.rows[0].history_tokens = 99;
    for (std::uint32_t ordinal = 0; ordinal < 4; ++ordinal)
      pages.move_to_host(0, row, ordinal, 15 - ordinal);
    pages.set_num_blocks(0, row, 4);
    for (std::uint32_t ordinal = 0; ordinal < 4;
         ++ordinal) // 99 + 1 - 32 = 68 tokens, four whole blocks, are behind the window
      pages.set(1, row, ordinal, tier::none, -1);
  }

  verifier checks{pages.layout, pages.tables(), verify_mode::all, log};

  /// Checks `steps` steps, enough for stamps to reach every byte.
  const pages::mismatch_log& check(int steps = 1) {
    for (int i = 0; i < steps; ++i, ++plan.step)
      checks.check(pages, plan);
    return log;
  }

  std::byte& byte(std::uint8_t group, tier on, std::uint32_t slot, std::uint32_t buffer, std::uint64_t offset) {
    return pages.bytes({group_id{group}, on, slot}, buffer)[offset];
  }
};

void require_found(const pages::mismatch_log& log, std::vector<std::string> parts) {
  REQUIRE(log.count() >= 1);
  REQUIRE_FALSE(log.first().empty());
  for (const std::string& part : parts)
    REQUIRE_THAT(log.first().front(), ContainsSubstring(part));
}

} // namespace

TEST_CASE("a right row passes, step after step, and all of its pages are looked at") {
  decoding_row d;
  REQUIRE(d.check(200).count() == 0);
  REQUIRE(d.checks.pages_verified() == 200 * (7 + 3));
}

TEST_CASE("the writer puts a token into its place alone, and leaves its neighbours be") {
  decoding_row d;
  auto whole = d.pages.bytes({group_id{0}, tier::gpu, 9}, 1);
  std::vector<std::byte> before(whole.begin(), whole.end());
  d.plan.rows[0].history_tokens = 100;
  d.plan.rows[0].written_tokens = 101;
  pages::write_pages(d.pages, d.plan, d.pages.tables(), d.pages.layout, d.log);
  std::vector<std::size_t> changed;
  for (std::size_t i = 0; i < before.size(); ++i)
    if (before[i] != whole[i])
      changed.push_back(i);
  REQUIRE(changed ==
          std::vector<std::size_t>{10, 11, 12}); // token 4 of 16 in 40 bytes: those i with floor(i * 16 / 40) = 4
  REQUIRE(d.check(100).count() == 0);
}

TEST_CASE("a page that arrives with one wrong byte is found at once, and named") {
  decoding_row d;
  d.byte(0, tier::host, 13, 1, 17) ^= std::byte{0x20};
  REQUIRE(d.check().count() == 1);
  require_found(
      d.log,
      {"step 1, version 3, request 7, group 0, ordinal 2, host slot 13, buffer 1, byte 17: expected 0x", ", found 0x"});
}

TEST_CASE("a byte that changes under a page that was right is found by a later stamp") {
  decoding_row d;
  d.check();
  d.byte(1, tier::gpu, 9, 0, 31) ^= std::byte{0x01}; // token 3 of the last block: written
  REQUIRE(d.check(100).count() > 0);
  require_found(d.log, {"group 1, ordinal 6, gpu slot 9, buffer 0, byte 31"});
}

TEST_CASE("bytes of tokens that are not written yet do not matter") {
  decoding_row d;
  d.byte(0, tier::gpu, 9, 0, 16) ^= std::byte{0xff}; // token 4 of the last block: the next one
  REQUIRE(d.check(100).count() == 0);
}

TEST_CASE("a stale entry, a slot that holds another block's bytes, is found") {
  decoding_row d;
  d.check();
  d.pages.set(0, d.row, 5, tier::gpu, 4);
  d.check();
  require_found(d.log, {"step 2", "ordinal 5, gpu slot 4, buffer 0, byte 0"});
}

TEST_CASE("the right slot on the wrong tier is found") {
  decoding_row d;
  d.pages.set(0, d.row, 1, tier::gpu, 14); // its host slot
  d.check();
  require_found(d.log, {"ordinal 1, gpu slot 14", "num_blocks counts it as a host page"});
  REQUIRE(d.log.count() == 2); // and its bytes are wrong
}

TEST_CASE("entries that may not be where they are are named with what would be right") {
  struct planted {
    const char* name;
    std::function<void(decoding_row&)> plant;
    std::vector<std::string> parts;
  };
  auto p = GENERATE(values<planted>({
      {"a hole in the history",
       [](decoding_row& d) { d.pages.set(0, d.row, 3, tier::none, -1); },
       {"group 0, ordinal 3, no slot -1: should be a page"}},
      {"a hole in the window",
       [](decoding_row& d) { d.pages.set(1, d.row, 4, tier::none, -1); },
       {"group 1, ordinal 4, no slot -1: should be a page"}},
      {"a tier that does not exist",
       [](decoding_row& d) { d.pages.set(0, d.row, 5, static_cast<tier>(7), 8); },
       {"ordinal 5, tier 7 slot 8: no such slot"}},
      {"a slot past the pool",
       [](decoding_row& d) { d.pages.set(0, d.row, 5, tier::gpu, 16); },
       {"ordinal 5, gpu slot 16: no such slot"}},
      {"a negative slot",
       [](decoding_row& d) { d.pages.set(0, d.row, 5, tier::gpu, -2); },
       {"ordinal 5, gpu slot -2: no such slot"}},
      {"a slot without a tier",
       [](decoding_row& d) { d.pages.set(0, d.row, 5, tier::none, 8); },
       {"ordinal 5, no slot 8: no such slot"}},
      {"a partial block on the host",
       [](decoding_row& d) { d.pages.move_to_host(0, d.row, 6, 2); },
       {"ordinal 6, host slot 2: should be a gpu page"}},
      {"a dense block on the host",
       [](decoding_row& d) { d.pages.move_to_host(1, d.row, 5, 2); },
       {"group 1, ordinal 5, host slot 2: should be a gpu page"}},
      {"a prefill's block on the host",
       [](decoding_row& d) {
         d.plan.rows[0].decoding = false;
         d.pages.set_num_blocks(0, d.row, 0);
       },
       {"ordinal 0, host slot 15: should be a gpu page"}},
      {"more history blocks than are complete",
       [](decoding_row& d) {
         for (std::uint32_t ordinal : {4u, 5u})
           d.pages.move_to_host(0, d.row, ordinal, ordinal);
         d.pages.set_num_blocks(0, d.row, 7);
       },
       {"num_blocks is 7, should be at most 6"}},
      {"history blocks of a dense group",
       [](decoding_row& d) { d.pages.set_num_blocks(1, d.row, 1); },
       {"group 1", "num_blocks is 1, should be at most 0"}},
      {"a page past the capacity",
       [](decoding_row& d) { d.pages.set(0, d.row, 7, tier::gpu, 0); },
       {"group 0, ordinal 7, gpu slot 0: should be empty, it is past the capacity"}},
      {"no page although there is capacity",
       [](decoding_row& d) { d.plan.rows[0].capacity_tokens = 113; },
       {"group 0, ordinal 7, no slot -1: should be a gpu page, there is capacity"}},
      {"another request in the row",
       [](decoding_row& d) { d.pages.row_request[d.row] = 8; },
       {"request 7: its row 2 is of request 8"}},
      {"a row of the future",
       [](decoding_row& d) { d.pages.row_version[d.row] = 4; },
       {"request 7: its row says version 4"}},
      {"the wrong number of rows", [](decoding_row& d) { d.pages.num_active = 2; }, {"num_active is 2, should be 1"}},
      {"a row too many", [](decoding_row& d) { d.pages.active_rows[1] = 0; }, {"active_rows[1] is 0, should be -1"}},
      {"no row",
       [](decoding_row& d) { d.pages.active_rows[0] = -1; },
       {"request 7: active_rows[0] is -1, should be a row of its own"}},
  }));
  CAPTURE(p.name);
  decoding_row d;
  p.plant(d);
  d.check();
  require_found(d.log, p.parts);
}

TEST_CASE("a block before the window may be gone or there, but when it is there it is right") {
  decoding_row d;
  d.pages.set(1, d.row, 3, tier::gpu, 6);
  REQUIRE(d.check(10).count() == 0);
  d.pages.set(1, d.row, 3, tier::gpu, 7);
  d.check();
  require_found(d.log, {"group 1, ordinal 3, gpu slot 7"});
}

TEST_CASE("a request that left and one that is nowhere are found in rows that do not run") {
  decoding_row d;
  d.pages.row_request[0] = 5;
  d.plan.resting = {request_id{5}};
  REQUIRE(d.check(16).count() == 0);
  d.plan.resting.clear();
  d.check(16);
  require_found(d.log, {"row 0 is of request 5, which should have none"});
}

TEST_CASE("a hole that still names pages is found") {
  decoding_row d;
  d.pages.set(0, 3, 0, tier::gpu, 1);
  d.check(16);
  require_found(d.log, {"row 3, group 0, ordinal 0: a hole has num_blocks 0, tier 0, slot 1"});
}

TEST_CASE("sampling looks at few pages a step and at all in time") {
  decoding_row d;
  verifier sampled(d.pages.layout, d.pages.tables(), verify_mode::sampled, d.log);
  for (d.plan.step = 1; d.plan.step <= 1600; ++d.plan.step)
    sampled.check(d.pages, d.plan);
  REQUIRE(d.log.count() == 0);
  REQUIRE(sampled.pages_verified() > 30); // a hundred visits of the row, ten pages, one in 16
  REQUIRE(sampled.pages_verified() < 120);
  d.byte(0, tier::host, 12, 0, 8) ^= std::byte{0x80};
  for (; d.plan.step <= 160'000 && d.log.count() == 0; ++d.plan.step)
    sampled.check(d.pages, d.plan);
  require_found(d.log, {"ordinal 3, host slot 12, buffer 0, byte 8"});
}

TEST_CASE("a row that goes to another request is looked at anew") {
  decoding_row d;
  d.check();
  // The same pages under another name: right places, wrong bytes.
  auto chain = std::make_shared<pages::token_chain>();
  for (std::uint32_t position = 0; position < 200; ++position)
    chain->append(generated_token(8, position));
  d.pages.row_request[d.row] = 8;
  d.plan.rows[0].request = request_id{8};
  d.plan.rows[0].chain = chain;
  d.check();
  REQUIRE(d.log.count() == 10);
}

TEST_CASE("writing without a page, or with one on the host, is a mismatch and writes nothing") {
  decoding_row d;
  d.plan.rows[0].history_tokens = 60;
  d.plan.rows[0].written_tokens = 113;
  d.pages.writes = 0;
  pages::write_pages(d.pages, d.plan, d.pages.tables(), d.pages.layout, d.log);
  REQUIRE(d.log.count() == 4); // blocks 3 (host) and 7 (none) of the sparse group, 3 and 7 (none) of the dense one
  require_found(d.log, {"step 1, version 3, request 7, group 0, ordinal 3: to be written, but tier 1 slot 12"});
  REQUIRE(d.pages.writes == 3 * 2 + 3);
}

TEST_CASE("only the first mismatches are described, all are counted") {
  pages::mismatch_log log;
  for (int i = 0; i < 100; ++i)
    log.add("number {}", i);
  REQUIRE(log.count() == 100);
  REQUIRE(log.first().size() == 20);
  REQUIRE(log.first().back() == "number 19");
}

} // namespace serve::test
