// Replay: fresh actors send what the record says, and the first difference is found and explained.
#include <algorithm>
#include <set>

#include "tests/replay/edited.hpp"
#include "tests/replay/recorded_run.hpp"

namespace kvferry::test {

namespace {

/// Number of the first record of that type.
std::uint64_t first_of(const trace_file& file, std::string_view type) {
  for (const trace_record& record : file.records())
    if (summary_of(record).find(" " + std::string{type} + " {") != std::string::npos)
      return record.seq;
  FAIL("no " << type);
  return 0;
}

} // namespace

TEST_CASE("a run under stepped recorded twice gives the same bytes") {
  REQUIRE(record_of_shared_block() == record_of_shared_block());
  serve::serve_options options = rough_options();
  options.order = delivery_order::random;
  options.seed = 3;
  REQUIRE(record_of_workload(options, 6) == record_of_workload(options, 6));
}

TEST_CASE("every message and device call of a run is reproduced") {
  const std::string text = record_of_shared_block();
  const trace_file file = parsed(text);
  replayer replayed{file};
  replayed.run();
  INFO((replayed.difference() ? explain(file, *replayed.difference()).text : ""));
  REQUIRE_FALSE(replayed.difference());
  const auto made_by_actors = std::count_if(file.records().begin(), file.records().end(),
                                            [](const trace_record& record) { return record.cause != 0; });
  REQUIRE(replayed.compared() == static_cast<std::uint64_t>(made_by_actors));
  REQUIRE(replayed.undelivered() == 0);
}

TEST_CASE("a rough run in any order of messages is reproduced") {
  serve::serve_options options = rough_options();
  options.order = GENERATE(delivery_order::fifo, delivery_order::random);
  REQUIRE(difference_in(record_of_workload(options, 12)) == "");
}

TEST_CASE("a run in which an actor dies is reproduced") {
  const std::string text = record_of_death();
  REQUIRE(text.find("request_down") != std::string::npos);
  REQUIRE(difference_in(text) == "");
}

TEST_CASE("each actor alone is reproduced from its inbox") {
  const std::string text = record_of_workload(rough_options(), 6);
  const trace_file file = parsed(text);
  std::set<std::string> actors;
  for (const trace_record& record : file.records())
    if (record.to.kind != actor_kind::engine && record.to.kind != actor_kind::device)
      actors.insert(to_string(record.to));
  REQUIRE(actors.size() >= 10); // six requests, and one of each other kind
  for (const std::string& actor : actors) {
    INFO(actor);
    REQUIRE(difference_in(text, actor) == "");
  }
}

TEST_CASE("one actor's replay sees nothing of another's difference") {
  const std::string text = record_of_shared_block();
  const std::string changed =
      with_right_checks(with(text, "\"type\":\"match_prefix\"", "\"prompt_tokens\":12", "\"prompt_tokens\":11"));
  REQUIRE(difference_in(changed).find("prompt_tokens") != std::string::npos);
  REQUIRE(difference_in(changed, "request_cache/1").find("prompt_tokens") != std::string::npos);
  REQUIRE(difference_in(changed, "storage") == "");
}

TEST_CASE("a digit that was changed under a right check is a difference, shown with both sides and its causes") {
  const std::string text = record_of_shared_block();
  const trace_file file = parsed(text);
  const std::uint64_t granted = first_of(file, "advanced");
  auto lines = lines_of(text);
  lines[granted] = with(lines[granted], "\"changes\":", "\"slot\":0", "\"slot\":9");
  const std::string said = difference_in(with_right_checks(joined(lines)));
  INFO(said);
  REQUIRE(said.find("different: page_registry, handling #" + std::to_string(file.at(granted).cause)) == 0);
  REQUIRE(said.find("they part at granted.changes[0].slot: recorded 9, replayed 0") != std::string::npos);
  REQUIRE(said.find("concerns request 1") != std::string::npos);
  const std::size_t input = said.find("engine → request_cache/1 advance");
  const std::size_t handling = said.find("request_cache/1 → page_registry owner_transition");
  REQUIRE(input != std::string::npos);
  REQUIRE(handling != std::string::npos);
  REQUIRE(input < handling);
}

TEST_CASE("a difference names the block that it concerns") {
  const std::string text = record_of_shared_block();
  const trace_file file = parsed(text);
  const std::uint64_t moved = first_of(file, "copy_pages");
  auto lines = lines_of(text);
  lines[moved] = with(lines[moved], "\"moves\":", "\"host\":0", "\"host\":7");
  const trace_file edited = parsed(with_right_checks(joined(lines)));
  replayer replayed{edited};
  replayed.run();
  REQUIRE(replayed.difference());
  const replay_difference said = explain(edited, *replayed.difference());
  const auto copies = trace_file::message_of(file.at(moved));
  REQUIRE(said.block == copies->get_if<copy_pages>()->moves.front().block);
  REQUIRE(said.text.find("concerns request 1, block ") != std::string::npos);
}

TEST_CASE("a message that the record lacks, or has too much, is a difference") {
  const std::string text = record_of_shared_block();
  const trace_file file = parsed(text);
  const std::uint64_t reply = first_of(file, "offload_accepted");
  auto lines = lines_of(text);
  lines[reply] = with(lines[reply], "\"type\":", "offload_accepted", "advanced");
  REQUIRE(difference_in(with_right_checks(joined(lines))).find("sends request_cache/1 something else") !=
          std::string::npos);
  lines = lines_of(text);
  lines[reply] = with(lines[reply], "\"to\":", "request_cache/1", "request_cache/9");
  REQUIRE(difference_in(with_right_checks(joined(lines))).find("replayed  nothing") != std::string::npos);
}

TEST_CASE("a call on the device with other arguments is a difference") {
  const std::string text = record_of_shared_block();
  const trace_file file = parsed(text);
  auto lines = lines_of(text);
  const std::uint64_t copy = first_of(file, "device_copy_pages");
  lines[copy] = with(lines[copy], "\"body\":", "\"pages\":2", "\"pages\":3");
  const std::string said = difference_in(with_right_checks(joined(lines)));
  INFO(said);
  REQUIRE(said.find("different: storage, handling #") == 0);
  REQUIRE(said.find("they part at pages: recorded 3, replayed 2") != std::string::npos);
  REQUIRE(difference_in(with_right_checks(joined(lines)), "storage") == said);
}

TEST_CASE("a record that is cut anywhere is reproduced up to there") {
  const auto lines = lines_of(record_of_shared_block());
  for (std::size_t whole = 5; whole < lines.size(); whole += 3) {
    INFO(whole);
    const trace_file file = parsed(joined({lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(whole)}));
    replayer replayed{file};
    replayed.run();
    INFO((replayed.difference() ? explain(file, *replayed.difference()).text : ""));
    REQUIRE_FALSE(replayed.difference());
  }
}

TEST_CASE("a damaged line is explained by what replay has in its place") {
  const std::string text = record_of_shared_block();
  const std::uint64_t granted = first_of(parsed(text), "advanced");
  auto lines = lines_of(text);
  lines[granted] = with(lines[granted], "\"changes\":", "\"slot\":0", "\"slot\":9");
  const trace_file file = parsed(joined(lines));
  REQUIRE(file.state() == trace_state::damaged);
  replayer replayed{file};
  replayed.run();
  const std::string said = explain_damage(file, replayed);
  INFO(said);
  REQUIRE(said.find("they part at granted.changes[0].slot: recorded 9, replayed 0") != std::string::npos);
}

} // namespace kvferry::test
