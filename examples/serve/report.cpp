#include "examples/serve/report.hpp"

#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>

namespace serve {
namespace {

/// 1234567 as "1,234,567".
std::string grouped(std::uint64_t number) {
  std::string digits = fmt::format("{}", number);
  for (std::size_t at = digits.size(); at > 3; at -= 3)
    digits.insert(at - 3, ",");
  return digits;
}

class table {
public:
  void heading(std::string_view name) { text_ += fmt::format("\n{}\n", name); }

  void row(std::string_view name, const std::string& value, std::string_view unit = "") {
    text_ += fmt::format("  {:<28}{:>16} {}\n", name, value, unit);
  }

  void row(std::string_view name, std::uint64_t value, std::string_view unit = "") { row(name, grouped(value), unit); }

  std::string text() && { return std::move(text_); }

private:
  std::string text_;
};

void add_what_went_wrong(std::string& text, const run_report& report) {
  constexpr std::size_t reasons_max = 5;
  std::size_t shown = 0;
  for (const auto& [reason, times] : report.abort_reasons)
    if (++shown <= reasons_max)
      text += fmt::format("aborted {}: {}\n", times, reason);
  for (const std::string& mismatch : report.first_mismatches)
    text += fmt::format("mismatch: {}\n", mismatch);
  for (const kvferry::unordered_access& access : report.first_unordered)
    text += fmt::format("unordered access: {}\n", access.description);
  if (!report.left.description.empty())
    text += fmt::format("left over: {}\n", report.left.description);
  if (report.stopped_by)
    text += fmt::format("stopped: {}\n", report.stopped_by->message);
}

/// Percent of the pages sent to the host that went in runs of 2^`magnitude` neighbours or more.
std::uint64_t share_in_runs(const kvferry::statistics& pages, std::size_t magnitude) {
  const auto begin = pages.pages_by_host_run.begin(), end = pages.pages_by_host_run.end();
  const std::uint64_t all = std::accumulate(begin, end, std::uint64_t{0});
  const auto from = begin + static_cast<std::ptrdiff_t>(magnitude);
  return all == 0 ? 0 : 100 * std::accumulate(from, end, std::uint64_t{0}) / all;
}

} // namespace

double run_report::messages_per_step() const {
  return steps == 0 ? 0.0 : static_cast<double>(pages.messages) / static_cast<double>(steps);
}

bool run_report::good() const {
  bool nothing_left = left.slots == 0 && left.owners == 0 && left.copies == 0 && left.requests == 0;
  bool all_ended = requests_completed + requests_aborted == requests;
  return mismatches == 0 && unordered_accesses.value_or(0) == 0 && nothing_left && all_ended && !stopped_by;
}

double peak_rss_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0; // KiB on Linux
}

std::string table_of(const run_report& r) {
  table t;
  t.heading("requests");
  t.row("completed", fmt::format("{} of {}", grouped(r.requests_completed), grouped(r.requests)));
  t.row("aborted", r.requests_aborted);
  t.row("suspended", r.requests_suspended, "times");
  t.row("closed and computed again", r.requests_requeued, "times");
  if (r.bad_rows != 0)
    t.row("bad rows skipped", r.bad_rows);
  t.row("steps", r.steps);
  t.row("tokens decoded", r.tokens_decoded);
  t.heading("pages");
  t.row("allocated", r.pages.pages_allocated);
  t.row("offloaded", r.pages.pages_offloaded, fmt::format("{} MiB to the host", r.pages.bytes_to_host >> 20));
  t.row("rebound without a copy", r.pages.pages_rebound_without_copy);
  t.row("deferred", r.pages.pages_deferred);
  t.row("retried", r.pages.pages_retried);
  t.row("loaded", r.pages.pages_loaded, fmt::format("{} MiB to the GPU", r.pages.bytes_to_gpu >> 20));
  t.row("branched", r.pages.pages_branched);
  t.row("evicted", r.pages.pages_evicted);
  t.row("copies failed", r.pages.copies_failed);
  t.row("prefix blocks hit", r.pages.prefix_blocks_hit);
  t.row("in runs of host slots", fmt::format("{} %", share_in_runs(r.pages, 3)),
        "of those sent to the host, of 8 or more");
  t.heading("tables");
  t.row("publications", r.pages.publications);
  t.row("entries published", r.pages.entries_published);
  t.heading("checks");
  t.row("pages verified", r.pages_verified);
  t.row("mismatches", r.mismatches);
  t.row("unordered accesses", r.unordered_accesses ? grouped(*r.unordered_accesses) : "not checked");
  t.row("leaked slots", r.left.slots);
  t.row("leaked owners", r.left.owners);
  t.heading("cost");
  t.row("messages", r.pages.messages, fmt::format("{:.1f} a step", r.messages_per_step()));
  t.row("host time a step", fmt::format("{:.1f}", r.host_us_per_step_p50),
        fmt::format("µs p50, {:.1f} p99", r.host_us_per_step_p99));
  t.row("publication", fmt::format("{:.1f}", r.publish_us_p50), "µs p50");
  t.row("wall time", fmt::format("{:.2f}", r.wall_s), "s");
  t.row("memory at the peak", fmt::format("{:.0f}", r.peak_rss_mib), "MiB");
  std::string text = std::move(t).text();
  add_what_went_wrong(text, r);
  return text;
}

std::string json_of(const run_report& r) {
  nlohmann::ordered_json json{
      {"requests_completed", r.requests_completed},
      {"requests_aborted", r.requests_aborted},
      {"steps", r.steps},
      {"tokens_decoded", r.tokens_decoded},
      {"pages_allocated", r.pages.pages_allocated},
      {"pages_offloaded", r.pages.pages_offloaded},
      {"pages_rebound_without_copy", r.pages.pages_rebound_without_copy},
      {"pages_deferred", r.pages.pages_deferred},
      {"pages_retried", r.pages.pages_retried},
      {"pages_loaded", r.pages.pages_loaded},
      {"pages_branched", r.pages.pages_branched},
      {"pages_evicted", r.pages.pages_evicted},
      {"copies_failed", r.pages.copies_failed},
      {"prefix_blocks_hit", r.pages.prefix_blocks_hit},
      {"bytes_to_host", r.pages.bytes_to_host},
      {"bytes_to_gpu", r.pages.bytes_to_gpu},
      {"publications", r.pages.publications},
      {"entries_published", r.pages.entries_published},
      {"pages_verified", r.pages_verified},
      {"mismatches", r.mismatches},
      {"unordered_accesses", nullptr},
      {"leaked_slots", r.left.slots},
      {"leaked_owners", r.left.owners},
      {"messages", r.pages.messages},
      {"messages_per_step", r.messages_per_step()},
      {"host_us_per_step_p50", r.host_us_per_step_p50},
      {"host_us_per_step_p99", r.host_us_per_step_p99},
      {"publish_us_p50", r.publish_us_p50},
      {"wall_s", r.wall_s},
      {"peak_rss_mib", r.peak_rss_mib},
  };
  for (std::size_t i = 0; i < r.pages.pages_by_host_run.size(); ++i)
    json[fmt::format("pages_in_host_runs_{}", 1u << i)] = r.pages.pages_by_host_run[i];
  if (r.unordered_accesses)
    json["unordered_accesses"] = *r.unordered_accesses;
  return json.dump(2) + "\n";
}

} // namespace serve
