// Lives of blocks and requests, told from a record.
#include "kvferry/trace.hpp"
#include "tests/replay/edited.hpp"
#include "tests/replay/recorded_run.hpp"
#include "tests/serve/scratch_file.hpp"

namespace kvferry::test {

namespace {

trace trace_of(const std::string& text) {
  serve::test::scratch_file file("record.jsonl", text);
  auto read = trace::read(file.path());
  REQUIRE(read);
  return std::move(*read);
}

/// Each is told of, in this order.
void require_told(const std::string& story, const std::vector<std::string>& events) {
  INFO(story);
  std::size_t at = 0;
  for (const std::string& event : events) {
    INFO(event);
    at = story.find(event, at);
    REQUIRE(at != std::string::npos);
  }
}

} // namespace

TEST_CASE("the life of a shared block is told: from its slot, over who kept it on the GPU, to the slot's next user") {
  const trace record = trace_of(record_of_shared_block());
  auto story = record.life_of(block_id{1});
  REQUIRE(story);
  require_told(*story,
               {"block 1, group \"attention\"", "allocated for request 1 · GPU slot 0",
                "published: version 1 of batch 1", "ready: complete history of request 1", "committed",
                "shared: request 2 binds to it", "deferred by request 2 (in prefill)", "queued: offload to the host",
                "submitted: the copy ends with fence", "copied: offload is done · host slot", "rebound: request 1",
                "gives its GPU page up · GPU slot 0", "published: version", "shows it to request 1 · host slot",
                "GPU slot 0 is reused: request 3, ordinal", "let go by request 1", "let go by request 2", "idle"});
}

TEST_CASE("the life of a request is told: its calls, its blocks, its rows, its end") {
  const trace record = trace_of(record_of_shared_block());
  auto story = record.life_of(request_id{2});
  REQUIRE(story);
  require_told(*story, {"request 2", "open_request", "attention 0: shared: request 2 binds to it",
                        "request_opened (matched_tokens 4", "row_joined", "attention 1: allocated for request 2",
                        "published: version", "enter_decode", "queued: offload to the host", "call_done (", "moving 2",
                        "rebound: request 2", "close_request", "let go by request 2", "request_closed"});
}

TEST_CASE("the life of a block that begins as a copy is told: the copy goes to the GPU") {
  auto story = trace_of(record_of_branch()).life_of(block_id{3});
  REQUIRE(story);
  require_told(*story,
               {"queued: branch to the GPU · slot 2", "allocated for request 2 · GPU slot 2",
                "submitted: the copy ends with fence", "copied: branch is done · GPU slot 2", "let go by request 2"});
}

TEST_CASE("a life that the record does not know is refused by name") {
  const trace record = trace_of(record_of_shared_block());
  REQUIRE(record.life_of(block_id{77}).error().message == "the record does not know block 77");
  REQUIRE(record.life_of(request_id{77}).error().message == "the record does not know request 77");
  REQUIRE(record.replay("request_cache/77").error().code == error_code::invalid_argument);
  REQUIRE(record.replay("nobody").error().code == error_code::invalid_argument);
}

TEST_CASE("every life in a rough run can be told") {
  const std::string text = record_of_workload(rough_options(), 6);
  const trace record = trace_of(text);
  for (std::uint64_t request = 1; request <= 6; ++request)
    REQUIRE(record.life_of(request_id{request}));
  for (std::uint64_t block = 1; block <= 20; ++block)
    REQUIRE(record.life_of(block_id{block}));
}

} // namespace kvferry::test
