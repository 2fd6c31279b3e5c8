#include "runtime/strict_json.hpp"

#include <set>
#include <vector>

#include <fmt/format.h>

namespace kvferry {

namespace {

/// Follows the parser through the text to find a field that its object has already; the library keeps the last one.
class duplicate_finder {
public:
  void see(nlohmann::json::parse_event_t event, const nlohmann::json& parsed) {
    using event_t = nlohmann::json::parse_event_t;
    switch (event) {
    case event_t::object_start: open_.push_back({false, 0, {}, {}}); break;
    case event_t::array_start: open_.push_back({true, 0, {}, {}}); break;
    case event_t::key: enter_field(parsed.get_ref<const std::string&>()); break;
    case event_t::object_end:
    case event_t::array_end: open_.pop_back(); [[fallthrough]];
    case event_t::value: leave_element(); break;
    }
  }

  /// The path of the first one; empty: none.
  const std::string& found() const { return found_; }

private:
  struct container {
    bool is_array = false;
    std::size_t index = 0;
    std::string field;
    std::set<std::string> fields;
  };

  void enter_field(const std::string& name) {
    open_.back().field = name;
    if (!open_.back().fields.insert(name).second && found_.empty())
      found_ = path();
  }

  void leave_element() {
    if (!open_.empty())
      ++open_.back().index;
  }

  std::string path() const {
    std::string joined;
    for (const container& c : open_)
      joined = c.is_array ? fmt::format("{}[{}]", joined, c.index) : field_path(joined, c.field);
    return joined;
  }

  std::vector<container> open_;
  std::string found_;
};

/// The library's words without its own error number: "parse error at line 3, column 5: …".
std::string syntax_error(const nlohmann::json::exception& problem) {
  const std::string_view words = problem.what();
  const auto number_end = words.find("] ");
  return std::string{number_end == std::string_view::npos ? words : words.substr(number_end + 2)};
}

} // namespace

expected<nlohmann::json> parse_strict_json(std::string_view text) {
  duplicate_finder duplicates;
  try {
    auto value = nlohmann::json::parse(text, [&](int, nlohmann::json::parse_event_t event, nlohmann::json& parsed) {
      duplicates.see(event, parsed);
      return true;
    });
    if (!duplicates.found().empty())
      return fail(error_code::invalid_configuration,
                  fmt::format("{} is given twice, but must be given once", duplicates.found()));
    return value;
  } catch (const nlohmann::json::exception& problem) {
    return fail(error_code::invalid_configuration, syntax_error(problem));
  }
}

std::string field_path(std::string_view path, std::string_view field) {
  return path.empty() ? std::string{field} : fmt::format("{}.{}", path, field);
}

} // namespace kvferry
