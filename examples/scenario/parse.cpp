#include "examples/scenario/parse.hpp"

#include <fstream>
#include <iterator>

#include "examples/scenario/reader.hpp"

namespace scenarios {
namespace {

using nlohmann::json;

/// JSON text to a value. The library keeps the last of two fields of one name; here that is an error.
kvferry::expected<json> parse_json(std::string_view text) {
  std::vector<std::set<std::string>> open;
  std::string twice;
  const auto see = [&](int, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start)
      open.emplace_back();
    else if (event == json::parse_event_t::object_end)
      open.pop_back();
    else if (event == json::parse_event_t::key && !open.back().insert(parsed.get<std::string>()).second)
      twice = parsed.get<std::string>();
    return true;
  };
  try {
    json value = json::parse(text, see);
    if (!twice.empty())
      return kvferry::fail(kvferry::error_code::invalid_configuration,
                           fmt::format("a field {} is given twice in one object, but must be given once", twice));
    return value;
  } catch (const json::exception& problem) {
    std::string_view words = problem.what();
    const auto number_end = words.find("] ");
    return kvferry::fail(kvferry::error_code::invalid_configuration,
                         std::string{number_end == std::string_view::npos ? words : words.substr(number_end + 2)});
  }
}

const json* field_of(const json& object, std::string_view name) {
  if (!object.is_object())
    return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

const std::string* text_of(const json& object, std::string_view name) {
  const json* found = field_of(object, name);
  return found != nullptr && found->is_string() ? &found->get_ref<const std::string&>() : nullptr;
}

/// A new name that the step brings about is known from the step on.
void learn_names(known_names& known, std::string_view word, const json& fields) {
  const auto learn = [&](std::string_view field, std::set<std::string>& names) {
    if (const std::string* name = text_of(fields, field); name != nullptr && !name->empty())
      names.insert(*name);
  };
  if (word == open_step::word)
    learn("request", known.requests);
  else if (word == create_batch_step::word)
    learn("batch", known.batches);
  else if (word == remember_step::word)
    learn("as", known.places);
}

class scenario_reader {
public:
  explicit scenario_reader(const json& text) : text_(text) {}

  kvferry::expected<scenario> read_all() {
    if (is_object_of(state_, text_, "", {"why", "reports", "configuration", "steps"}))
      read_fields();
    if (state_.wrong)
      return kvferry::fail(kvferry::error_code::invalid_configuration, *state_.wrong);
    return std::move(made_);
  }

private:
  void read_fields() {
    field_reader fields{state_, text_, ""};
    fields.required("why", made_.why);
    fields.optional("reports", made_.reports);
    check_reports();
    read_configuration();
    const json* steps = field_of(text_, "steps");
    if (steps == nullptr)
      return state_.refuse_missing("steps", "a list of steps");
    if (!steps->is_array() || steps->empty())
      return state_.refuse("steps", *steps, "a list of steps, one or more");
    learn_streams(*steps);
    for (std::size_t i = 0; i < steps->size() && !state_.wrong; ++i)
      read_step((*steps)[i], fmt::format("steps[{}]", i));
  }

  /// As in docs/field_reports.md. CMake puts them before the test's name.
  void check_reports() {
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    for (std::size_t i = 0; i < made_.reports.size(); ++i)
      if (const std::string& text = made_.reports[i]; text.size() < 2 || text.size() > 3 || text[0] < 'A' ||
                                                      text[0] > 'K' ||
                                                      !std::all_of(text.begin() + 1, text.end(), digit))
        state_.refuse(fmt::format("reports[{}]", i), text, "a field report's number: a letter from A to K and digits");
  }

  /// By the runtime's own reader, whose errors begin with the path in the configuration.
  void read_configuration() {
    const json* found = field_of(text_, "configuration");
    if (found == nullptr)
      return state_.refuse_missing("configuration", "an object");
    if (!found->is_object())
      return state_.refuse("configuration", *found, "an object");
    auto config = kvferry::parse_configuration(found->dump(), "");
    if (config && config->scheduler != kvferry::scheduler_kind::stepped)
      return state_.refuse("configuration.scheduler", "threaded",
                           "\"stepped\": the device and the actors of a scenario run when it says so");
    if (!config) {
      constexpr std::string_view no_source = ": ";
      state_.wrong = state_.wrong.value_or("configuration." + config.error().message.substr(no_source.size()));
      return;
    }
    made_.config = std::move(*config);
    for (const kvferry::group_config& group : made_.config.groups)
      known_.groups.push_back(group.name);
  }

  /// Streams that something runs on anywhere in the file: one may be held before.
  void learn_streams(const json& steps) {
    for (const json& step : steps)
      for (const auto& [word, fields] : step.items())
        if (word == begin_capture_step::word || word == end_capture_step::word)
          continue;
        else if (const std::string* name = text_of(fields, "stream"); name != nullptr && !name->empty())
          known_.streams.insert(*name);
  }

  void read_step(const json& step, const std::string& path) {
    if (!step.is_object())
      return state_.refuse(path, step, "an object");
    numbered_step read;
    std::string_view found;
    for (const auto& [word, fields] : step.items()) {
      if (word == "note") {
        scenarios::read(state_, fields, path_of(path, "note"), read.note);
        continue;
      }
      if (!found.empty())
        state_.wrong = state_.wrong.value_or(fmt::format("{} is a second step beside {}, but must be a step of its own",
                                                         path_of(path, word), path_of(path, found)));
      found = word;
      learn_names(known_, word, fields);
      if (!read_as<0>(word, fields, path_of(path, word), read.what))
        state_.wrong =
            state_.wrong.value_or(fmt::format("{} is unknown (found {}), but must be one of {}", path_of(path, word),
                                              fields.dump().substr(0, 60), fmt::join(step_words(), ", ")));
    }
    if (found.empty())
      return state_.refuse(path, step, fmt::format("a step: one of {}", fmt::join(step_words(), ", ")));
    made_.steps.push_back(std::move(read));
  }

  /// False: no step of that word.
  template <std::size_t Index>
  bool read_as(std::string_view word, const json& fields, const std::string& path, any_step& out) {
    if constexpr (Index == std::variant_size_v<any_step>) {
      return false;
    } else {
      using step = std::variant_alternative_t<Index, any_step>;
      if (word != step::word)
        return read_as<Index + 1>(word, fields, path, out);
      scenarios::read(state_, fields, path, out.emplace<step>());
      return true;
    }
  }

  const json& text_;
  known_names known_;
  read_state state_{known_, std::nullopt};
  scenario made_;
};

/// Each step as the file has it, fields in its order, on one line.
void note_texts(std::string_view text, scenario& made) {
  auto steps = nlohmann::ordered_json::parse(text).at("steps");
  for (std::size_t i = 0; i < steps.size(); ++i) {
    steps[i].erase("note");
    made.steps[i].text = steps[i].dump();
  }
}

} // namespace

kvferry::expected<scenario> parse_scenario(std::string_view json, std::string_view source) {
  return parse_json(json)
      .and_then([](const nlohmann::json& text) { return scenario_reader(text).read_all(); })
      .map([&](scenario made) {
        note_texts(json, made);
        return made;
      })
      .map_error([&](kvferry::error problem) {
        problem.message = fmt::format("{}: {}", source, problem.message);
        return problem;
      });
}

kvferry::expected<scenario> load_scenario(const std::filesystem::path& file) {
  std::error_code unknown;
  std::ifstream in{file, std::ios::binary};
  if (!in || std::filesystem::is_directory(file, unknown))
    return kvferry::fail(kvferry::error_code::io_error, fmt::format("{}: cannot be read", file.string()));
  return parse_scenario(std::string{std::istreambuf_iterator<char>(in), {}}, file.string());
}

} // namespace scenarios
