// The JSON form of messages: nothing is lost on the way there and back, and what is no message says why.
#include "messages/json.hpp"

#include "messages/envelope_text.hpp"
#include "tests/catch.hpp"
#include "tests/messages/filled.hpp"

namespace kvferry::test {

namespace {

std::string error_of(std::string_view name, const json& body) {
  auto parsed = parse_message(name, body);
  if (parsed)
    return "no error: " + to_string(*parsed);
  CHECK(parsed.error().code == error_code::invalid_argument);
  return parsed.error().message;
}

} // namespace

TEST_CASE("each field of each message stands in its JSON under its name and in its order") {
  REQUIRE(message_samples().size() > 50);
  for (const message_sample& kind : message_samples()) {
    INFO(kind.info.name);
    const json full = body_json(kind.filled()), empty = body_json(kind.blank());
    std::vector<std::string_view> written;
    for (auto each = full.begin(); each != full.end(); ++each)
      written.push_back(each.key());
    REQUIRE(written == kind.fields);
    for (const auto& [name, value] : full.items()) {
      INFO(name);
      REQUIRE(value != empty.at(name)); // it is written from the field and not from nothing
    }
  }
}

TEST_CASE("each message read back from its JSON is the message") {
  for (const message_sample& kind : message_samples())
    for (const any_message& m : {kind.filled(), kind.blank()}) {
      const json body = body_json(m);
      INFO(kind.info.name << " " << body.dump());
      auto parsed = parse_message(kind.info.name, json::parse(body.dump()));
      REQUIRE(parsed.has_value());
      REQUIRE(parsed->index() == m.index());
      REQUIRE(body_json(*parsed).dump() == body.dump());
    }
}

TEST_CASE("a message on its way keeps its sender, its cause and its body as text") {
  for (const message_sample& kind : message_samples()) {
    INFO(kind.info.name);
    const address from{actor_kind::request_cache, 7};
    const any_message message = kind.filled();
    const std::string text = envelope_text(from, 41, message.index(), message.body());
    address parsed_from;
    std::uint64_t cause = 0;
    any_message parsed = kind.blank();
    REQUIRE(parse_envelope(text, parsed_from, cause, parsed.index(), parsed.body()));
    REQUIRE(parsed_from == from);
    REQUIRE(cause == 41);
    REQUIRE(body_json(parsed) == body_json(message));
    REQUIRE_FALSE(parse_envelope(text.substr(1), parsed_from, cause, parsed.index(), parsed.body()));
  }
}

TEST_CASE("messages look as documented in JSON") {
  owner_transition m;
  m.request = request_id{7};
  m.kind = transition::enter_decode;
  m.history = {12, fence{stream_id{1}, 5}, {}};
  m.commit = {2, {~std::uint64_t{0}}, {1, -2, 3, 4}};
  REQUIRE(
      body_json(any_message{m}).dump() ==
      R"({"request":7,"call":null,"kind":"enter_decode","history":{"tokens":12,"written":[[1,5]],"running":[]},)"
      R"("capacity_blocks":0,"commit":{"first":2,"hashes":[18446744073709551615],"tokens":[1,-2,3,4]},"only_free":false})");
  REQUIRE(to_string(any_message{flush_copies{}}) == "flush_copies {}");
  transition_refused refused{
      call_id{3}, {error_code::gpu_full, "full", shortage{group_id{1}, tier::host, 1, 2, 3, 4, 5, 6, {batch_id{2}}}}};
  REQUIRE(body_json(any_message{refused}).dump() ==
          R"({"call":3,"why":{"code":"gpu_full","message":"full","numbers":{"group":1,"on":"host","needed":1,"free":2,)"
          R"("in_copy":3,"fenced":4,"unpublished":5,"held":6,"batches":[2]}}})");
}

TEST_CASE("a message of an unknown name is refused by name") {
  REQUIRE_THAT(error_of("owner_transmission", json::object()), ContainsSubstring("owner_transmission"));
}

TEST_CASE("a body that lacks a field is refused with the name of the message and of the field") {
  for (const message_sample& kind : message_samples())
    for (std::string_view name : kind.fields) {
      json body = body_json(kind.filled());
      body.erase(std::string{name});
      const std::string error = error_of(kind.info.name, body);
      REQUIRE_THAT(error, ContainsSubstring(std::string{kind.info.name}));
      REQUIRE_THAT(error, ContainsSubstring("'" + std::string{name} + "'"));
    }
}

TEST_CASE("a field of the wrong type is refused with the name of the message") {
  for (const message_sample& kind : message_samples())
    for (std::string_view name : kind.fields) {
      json body = body_json(kind.filled());
      body[std::string{name}] = json{{"a", json{{"b", "c"}}}};
      INFO(kind.info.name << "." << name);
      REQUIRE_THAT(error_of(kind.info.name, body), StartsWith(std::string{kind.info.name} + ": "));
    }
}

// Was wrong once (messages/json_value.hpp, reading): json.hpp promises an error "with what is missing or wrong"; the
// field that is wrong is not named, only its JSON type.
TEST_CASE("a field of the wrong type is refused with the name of the field") {
  json body = body_json(any_message{filled<row_acknowledged>()});
  body["seq"] = "many";
  REQUIRE_THAT(error_of("row_acknowledged", body), ContainsSubstring("seq"));
}

TEST_CASE("a word that no enumeration has is refused with the word") {
  json body = body_json(any_message{filled<owner_transition>()});
  body["kind"] = "retire";
  REQUIRE_THAT(error_of("owner_transition", body), ContainsSubstring("retire"));
}

// Was wrong once (messages/json_value.hpp, read of enumerations): "?" is what unnamed values print as, and is read as
// one.
TEST_CASE("the word for an unnamed value of an enumeration is no word") {
  json body = body_json(any_message{filled<owner_transition>()});
  body["kind"] = "?";
  REQUIRE_THAT(error_of("owner_transition", body), StartsWith("owner_transition: "));
}

// Was wrong once (messages/json_value.hpp, read of numbers): from.get<Rep>() cuts a number to its width; group 256 is
// read as group 0, and a replayed trace does something else than what it says.
TEST_CASE("a number that its field cannot hold is refused") {
  using wrong = std::pair<const char*, json>;
  for (const auto& [field, value] : {wrong{"group", 256}, wrong{"ordinal", -1}, wrong{"call", 1.5}}) {
    json body = body_json(any_message{filled<query_blockers>()});
    body[field] = value;
    CHECK_THAT(error_of("query_blockers", body), StartsWith("query_blockers: "));
  }
}

} // namespace kvferry::test
