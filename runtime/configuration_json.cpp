#include "runtime/configuration_json.hpp"

#include <fstream>

#include <nlohmann/json.hpp>

#include "runtime/configuration_fields.hpp"
#include "runtime/field_reader.hpp"
#include "runtime/spelling.hpp"
#include "runtime/strict_json.hpp"

namespace kvferry {

namespace {

constexpr std::size_t file_bytes_max = 16 << 20;

/// Writes structs as JSON, in the order of their fields.
class field_writer {
public:
  void required(const char* name, const auto& value) { object[name] = written(value); }
  void optional(const char* name, const auto& value) { object[name] = written(value); }
  void local(const char*, const auto&) {}

  nlohmann::ordered_json object = nlohmann::ordered_json::object();

private:
  static nlohmann::ordered_json written(std::unsigned_integral auto number) { return number; }
  static nlohmann::ordered_json written(const std::string& text) { return text; }
  static nlohmann::ordered_json written(const std::optional<std::uint32_t>& number) {
    return number ? nlohmann::ordered_json(*number) : nlohmann::ordered_json(never);
  }
  static nlohmann::ordered_json written(spelled auto word) { return spell(word); }
  template <class Struct>
  static nlohmann::ordered_json written(const std::vector<Struct>& list) {
    auto array = nlohmann::ordered_json::array();
    for (const Struct& item : list) {
      field_writer writer;
      visit_fields(writer, item);
      array.push_back(std::move(writer.object));
    }
    return array;
  }
};

expected<configuration> read_configuration(std::string_view text) {
  const auto value = parse_strict_json(text);
  if (!value)
    return tl::unexpected{value.error()};
  configuration config;
  std::optional<error> first_error;
  field_reader::read_object(*value, "", config, first_error);
  if (first_error)
    return tl::unexpected{*first_error};
  if (auto valid = validate(config); !valid)
    return tl::unexpected{valid.error()};
  return config;
}

} // namespace

expected<configuration> parse_configuration(std::string_view json, std::string_view source) {
  return read_configuration(json).map_error([&](error problem) {
    problem.message = fmt::format("{}: {}", source, problem.message);
    return problem;
  });
}

expected<configuration> load_configuration(const std::filesystem::path& file) {
  const auto unreadable = [&](std::string_view why) {
    return fail(error_code::io_error, fmt::format("{}: {}", file.string(), why));
  };
  std::error_code unknown;
  if (std::filesystem::is_directory(file, unknown))
    return unreadable("is a folder, but must be a JSON file");
  std::ifstream in{file, std::ios::binary};
  if (!in)
    return unreadable("cannot be opened");
  // Never more than the limit, whatever the file is (a device has no size).
  std::string text(file_bytes_max + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad())
    return unreadable("cannot be read");
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > file_bytes_max)
    return unreadable(fmt::format("is larger than {} bytes, the most that a configuration takes", file_bytes_max));
  return parse_configuration(text, file.string());
}

std::string to_json_text(const configuration& config) {
  field_writer writer;
  visit_fields(writer, config);
  // A name may hold bytes that are no UTF-8 when an engine filled it in.
  return writer.object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

} // namespace kvferry
