// A scenario: what an engine, the device and fate do, and what must hold, as plain data. Read from JSON (parse.hpp),
// run by `runner`, as often as one likes. For kvferry-serve --scenario, the tests, and searches for bad interleavings.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "examples/scenario/batch_steps.hpp"
#include "examples/scenario/check_steps.hpp"
#include "examples/scenario/device_steps.hpp"
#include "examples/scenario/request_steps.hpp"
#include "kvferry/configuration.hpp"

namespace scenarios {

using any_step =
    std::variant<open_step, reserve_step, run_step, write_step, progress_step, commit_step, enter_decode_step,
                 suspend_step, resume_step, shrink_step, drop_step, close_step, create_batch_step, close_batch_step,
                 add_step, remove_step, publish_step, begin_read_step, end_read_step, step_step, poll_step,
                 shut_down_step, run_device_step, settle_step, hold_step, release_step, begin_capture_step,
                 end_capture_step, fail_copies_step, fail_allocations_step, kill_step, pages_step, published_step,
                 remember_step, same_page_step, blockers_step, dense_ready_step, mark_step, counted_step>;

/// The words of all steps.
std::vector<std::string_view> step_words();

struct numbered_step {
  any_step what;
  std::string text; ///< as in the file, on one line
  std::string note; ///< the file's own words about it
};

struct scenario {
  std::string why;                  ///< the rule that it is about
  std::vector<std::string> reports; ///< field reports that it is about, by number (docs/field_reports.md)
  kvferry::configuration config;
  std::vector<numbered_step> steps;
};

/// Something that did not hold.
struct finding {
  std::size_t step = 0; ///< from 1, in the file's order; one more than there are: found at the end
  std::string step_text;
  std::string what;
};

/// "step 3, {"open": …}: what"
std::string to_string(const finding& found);

} // namespace scenarios
