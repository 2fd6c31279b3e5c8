#include "examples/workload/generator.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace workload {
namespace {

constexpr std::uint32_t block_tokens = 512;
constexpr double seconds_per_token = 0.03; // of an answer

std::size_t blocks_of(std::uint32_t tokens) { return (tokens + block_tokens - 1) / block_tokens; }

} // namespace

std::vector<generated_request> generator::run() {
  for (std::uint32_t block = 0; block < shape_.system_prompt_tokens / block_tokens; ++block)
    system_prompt_.push_back(next_id_++);
  double arrival_s = 0.0;
  while (made_.size() < shape_.requests) {
    double bunch_s = std::floor(arrival_s / shape_.bunch_seconds) * shape_.bunch_seconds;
    generated_request made = next_request(bunch_s);
    made.timestamp_ms = static_cast<std::uint64_t>(std::llround(bunch_s * 1000.0));
    double read_s = made.output_length * seconds_per_token + random_.exponential(shape_.think_seconds);
    turns_.push_back({made_.size(), bunch_s + read_s});
    made_.push_back(std::move(made));
    arrival_s += random_.exponential(1.0 / shape_.requests_per_second);
  }
  return std::move(made_);
}

generated_request generator::next_request(double now_s) {
  double kind = random_.uniform();
  if (kind < shape_.continues) {
    auto ready =
        std::partition(turns_.begin(), turns_.end(), [&](const open_turn& turn) { return turn.ready_s > now_s; });
    if (ready != turns_.end()) {
      auto chosen = ready + static_cast<std::ptrdiff_t>(random_.below(static_cast<std::size_t>(turns_.end() - ready)));
      std::size_t before = chosen->request;
      turns_.erase(chosen);
      return next_turn(made_[before]);
    }
  } else if (kind < shape_.continues + shape_.diverges && !made_.empty()) {
    return branch_off(made_[random_.below(made_.size())]);
  }
  return new_prompt();
}

generated_request generator::new_prompt() {
  return extended(system_prompt_, shape_.system_prompt_tokens +
                                      length(shape_.prompt_median, shape_.prompt_deviation, shape_.prompt_max));
}

/// The earlier prompt, its answer, and what the user says then. The block in which the earlier prompt ended has another
/// content now.
generated_request generator::next_turn(const generated_request& before) {
  std::uint32_t said = length(shape_.turn_median, shape_.turn_deviation, shape_.prompt_max);
  std::uint32_t input_length = before.input_length + before.output_length + said;
  if (input_length > shape_.prompt_max)
    return new_prompt(); // the conversation has become too long
  auto full = static_cast<std::ptrdiff_t>(before.input_length / block_tokens);
  return extended({before.hash_ids.begin(), before.hash_ids.begin() + full}, input_length);
}

/// The front of an earlier prompt and another end: an answer made again, a document asked about twice.
generated_request generator::branch_off(const generated_request& before) {
  std::size_t own = before.hash_ids.size() - system_prompt_.size();
  if (own < 2)
    return new_prompt();
  auto shared = static_cast<std::ptrdiff_t>(system_prompt_.size() + 1 + random_.below(own - 1));
  auto input_length = static_cast<std::uint32_t>(shared) * block_tokens +
                      length(shape_.prompt_median, shape_.prompt_deviation / 2, shape_.prompt_max / 2.0);
  return extended({before.hash_ids.begin(), before.hash_ids.begin() + shared}, input_length);
}

/// A request over `input_length` tokens whose first blocks are `shared`, and the rest new.
generated_request generator::extended(std::vector<std::uint64_t> shared, std::uint32_t input_length) {
  generated_request made;
  made.input_length = input_length;
  made.output_length = length(shape_.output_median, shape_.output_deviation, shape_.output_max);
  made.hash_ids = std::move(shared);
  while (made.hash_ids.size() < blocks_of(input_length))
    made.hash_ids.push_back(next_id_++);
  return made;
}

std::uint32_t generator::length(double median, double deviation, double most) {
  double tokens = random_.lognormal(median * shape_.length_scale, deviation);
  return static_cast<std::uint32_t>(std::clamp(tokens, 1.0, most));
}

std::string line_of(const generated_request& request) {
  return fmt::format("{{\"timestamp\": {}, \"input_length\": {}, \"output_length\": {}, \"hash_ids\": [{}]}}\n",
                     request.timestamp_ms, request.input_length, request.output_length,
                     fmt::join(request.hash_ids, ", "));
}

} // namespace workload
