// A request's cache: one call at a time, the registry first, every call answered.
#include "tests/actors/request_rig.hpp"

namespace kvferry::test {

TEST_CASE("open asks the registry with the keys of all whole blocks and all tokens, and answers when it has") {
  request_rig r;
  r.send(open_request{call_id{1}, {1, 2, 3, 4, 5, 6, 7, 8, 9}, "lora", "tenant"});
  REQUIRE(r.names() == strings{"page_registry match_prefix"});
  const auto asked = r.only<match_prefix>();
  REQUIRE(asked.request == request_rig::id);
  REQUIRE(asked.adapter == "lora");
  REQUIRE(asked.salt == "tenant");
  REQUIRE(asked.prompt_tokens == 9);
  REQUIRE(asked.keys.first == 0);
  REQUIRE(asked.keys.hashes.size() == 2);
  REQUIRE(asked.keys.tokens == std::vector<token>{1, 2, 3, 4, 5, 6, 7, 8, 9});
  r.send(pages_granted{call_id{1}, request_rig::granting(1, 2, request_rig::gpu_pages(0, 2)), 8, false});
  const auto opened = r.only<request_opened>();
  REQUIRE(opened.call == call_id{1});
  REQUIRE(opened.matched_tokens == 8);
  REQUIRE_FALSE(opened.loading);
}

TEST_CASE("keys depend on the whole prefix and on the namespace, not only on a block's tokens") {
  auto keys = [](std::vector<token> prompt, std::string adapter, std::string salt) {
    request_rig r;
    r.send(open_request{call_id{1}, std::move(prompt), std::move(adapter), std::move(salt)});
    return r.only<match_prefix>().keys.hashes;
  };
  const auto plain = keys({1, 1, 1, 1, 2, 2, 2, 2}, "", "");
  REQUIRE(plain == keys({1, 1, 1, 1, 2, 2, 2, 2}, "", ""));
  REQUIRE(plain[0] == keys({1, 1, 1, 1, 3, 3, 3, 3}, "", "")[0]);
  REQUIRE(plain[1] != keys({4, 4, 4, 4, 2, 2, 2, 2}, "", "")[1]);
  REQUIRE(plain[0] != keys({1, 1, 1, 1}, "x", "")[0]);
  REQUIRE(keys({1, 1, 1, 1}, "x", "")[0] != keys({1, 1, 1, 1}, "", "x")[0]);
}

TEST_CASE("calls run one at a time in the order in which they came, and each is answered once") {
  request_rig r;
  r.run();
  r.send(advance{call_id{11}, {9, {}, {}}, {}, 0, false});
  REQUIRE(r.names() == strings{"page_registry owner_transition"});
  r.send(enter_decode{call_id{12}, {}, {}});
  r.send(suspend_request{call_id{13}, {}, {}});
  REQUIRE(r.sent.empty());
  r.send(advanced{call_id{11}, request_rig::granting(2, 3), 0});
  REQUIRE(r.names() == strings{"engine call_done", "page_registry owner_transition"});
  REQUIRE(r.only<call_done>().call == call_id{11});
  REQUIRE(r.only<owner_transition>().kind == transition::enter_decode);
  REQUIRE(r.only<owner_transition>().history.tokens == 9);
  r.send(offload_accepted{call_id{12}, request_rig::granting(2, 3), 2, 0, 1});
  REQUIRE(r.only<call_done>().call == call_id{12});
  REQUIRE(r.only<call_done>().moving == 2);
  REQUIRE(r.only<call_done>().deferred == 1);
  REQUIRE(r.only<owner_transition>().kind == transition::suspend);
}

TEST_CASE("a call that the status does not allow is refused without asking the registry") {
  request_rig r;
  r.run();
  SECTION("resume while active") {
    r.send(resume_request{call_id{11}});
    REQUIRE(r.names() == strings{"engine call_done"});
  }
  SECTION("decode entry, progress and suspension while suspended") {
    r.send(suspend_request{call_id{10}, {}, {}});
    r.send(advanced{call_id{10}, request_rig::granting(3, 3), 0});
    r.send(enter_decode{call_id{11}, {}, {}});
    REQUIRE(r.only<call_done>().refused.has_value());
    r.send(suspend_request{call_id{11}, {}, {}});
    REQUIRE(r.only<call_done>().refused.has_value());
    r.send(advance{call_id{11}, {}, {}, 99, false});
    REQUIRE(r.names() == strings{"engine call_done"});
  }
  const auto done = r.only<call_done>();
  REQUIRE(done.call == call_id{11});
  REQUIRE(done.refused->code == error_code::wrong_status);
}

TEST_CASE("while loading only close and suspend are taken") {
  request_rig r;
  r.send(open_request{call_id{1}, std::vector<token>(9, 5), "", ""});
  r.send(pages_granted{call_id{1}, request_rig::granting(1, 2, request_rig::gpu_pages(0, 2)), 8, true});
  REQUIRE(r.only<request_opened>().loading);
  r.send(advance{call_id{2}, {}, {}, 12, false});
  REQUIRE(r.only<call_done>().refused->code == error_code::wrong_status);
  r.send(enter_decode{call_id{3}, {}, {}});
  REQUIRE(r.only<call_done>().refused->code == error_code::wrong_status);
  SECTION("suspend") {
    r.send(suspend_request{call_id{4}, {}, {}});
    REQUIRE(r.only<owner_transition>().kind == transition::suspend);
  }
  SECTION("close") {
    r.send(close_request{call_id{4}, {}});
    REQUIRE(r.count<release_owners>() == 1);
  }
  SECTION("the loads end") {
    r.send(loads_done{1, {}, 2, false});
    const auto ready = r.only<request_ready>();
    REQUIRE_FALSE(ready.load_failed);
    REQUIRE(ready.capacity_tokens == 8);
    r.send(advance{call_id{5}, {}, {}, 12, false});
    REQUIRE(r.count<owner_transition>() == 1);
  }
  SECTION("a load is lost") {
    r.send(owners_rebound{2, {request_rig::page(tier::none, 1)}});
    r.send(loads_done{2, {}, 1, true});
    REQUIRE(r.only<request_ready>().load_failed);
    REQUIRE(r.only<request_ready>().capacity_tokens == 4);
    r.send(query_storage{call_id{6}});
    REQUIRE(r.only<storage_told>().blocks == 1);
    REQUIRE(r.only<storage_told>().pages.size() == 1);
  }
}

TEST_CASE("a commit carries the keys of complete blocks that are not in the index yet") {
  request_rig r;
  r.run();
  r.send(advance{call_id{11}, {11, {}, {}}, {}, 0, true}); // two blocks are complete, the third is not
  auto asked = r.only<owner_transition>();
  REQUIRE(asked.commit.first == 0);
  REQUIRE(asked.commit.hashes.size() == 2);
  REQUIRE(asked.commit.tokens.size() == 8);
  r.send(advanced{call_id{11}, request_rig::granting(2, 3), 2});
  r.send(advance{call_id{12}, {12, {}, {}}, {}, 0, true});
  asked = r.only<owner_transition>();
  REQUIRE(asked.commit.first == 2);
  REQUIRE(asked.commit.hashes.size() == 1);
}

TEST_CASE("accepted tokens become keys, and history never goes back") {
  request_rig r;
  r.run(1, 1);
  r.send(advance{call_id{11}, {4, {}, {}}, {6, 7, 8}, 8, false});
  r.send(advanced{call_id{11}, request_rig::granting(3, 2, request_rig::gpu_pages(1, 2)), 0});
  r.send(advance{call_id{12}, {8, {}, {}}, {9}, 0, true});
  REQUIRE(r.only<owner_transition>().commit.tokens == std::vector<token>{5, 5, 5, 5, 6, 7, 8, 9});
  r.send(advanced{call_id{12}, request_rig::granting(3, 2), 2});
  r.send(suspend_request{call_id{13}, {}, {}}); // reports nothing new
  r.send(advanced{call_id{13}, request_rig::granting(4, 2), 2});
  r.send(resume_request{call_id{14}});
  REQUIRE(r.only<owner_transition>().history.tokens == 8);
}

TEST_CASE("a refusal reaches the caller with its numbers, and the table is as it was") {
  request_rig r;
  r.run();
  r.send(advance{call_id{11}, {}, {}, 40, false});
  REQUIRE(r.only<owner_transition>().capacity_blocks == 10);
  const shortage numbers{group_id{0}, tier::gpu, 7, 2, 1, 0, 3, 0};
  r.send(transition_refused{call_id{11}, {error_code::publish_first, "group", numbers}});
  const auto done = r.only<call_done>();
  REQUIRE(done.refused->code == error_code::publish_first);
  REQUIRE(done.refused->numbers == numbers);
  REQUIRE(done.capacity_tokens == 12);
}

TEST_CASE("an open that is refused lets go of its id and ends") {
  request_rig r;
  r.send(open_request{call_id{1}, std::vector<token>(9, 5), "", ""});
  r.send(close_request{call_id{2}, {}});
  r.send(transition_refused{call_id{1}, {error_code::gpu_full, "", {}}});
  REQUIRE(r.names() == strings{"engine request_opened", "page_registry release_owners"});
  REQUIRE(r.only<request_opened>().refused->code == error_code::gpu_full);
  r.send(owners_released{});
  REQUIRE(r.only<request_closed>().call == call_id{2});
  REQUIRE(r.state.ended());
}

TEST_CASE("C13: close releases all owners with what still runs, and answers every call that waits") {
  request_rig r;
  r.run();
  r.send(close_request{call_id{11}, {8, {}, fence{stream_id{1}, 5}}});
  REQUIRE(r.only<release_owners>().history.running.sequence_on(stream_id{1}) == 5);
  r.send(close_request{call_id{12}, {}}); // C13: finished twice
  r.send(advance{call_id{13}, {}, {}, 40, false});
  REQUIRE_FALSE(r.state.ended());
  r.send(owners_released{});
  REQUIRE(r.names() == strings{"engine request_closed", "engine request_closed", "engine call_done"});
  REQUIRE(r.only<call_done>().call == call_id{13});
  REQUIRE(r.only<call_done>().refused->code == error_code::unknown_request);
  REQUIRE(r.state.ended());
}

TEST_CASE("a close that comes during another call runs behind it") {
  request_rig r;
  r.run();
  r.send(advance{call_id{11}, {}, {}, 16, false});
  r.send(close_request{call_id{12}, {}});
  REQUIRE(r.sent.empty());
  r.send(advanced{call_id{11}, request_rig::granting(3, 4, request_rig::gpu_pages(3, 4)), 0});
  REQUIRE(r.count<release_owners>() == 1);
}

TEST_CASE("the table is what the registry says, tier and slot and whether bytes are there") {
  request_rig r;
  r.send(open_request{call_id{1}, std::vector<token>(9, 5), "", ""});
  r.send(pages_granted{
      call_id{1},
      request_rig::granting(1, 2, {request_rig::page(tier::gpu, 0, 6, false), request_rig::page(tier::gpu, 1, 3)}), 8,
      true});
  r.send(query_storage{call_id{2}});
  auto told = r.only<storage_told>();
  REQUIRE(told.seq == 1);
  REQUIRE(told.pages ==
          std::vector<page_change>{request_rig::page(tier::gpu, 0, 6, false), request_rig::page(tier::gpu, 1, 3)});
  REQUIRE(told.history.empty());
  r.send(loads_done{1, {}, 2, false});
  r.send(query_storage{call_id{3}});
  REQUIRE(r.only<storage_told>().pages[0].ready);
}

TEST_CASE("host pages of a group are told by ordinal") {
  request_rig r;
  r.run();
  r.decode();
  r.send(owners_rebound{3, {request_rig::page(tier::host, 1, 4)}});
  r.send(query_host_pages{call_id{20}, group_id{0}});
  REQUIRE(r.only<host_pages_told>().call == call_id{20});
  REQUIRE(r.only<host_pages_told>().ordinals == std::vector<block_ordinal>{1});
}

} // namespace kvferry::test
