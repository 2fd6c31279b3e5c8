#include "tests/properties/test_case.hpp"

#include <array>
#include <sstream>

#include <fmt/format.h>

#include "kvferry/contract.hpp"

namespace kvferry::test {
namespace {

constexpr std::array<std::string_view, 23> names{
#define X(name, weight) #name,
    KVFERRY_COMMANDS(X)
#undef X
};

rc::Gen<setup> setups() {
  return rc::gen::map(
      rc::gen::container<std::vector<std::uint8_t>>(setup_numbers.size(), rc::gen::arbitrary<std::uint8_t>()),
      [](const std::vector<std::uint8_t>& numbers) {
        setup made;
        for (std::size_t i = 0; i < setup_numbers.size(); ++i)
          made.*setup_numbers[i].field = numbers[i] % setup_numbers[i].values;
        made.large = numbers[3] % 5 == 1 ? 1 : 0;
        made.max_blocks = numbers[11] % 8 == 1 ? 1 : 0;
        return made;
      });
}

rc::Gen<command> commands() {
  static const std::vector<command_kind> weighted = [] {
    std::vector<command_kind> all;
#define X(name, weight) all.insert(all.end(), weight, command_kind::name);
    KVFERRY_COMMANDS(X)
#undef X
    return all;
  }();
  auto number = rc::gen::inRange<int>(0, 64);
  return rc::gen::map(
      rc::gen::tuple(rc::gen::noShrink(rc::gen::elementOf(weighted)), number, number, number),
      [](const std::tuple<command_kind, int, int, int>& t) {
        auto [kind, a, b, c] = t;
        return command{kind, static_cast<std::uint8_t>(a), static_cast<std::uint8_t>(b), static_cast<std::uint8_t>(c)};
      });
}

buffer_config buffer(const char* name, std::uint64_t bytes) { return {name, bytes, 0, 0}; }

} // namespace

kvferry::configuration setup::configuration() const {
  const std::uint32_t gpu = large ? 256 : 5u + gpu_slots;
  const std::uint32_t host = large ? 256 : 1u + host_slots;
  kvferry::configuration config;
  config.tokens_per_block = tokens_per_block;
  config.groups.push_back({"first", group_kind::sparse, 0, {buffer("k", 16), buffer("v", 8)}, gpu, host});
  if (groups & 1)
    config.groups.push_back({"second", group_kind::sparse, 0, {buffer("kv", 4)}, gpu + 1, host + 1});
  if (groups & 2)
    config.groups.push_back({"window", group_kind::dense, 6, {buffer("kv", 8)}, gpu, host / 2});
  if (groups & 4)
    config.groups.push_back({"full", group_kind::dense, 0, {buffer("kv", 12)}, gpu, large ? host : host % 3});
  config.defer_steps_max = defer == 0   ? std::nullopt
                           : defer == 1 ? std::optional<std::uint32_t>{0}
                                        : std::optional<std::uint32_t>{3};
  config.on_host_full = host_full ? host_full_policy::defer : host_full_policy::refuse;
  config.on_host_hit = host_hit ? host_hit_policy::recompute : host_hit_policy::load;
  config.copy_retries = retries;
  config.order = order ? delivery_order::random : delivery_order::fifo;
  config.seed = seed;
  return config;
}

host_device_options setup::device() const {
  host_device_options options;
  options.drive = drive == 0 ? drive_mode::eager : drive == 1 ? drive_mode::by_hand : drive_mode::random;
  options.seed = seed;
  return options;
}

batch_config setup::batch() const { return {4, max_blocks ? 5u : 16u, 1}; }

rc::Gen<test_case> test_cases() {
  return rc::gen::map(rc::gen::pair(setups(), rc::gen::container<std::vector<command>>(commands())),
                      [](const std::pair<setup, std::vector<command>>& drawn) {
                        return test_case{drawn.first, drawn.second};
                      });
}

std::string_view name_of(command_kind kind) { return names[static_cast<std::size_t>(kind)]; }

std::string to_text(const test_case& which) {
  std::string text = "setup";
  for (const setup_number& number : setup_numbers)
    text += fmt::format(" {}", which.setup.*number.field);
  for (const command& done : which.commands)
    text += fmt::format("; {} {} {} {}", name_of(done.kind), done.a, done.b, done.c);
  return text;
}

test_case parse_case(std::string_view text) {
  test_case made;
  std::istringstream parts{std::string{text}};
  for (std::string part; std::getline(parts, part, ';');) {
    std::istringstream words{part};
    std::string name;
    words >> name;
    auto number = [&] {
      int value = 0;
      words >> value;
      return static_cast<std::uint8_t>(value);
    };
    if (name == "setup") {
      for (const setup_number& field : setup_numbers)
        made.setup.*field.field = number();
      continue;
    }
    auto found = std::find(names.begin(), names.end(), name);
    KVFERRY_REQUIRE(found != names.end(), "'{}' is no command", name);
    command done{static_cast<command_kind>(found - names.begin()), 0, 0, 0};
    done.a = number();
    done.b = number();
    done.c = number();
    made.commands.push_back(done);
  }
  return made;
}

std::string words_of(const setup& which) {
  const kvferry::configuration config = which.configuration();
  std::string groups;
  for (const group_config& group : config.groups)
    groups += fmt::format("{}{} ({} gpu, {} host slots)", groups.empty() ? "" : ", ", group.name, group.gpu_slots,
                          group.host_slots);
  static constexpr std::array<std::string_view, 3> drives{"eager", "by hand", "in random order"};
  return fmt::format(
      "{}; defer_steps_max {}, on_host_full {}, on_host_hit {}, copy_retries {}, messages {} of seed {}, "
      "device {}, rows of {} blocks",
      groups, config.defer_steps_max ? fmt::to_string(*config.defer_steps_max) : "never",
      to_string(config.on_host_full), to_string(config.on_host_hit), config.copy_retries, to_string(config.order),
      config.seed, drives[which.drive], which.batch().max_blocks);
}

} // namespace kvferry::test
