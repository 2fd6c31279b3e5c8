// Reading a record: whole, cut off, damaged, of another version.
#include "runtime/trace/trace_file.hpp"

#include "messages/json.hpp"
#include "tests/messages/filled.hpp"
#include "tests/replay/edited.hpp"
#include "tests/replay/recorded_run.hpp"

namespace kvferry::test {

TEST_CASE("the text of a body is the text of its JSON, for each message") {
  for (const message_sample& kind : message_samples())
    for (const any_message& m : {kind.filled(), kind.blank()}) {
      std::string text;
      print_body(m, text);
      REQUIRE(text == body_json(m).dump());
    }
}

TEST_CASE("a record read back is the record: every line, in order, with its cause") {
  const std::string text = record_of_shared_block();
  const trace_file file = parsed(text);
  REQUIRE(file.state() == trace_state::whole);
  REQUIRE(file.trouble().empty());
  const auto lines = lines_of(text);
  REQUIRE(file.records().size() == lines.size() - 1);
  for (const trace_record& record : file.records()) {
    REQUIRE(lines[record.seq].find(record.body) != std::string::npos);
    auto message = trace_file::message_of(record);
    REQUIRE(message);
    std::string body;
    print_body(*message, body);
    REQUIRE(body == record.body);
    REQUIRE(record.cause < record.seq);
  }
  REQUIRE(with_right_checks(text) == text);
}

TEST_CASE("what a handling sent is found by its number") {
  const trace_file file = parsed(record_of_shared_block());
  std::size_t sent = 0;
  for (std::uint64_t seq = 0; seq <= file.records().size(); ++seq)
    for (std::uint64_t each : file.sent_by(seq)) {
      REQUIRE(file.at(each).cause == seq);
      ++sent;
    }
  REQUIRE(sent == file.records().size());
}

TEST_CASE("a record that is cut in the middle of a line is usable up to its last whole record") {
  const std::string text = record_of_shared_block();
  const auto lines = lines_of(text);
  const std::size_t whole = lines.size() / 2;
  const std::string cut = joined({lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(whole)}) +
                          lines[whole].substr(0, lines[whole].size() / 2);
  const trace_file file = parsed(cut);
  REQUIRE(file.state() == trace_state::cut);
  REQUIRE(file.records().size() == whole - 1);
  REQUIRE(file.trouble() == "the record is cut off in the middle of " + std::to_string(whole));
}

TEST_CASE("a record without its end is cut, however whole its last line is") {
  const auto lines = lines_of(record_of_shared_block());
  const trace_file file = parsed(joined({lines.begin(), lines.begin() + 10}));
  REQUIRE(file.state() == trace_state::cut);
  REQUIRE(file.records().size() == 9);
}

TEST_CASE("a changed digit is damage, and the line is named") {
  std::string text = record_of_shared_block();
  auto lines = lines_of(text);
  lines[20] = with(lines[20], "\"body\":", "}", " }");
  const trace_file file = parsed(joined(lines));
  REQUIRE(file.state() == trace_state::damaged);
  REQUIRE(file.records().size() == 19);
  REQUIRE(file.trouble().find("line 21 (record 20) is damaged") == 0);
  REQUIRE(file.damaged().has_value());
}

TEST_CASE("lines that are lost, doubled or in another order are damage") {
  const auto lines = lines_of(record_of_shared_block());
  auto lost = lines, doubled = lines, swapped = lines;
  lost.erase(lost.begin() + 15);
  doubled.insert(doubled.begin() + 15, lines[15]);
  std::swap(swapped[15], swapped[16]);
  REQUIRE(parsed(joined(lost)).records().size() == 14);
  REQUIRE(parsed(joined(lost)).state() == trace_state::damaged);
  REQUIRE(parsed(joined(doubled)).records().size() == 15);
  REQUIRE(parsed(joined(doubled)).state() == trace_state::damaged);
  REQUIRE(parsed(joined(swapped)).records().size() == 14);
  REQUIRE(parsed(joined(swapped)).state() == trace_state::damaged);
}

TEST_CASE("a trace of another version is refused by its number, whatever else it holds") {
  const std::string text = record_of_shared_block();
  for (const char* version : {"1", "2", "4", "\"two\""}) {
    auto read = trace_file::parse(with(text, "\"kvferry_trace\":", "3", version), "later.jsonl");
    REQUIRE_FALSE(read);
    REQUIRE(read.error().code == error_code::unknown_format);
    REQUIRE(read.error().message ==
            std::string{"later.jsonl: is a trace of version "} + version + "; this reads version 3");
  }
}

TEST_CASE("a damaged header, and a file that is no trace, are refused") {
  const std::string text = record_of_shared_block();
  auto code = [](const std::string& bytes) {
    auto read = trace_file::parse(bytes, "x");
    REQUIRE_FALSE(read);
    return read.error().code;
  };
  REQUIRE(code(with(text, "\"seed\":", "1", "2")) == error_code::damaged_record);
  REQUIRE(code("") == error_code::damaged_record);
  REQUIRE(code("{\"other\":1}\n") == error_code::damaged_record);
  REQUIRE(code(text.substr(0, 20)) == error_code::damaged_record);
  REQUIRE(trace::read("/no/such/file").error().code == error_code::io_error);
}

TEST_CASE("a type that this build does not know is said to be of another build") {
  auto lines = lines_of(record_of_shared_block());
  lines[9] = with(lines[9], "\"type\":\"", "\",\"cause\"", "_anew\",\"cause\"");
  auto read = trace_file::parse(with_right_checks(joined(lines)), "x");
  REQUIRE_FALSE(read);
  REQUIRE(read.error().code == error_code::unknown_format);
  REQUIRE(read.error().message == "x: record 9: this build does not know its type");
}

} // namespace kvferry::test
