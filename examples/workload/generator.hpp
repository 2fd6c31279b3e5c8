// Makes a workload that looks like the Mooncake conversation trace: most requests are new, many go on with an earlier
// conversation, some branch off inside an earlier prompt, and all begin with the same system prompt.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "examples/workload/random_numbers.hpp"

namespace workload {

/// The defaults are fitted to the trace (mooncake_conversation.jsonl), lengths apart from `length_scale`.
struct shape {
  std::uint32_t requests = 400;
  double requests_per_second = 3.4;
  double bunch_seconds = 3.0; ///< arrivals come together, every so often
  double length_scale = 1.0;  ///< of prompts behind the system prompt, and of outputs

  std::uint32_t system_prompt_tokens = 4096; ///< a multiple of 512
  double continues = 0.33;                   ///< chance that a request goes on with an earlier conversation
  double diverges = 0.06;                    ///< chance that it branches off inside an earlier prompt

  // Medians in tokens, deviations of the logarithm.
  double prompt_median = 4600, prompt_deviation = 1.26;
  double turn_median = 120, turn_deviation = 1.8;
  double output_median = 260, output_deviation = 1.0;
  std::uint32_t prompt_max = 120'000, output_max = 2000;

  double think_seconds = 60.0; ///< mean, from the end of an answer to the user's next turn
};

struct generated_request {
  std::uint64_t timestamp_ms = 0;
  std::uint32_t input_length = 0;
  std::uint32_t output_length = 0;
  std::vector<std::uint64_t> hash_ids; ///< one per 512 tokens
};

class generator {
public:
  generator(const shape& like, std::uint64_t seed) : shape_(like), random_(seed) {}

  /// The whole workload, by arrival.
  std::vector<generated_request> run();

private:
  /// A conversation that may go on: its last request, and when the user has read the answer.
  struct open_turn {
    std::size_t request;
    double ready_s;
  };

  generated_request next_request(double now_s);
  generated_request new_prompt();
  generated_request next_turn(const generated_request& before);
  generated_request branch_off(const generated_request& before);
  generated_request extended(std::vector<std::uint64_t> shared, std::uint32_t input_length);
  std::uint32_t length(double median, double deviation, double most);

  shape shape_;
  random_numbers random_;
  std::uint64_t next_id_ = 0;
  std::vector<std::uint64_t> system_prompt_;
  std::vector<generated_request> made_;
  std::vector<open_turn> turns_;
};

/// One line of the Mooncake format, with its newline.
std::string line_of(const generated_request& request);

} // namespace workload
