#include "benchmarks/cuda/results.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace bench {
namespace {

const char* const ways[] = {"copy a page", "batch call", "kernel", "staged", "kvferry"};

std::string size_of(std::uint64_t bytes) {
  return bytes >= 1 << 20 ? fmt::format("{} MiB", bytes >> 20) : fmt::format("{} KiB", bytes >> 10);
}

} // namespace

std::string heading() {
  return "Shares of the contiguous copy's speed; times in us, from submission to completion.\n" +
         fmt::format("{:>8} {:>7} {:>8} {:>9} {:>6} | {:>8} {:>9} | {:>6} {:>6} {:>6} {:>6} {:>7} | {:>9} {:>8} {:>7} "
                     "{:>6} {:>6}\n",
                     "page", "pages", "way", "host", "beside", "cont. us", "GB/s", "a page", "batch", "kernel",
                     "staged", "kvferry", "+us", "submit", "us/page", "SM %", "load x");
}

std::string line_of(const cell& c) {
  const double contiguous_us = c.ways.at("contiguous").total_us;
  std::string text = fmt::format("{:>8} {:>7} {:>8} {:>9} {:>6} | {:>8.1f} {:>9.2f} |", size_of(c.page_bytes), c.pages,
                                 c.direction, c.layout, c.beside, contiguous_us, c.bytes() / contiguous_us / 1e3);
  for (const char* way : ways) {
    auto found = c.ways.find(way);
    const std::string share =
        found == c.ways.end() ? "-" : fmt::format("{:.3f}", contiguous_us / found->second.total_us);
    text += fmt::format(" {:>{}}", share, way == ways[4] ? 7 : 6);
  }
  const timing& ours = c.ways.at("kvferry");
  text += fmt::format(" | {:>9.1f} {:>8.1f} {:>7.3f} {:>6.2f} {:>6}\n", ours.total_us - contiguous_us, ours.submit_us,
                      ours.submit_us / c.pages, c.sm_share * 100,
                      c.matrix_slowdown == 0.0 ? "-" : fmt::format("{:.3f}", c.matrix_slowdown));
  return text;
}

std::string json_of(const run_facts& facts, const std::vector<cell>& cells) {
  nlohmann::ordered_json json{
      {"gpu", facts.gpu}, {"sms", facts.sms}, {"command", facts.command}, {"commit", facts.commit}, {"cells", {}}};
  for (const cell& c : cells) {
    nlohmann::ordered_json row{{"page_bytes", c.page_bytes}, {"pages", c.pages},   {"direction", c.direction},
                               {"host_layout", c.layout},    {"beside", c.beside}, {"sm_share", c.sm_share}};
    if (c.matrix_slowdown != 0.0)
      row["matrix_slowdown"] = c.matrix_slowdown;
    for (const auto& [way, measured] : c.ways)
      row["ways"][way] = {{"total_us", measured.total_us},
                          {"submit_us", measured.submit_us},
                          {"gb_per_s", c.bytes() / measured.total_us / 1e3}};
    json["cells"].push_back(row);
  }
  return json.dump(1) + "\n";
}

} // namespace bench
