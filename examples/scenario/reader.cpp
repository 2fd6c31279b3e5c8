#include "examples/scenario/reader.hpp"

namespace scenarios {
namespace {

/// A value as an error shows it: short, whatever was found.
std::string shown(const nlohmann::json& value) {
  constexpr std::size_t characters_max = 60;
  if (value.is_object())
    return "an object";
  if (value.is_array() && value.size() > 2)
    return fmt::format("a list of {}", value.size());
  std::string text = value.dump(-1, ' ', true);
  return text.size() > characters_max ? text.substr(0, characters_max) + "..." : text;
}

/// The JSON library has an integer as signed only when it has a minus, and as a float when it does not fit.
template <class Number>
bool take_number(const nlohmann::json& value, Number& out) {
  if (!value.is_number_unsigned() && !(value.is_number_integer() && value.get<std::int64_t>() >= 0))
    return false;
  const auto number = value.get<std::uint64_t>();
  if (number > static_cast<std::uint64_t>(std::numeric_limits<Number>::max()))
    return false;
  out = static_cast<Number>(number);
  return true;
}

template <class Number>
void read_number(read_state& state, const nlohmann::json& value, const std::string& path, Number& out) {
  if (!take_number(value, out))
    state.refuse(path, value, right_for(&out));
}

/// A name that something before it in the file has brought about.
template <class Name>
void read_name(read_state& state, const nlohmann::json& value, const std::string& path, Name& out,
               const std::set<std::string>& known, std::string_view made_by) {
  if (!value.is_string() || !known.contains(value.get_ref<const std::string&>()))
    return state.refuse(path, value,
                        fmt::format("{} {}: {}", right_for(&out), made_by,
                                    known.empty() ? "there is none yet" : fmt::format("{}", fmt::join(known, ", "))));
  out.text = value.get<std::string>();
}

} // namespace

void read_state::refuse(const std::string& path, const nlohmann::json& found, const std::string& right) {
  if (!wrong)
    wrong = fmt::format("{} is {}, but must be {}", path, shown(found), right);
}

void read_state::refuse_missing(const std::string& path, const std::string& right) {
  if (!wrong)
    wrong = fmt::format("{} is missing, but must be {}", path, right);
}

std::string path_of(const std::string& object, std::string_view field) {
  return object.empty() ? std::string{field} : fmt::format("{}.{}", object, field);
}

bool is_object_of(read_state& state, const nlohmann::json& value, const std::string& path,
                  const std::vector<std::string_view>& names) {
  if (!value.is_object()) {
    state.refuse(path.empty() ? "the text" : path, value, "an object");
    return false;
  }
  for (const auto& [name, field] : value.items())
    if (std::find(names.begin(), names.end(), name) == names.end() && !state.wrong)
      state.wrong = fmt::format("{} is unknown (found {}), but must be {}", path_of(path, name), shown(field),
                                names.empty() ? "left out: there are no fields"
                                              : fmt::format("one of {}", fmt::join(names, ", ")));
  return !state.wrong;
}

void read(read_state& state, const nlohmann::json& value, const std::string& path, std::string& out) {
  if (!value.is_string())
    return state.refuse(path, value, right_for(&out));
  out = value.get<std::string>();
}

void read(read_state& state, const nlohmann::json& value, const std::string& path, bool& out) {
  if (!value.is_boolean())
    return state.refuse(path, value, right_for(&out));
  out = value.get<bool>();
}

void read(read_state& state, const nlohmann::json& value, const std::string& path, std::uint32_t& out) {
  read_number(state, value, path, out);
}

void read(read_state& state, const nlohmann::json& value, const std::string& path, std::uint64_t& out) {
  read_number(state, value, path, out);
}

void read(read_state& state, const nlohmann::json& value, const std::string& path, request_name& out) {
  read_name(state, value, path, out, state.known.requests, "that an earlier step opened");
}

void read(read_state& state, const nlohmann::json& value, const std::string& path, batch_name& out) {
  read_name(state, value, path, out, state.known.batches, "that an earlier step created");
}

void read(read_state& state, const nlohmann::json& value, const std::string& path, stream_name& out) {
  read_name(state, value, path, out, state.known.streams, "that some step runs something on");
}

void read(read_state& state, const nlohmann::json& value, const std::string& path, place_name& out) {
  read_name(state, value, path, out, state.known.places, "that an earlier step remembered");
}

void read(read_state& state, const nlohmann::json& value, const std::string& path, group_ref& out) {
  const auto& groups = state.known.groups;
  const auto found =
      value.is_string() ? std::find(groups.begin(), groups.end(), value.get_ref<const std::string&>()) : groups.end();
  if (found == groups.end())
    return state.refuse(path, value, fmt::format("{}: {}", right_for(&out), fmt::join(groups, ", ")));
  out.index = static_cast<std::uint8_t>(found - groups.begin());
}

void read(read_state& state, const nlohmann::json& value, const std::string& path, owned_block& out) {
  if (!value.is_array() || value.size() != 2)
    return state.refuse(path, value, right_for(&out));
  read(state, value[0], path + "[0]", out.request);
  read(state, value[1], path + "[1]", out.ordinal);
}

void read(read_state& state, const nlohmann::json& value, const std::string& path, block_or_place& out) {
  if (value.is_string())
    return read(state, value, path, out.emplace<place_name>());
  if (!value.is_array())
    return state.refuse(path, value, right_for(&out));
  read(state, value, path, out.emplace<owned_block>());
}

void read(read_state& state, const nlohmann::json& value, const std::string& path, token_run& out) {
  constexpr std::uint32_t tokens_max = 1'000'000;
  const bool right = value.is_array() && value.size() == 2 && take_number(value[0], out.first) &&
                     take_number(value[1], out.count) && out.count <= tokens_max &&
                     out.first <= std::numeric_limits<kvferry::token>::max() - static_cast<kvferry::token>(out.count);
  if (!right)
    state.refuse(path, value,
                 fmt::format("{}: a token from 0, and no more than {} of them", right_for(&out), tokens_max));
}

void read(read_state& state, const nlohmann::json& value, const std::string& path, place& out) {
  for (auto [text, meant] :
       {std::pair{"gpu", place::gpu}, {"host", place::host}, {"loading", place::loading}, {"none", place::none}})
    if (value == text) {
      out = meant;
      return;
    }
  state.refuse(path, value, right_for(&out));
}

void read(read_state& state, const nlohmann::json& value, const std::string& path, kvferry::error_code& out) {
  std::vector<std::string_view> names;
  for (int code = 0; code <= static_cast<int>(kvferry::error_code::device_lost); ++code) {
    out = static_cast<kvferry::error_code>(code);
    names.push_back(to_string(out));
    if (value == names.back())
      return;
  }
  state.refuse(path, value, fmt::format("{}: {}", right_for(&out), fmt::join(names, ", ")));
}

} // namespace scenarios
