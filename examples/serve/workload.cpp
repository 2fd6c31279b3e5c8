#include "examples/serve/workload.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "examples/serve/workload_rows.hpp"

namespace serve {
namespace {

namespace fs = std::filesystem;
using kvferry::error_code;

constexpr std::string_view azure_header = "TIMESTAMP,ContextTokens,GeneratedTokens";

/// Reads lines without ever holding more than `line_bytes_max` of one.
class line_reader {
public:
  enum class found { line, too_long, end };

  explicit line_reader(std::istream& in) : in_(in), buffer_(line_bytes_max + 1, '\0') {}

  found next(std::string_view& line) {
    if (!in_.good() || in_.peek() == std::istream::traits_type::eof())
      return found::end;
    ++number_;
    in_.getline(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    if (in_.fail()) {
      in_.clear();
      in_.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
      return found::too_long;
    }
    std::size_t size = static_cast<std::size_t>(in_.gcount()) - (in_.eof() ? 0 : 1);
    line = std::string_view{buffer_.data(), size};
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    return found::line;
  }

  std::uint64_t number() const { return number_; }

private:
  std::istream& in_;
  std::string buffer_;
  std::uint64_t number_ = 0;
};

/// Turns lines into rows; the first good line settles the format.
class row_reader {
public:
  /// Nothing: the line is the CSV header and no row.
  tl::expected<std::optional<workload_request>, std::string> row_of(std::string_view line) {
    if (!format_) {
      format_ = format_of(line);
      if (!format_)
        return tl::unexpected(
            fmt::format("the first line should be a JSON object (Mooncake) or {} (Azure)", azure_header));
      if (format_ == trace_format::azure)
        return std::nullopt;
    }
    row_result row = format_ == trace_format::mooncake ? parse_mooncake_row(line) : parse_azure_row(line);
    if (!row)
      return tl::unexpected(row.error());
    if (format_ == trace_format::azure) { // a wall clock: count from the first row
      if (!first_us_)
        first_us_ = row->arrival_us;
      row->arrival_us -= *first_us_;
    }
    return std::move(*row);
  }

private:
  std::optional<trace_format> format_;
  std::optional<std::int64_t> first_us_;
};

void settle_arrivals(workload& loaded, double time_scale) {
  std::stable_sort(loaded.requests.begin(), loaded.requests.end(),
                   [](const auto& a, const auto& b) { return a.arrival_us < b.arrival_us; });
  // A clock that was set back may have put a row before the first one.
  std::int64_t before = std::min<std::int64_t>(loaded.requests.front().arrival_us, 0);
  for (workload_request& request : loaded.requests)
    request.arrival_us = std::llround(static_cast<double>(request.arrival_us - before) / time_scale);
}

} // namespace

std::optional<trace_format> format_of(std::string_view first_line) {
  if (first_line.starts_with('{'))
    return trace_format::mooncake;
  if (first_line == azure_header)
    return trace_format::azure;
  return std::nullopt;
}

kvferry::expected<fs::path> find_workload(std::string_view name) {
  std::vector<fs::path> tried{fs::path{name}};
  if (const char* traces = std::getenv("KVFERRY_TRACES"))
    tried.push_back(fs::path{traces} / name);
#ifdef KVFERRY_SOURCE_DIR
  tried.push_back(fs::path{KVFERRY_SOURCE_DIR}.parent_path() / "shared" / "traces" / name);
#endif
  std::string places;
  for (const fs::path& place : tried) {
    std::error_code ignored;
    if (fs::exists(place, ignored))
      return place;
    places += fmt::format("{}{}", places.empty() ? "" : ", ", place.string());
  }
  return kvferry::fail(error_code::io_error, fmt::format("no workload {}; looked at {}", name, places));
}

kvferry::expected<workload> read_workload(const fs::path& file, const workload_options& options) {
  std::error_code ignored;
  std::ifstream in(file, std::ios::binary);
  if (!in || fs::is_directory(file, ignored))
    return kvferry::fail(error_code::io_error, fmt::format("{}: cannot be read", file.string()));
  workload loaded;
  line_reader lines(in);
  row_reader rows;
  std::string_view line;
  while (loaded.requests.size() < options.requests_max) {
    auto found = lines.next(line);
    if (found == line_reader::found::end)
      break;
    auto row = found == line_reader::found::line
                   ? rows.row_of(line)
                   : tl::unexpected(fmt::format("the line should have no more than {} bytes", line_bytes_max));
    if (row && *row)
      loaded.requests.push_back(std::move(**row));
    else if (!row && !options.skip_bad)
      return kvferry::fail(error_code::invalid_argument,
                           fmt::format("{}:{}: {}", file.string(), lines.number(), row.error()));
    else if (!row)
      ++loaded.bad_rows;
  }
  if (in.bad())
    return kvferry::fail(error_code::io_error, fmt::format("{}: cannot be read", file.string()));
  if (loaded.requests.empty())
    return kvferry::fail(
        error_code::invalid_argument,
        fmt::format("{}: no rows ({} bad ones); should have at least one", file.string(), loaded.bad_rows));
  settle_arrivals(loaded, options.time_scale);
  return loaded;
}

} // namespace serve
