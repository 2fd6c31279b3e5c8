// docs/messages.md is held against the messages; and what a message says of itself against the others.
#include "tests/messages/message_table.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "tests/catch.hpp"
#include "tests/messages/filled.hpp"

namespace kvferry::test {

namespace {

constexpr const char* page_path = KVFERRY_SOURCE_DIR "/docs/messages.md";

std::string written_page() {
  std::ifstream file{page_path};
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words{""};
  for (char c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_')
      words.back() += c;
    else if (!words.back().empty())
      words.emplace_back();
  if (words.back().empty())
    words.pop_back();
  return words;
}

std::map<std::string, message_info> all_infos() {
  std::map<std::string, message_info> infos;
  for (const message_sample& kind : message_samples())
    infos.emplace(std::string{kind.info.name}, kind.info);
  return infos;
}

template <class... Messages>
void require_receiver(message_list<Messages...>, actor_kind to) {
  for (const message_info& info : {Messages::info...}) {
    INFO(info.name);
    REQUIRE(info.to == to);
  }
}

} // namespace

TEST_CASE("the page of messages says what the messages say of themselves") {
  if (std::getenv("KVFERRY_UPDATE_DOCS") != nullptr)
    std::ofstream{page_path} << message_table();
  REQUIRE(written_page() == message_table());
}

TEST_CASE("no two messages have the same name") { REQUIRE(all_infos().size() == message_samples().size()); }

TEST_CASE("each message stands in the list of the actor that it is for") {
  require_receiver(page_registry_messages{}, actor_kind::page_registry);
  require_receiver(storage_messages{}, actor_kind::storage);
  require_receiver(completions_messages{}, actor_kind::completions);
  require_receiver(request_cache_messages{}, actor_kind::request_cache);
  require_receiver(batch_publisher_messages{}, actor_kind::batch_publisher);
  require_receiver(engine_messages{}, actor_kind::engine);
}

TEST_CASE("senders are actors or the engine, and never the receiver itself") {
  const std::set<std::string> known{"engine",        "page_registry",   "storage",
                                    "request_cache", "batch_publisher", "completions"};
  for (const auto& [name, info] : all_infos()) {
    INFO(name);
    REQUIRE_FALSE(words_of(info.from).empty());
    for (const std::string& sender : words_of(info.from)) {
      INFO(sender);
      REQUIRE(known.contains(sender));
      REQUIRE(sender != to_string(info.to));
    }
  }
}

TEST_CASE("a reply that a message names is a message of its receiver") {
  const auto infos = all_infos();
  std::size_t replies = 0;
  for (const auto& [name, info] : infos)
    for (const std::string& word : words_of(info.reply))
      if (auto reply = infos.find(word); reply != infos.end()) {
        INFO(name << " is answered by " << word);
        // Completions answers on behalf of whom it was told by, storage passes on: both go to another actor than who
        // asked.
        REQUIRE(words_of(reply->second.from) == std::vector<std::string>{std::string{to_string(info.to)}});
        ++replies;
      } else {
        INFO(name << ": " << word);
        REQUIRE(word.find('_') == std::string::npos); // a word of the sentence, not a message that is gone
      }
  REQUIRE(replies > 30);
}

TEST_CASE("a call of the engine names its reply, and what it is told when the receiver is gone") {
  for (const message_sample& kind : message_samples())
    if (kind.info.from == "engine" && std::ranges::find(kind.fields, "call") != kind.fields.end()) {
      INFO(kind.info.name);
      REQUIRE_FALSE(kind.info.reply.empty());
      REQUIRE(kind.info.if_gone != "ignored");
    }
}

} // namespace kvferry::test
