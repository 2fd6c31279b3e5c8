// A property's input: a small runtime and a list of things that an engine, its device or bad luck do to it. Plain
// numbers, so that rapidcheck generates and shrinks it; text, so that a person can keep one that failed.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <rapidcheck.h>

#include "kvferry/configuration.hpp"
#include "kvferry/host_device.hpp"

namespace kvferry::test {

/// What is done; `a`, `b` and `c` say to whom and how much, modulo what there is, so that each list means something.
#define KVFERRY_COMMANDS(X)                                                                                            \
  X(open, 14)        /* a: tokens shared with the others, b: length, c: variant and namespace */                       \
  X(join, 6)         /* a: request, b: batch */                                                                        \
  X(reserve, 8)      /* a: request, b: how much is asked for, c: tokens */                                             \
  X(launch, 14)      /* a: batch, b: stream, c: tokens per request; publishes, then kernels write and read */          \
  X(report, 6)       /* a: request, b: all or less, c: with commit */                                                  \
  X(step, 50)        /* a: batch, b: which parts, c: tokens per request; all of a step in one call, then kernels */    \
  X(enter_decode, 6) /* a: request */                                                                                  \
  X(suspend, 6)      /* a: request */                                                                                  \
  X(resume, 10)      /* a: request */                                                                                  \
  X(close, 6)        /* a: request */                                                                                  \
  X(commit, 2)       /* a: request */                                                                                  \
  X(leave, 2)        /* a: request */                                                                                  \
  X(publish, 5)      /* a: batch, b: stream */                                                                         \
  X(begin_read, 3)   /* a: batch; a kernel on a stream of its own reads until end_read */                              \
  X(end_read, 3)     /* a: batch */                                                                                    \
  X(poll, 14)        /* */                                                                                             \
  X(run_some, 12)    /* a: operations of the device */                                                                 \
  X(run_all, 8)      /* */                                                                                             \
  X(hold, 2)         /* a: stream, the runtime's own among them */                                                     \
  X(let_go, 4)       /* a: stream */                                                                                   \
  X(fail_copies, 2)  /* a: which of the next copies, b: how many */                                                    \
  X(settle, 4)       /* the device runs dry, all is published: nothing is pending */                                   \
  X(misuse, 3)       /* a: which call, b: request */

enum class command_kind : std::uint8_t {
#define X(name, weight) name,
  KVFERRY_COMMANDS(X)
#undef X
};

struct command {
  command_kind kind = command_kind::poll;
  std::uint8_t a = 0;
  std::uint8_t b = 0;
  std::uint8_t c = 0;

  friend bool operator==(const command&, const command&) = default;
};

/// What the runtime and its device are like. 0 is the plainest value of each.
struct setup {
  std::uint8_t groups = 0;     ///< bit set: sparse b, window, full; the first sparse one is always there
  std::uint8_t gpu_slots = 0;  ///< more than the fewest
  std::uint8_t host_slots = 0; ///< more than the fewest
  std::uint8_t large = 0;      ///< 1: pools in which nothing is ever short
  std::uint8_t defer = 0;      ///< 0: never, 1: at once, 2: after three publications
  std::uint8_t host_full = 0;  ///< 1: defer
  std::uint8_t host_hit = 0;   ///< 1: recompute
  std::uint8_t retries = 0;    ///< of a failed copy
  std::uint8_t drive = 0;      ///< 0: eager, 1: by hand, 2: random
  std::uint8_t order = 0;      ///< 1: random delivery
  std::uint8_t seed = 0;       ///< of both
  std::uint8_t max_blocks = 0; ///< 1: rows too short for long requests

  static constexpr std::uint32_t tokens_per_block = 4;
  kvferry::configuration configuration() const;
  host_device_options device() const;
  batch_config batch() const;
};

/// A setup's numbers, in the order of the text, and how many values each has.
struct setup_number {
  std::uint8_t setup::*field;
  std::uint8_t values;
};

inline constexpr std::array<setup_number, 12> setup_numbers{{{&setup::groups, 8},
                                                             {&setup::gpu_slots, 8},
                                                             {&setup::host_slots, 12},
                                                             {&setup::large, 2},
                                                             {&setup::defer, 3},
                                                             {&setup::host_full, 2},
                                                             {&setup::host_hit, 2},
                                                             {&setup::retries, 3},
                                                             {&setup::drive, 3},
                                                             {&setup::order, 2},
                                                             {&setup::seed, 255},
                                                             {&setup::max_blocks, 2}}};

struct test_case {
  kvferry::test::setup setup;
  std::vector<command> commands;
};

/// Draws test cases; their length follows rapidcheck's size.
rc::Gen<test_case> test_cases();

/// One line: "setup" with its numbers, then each command with its own. `parse_case` reads it; a word that it does not
/// know is a broken contract.
std::string to_text(const test_case& which);
test_case parse_case(std::string_view text);

std::string_view name_of(command_kind kind);
std::string words_of(const setup& which);

} // namespace kvferry::test
