#include "tests/properties/search.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kvferry/contract.hpp"
#include "tests/properties/random_engine.hpp"

namespace kvferry::test {
namespace {

constexpr unsigned case_seconds_max = 60; // a case that takes longer hangs

/// What a child process and its parent share: which case runs.
class shared_number {
public:
  shared_number()
      : place_(static_cast<volatile std::uint64_t*>(
            ::mmap(nullptr, sizeof(std::uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    KVFERRY_REQUIRE(place_ != MAP_FAILED, "no shared memory");
  }
  ~shared_number() { ::munmap(const_cast<std::uint64_t*>(place_), sizeof(std::uint64_t)); }
  shared_number(const shared_number&) = delete;
  shared_number& operator=(const shared_number&) = delete;
  volatile std::uint64_t& operator*() { return *place_; }

private:
  volatile std::uint64_t* place_;
};

/// Runs `body` in a child process. What it printed to stderr when it ended otherwise than by returning true.
template <class Body>
std::optional<std::string> words_of_failure(Body body) {
  int ends[2];
  KVFERRY_REQUIRE(::pipe(ends) == 0, "no pipe");
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    for (int signal : {SIGABRT, SIGALRM, SIGTERM}) // the framework's handlers would report the test as failed
      std::signal(signal, SIG_DFL);
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    const bool good = body();
    std::fflush(stderr);
    ::_exit(good ? 0 : 1);
  }
  ::close(ends[1]);
  std::string words;
  char part[4096];
  for (ssize_t got = 0; (got = ::read(ends[0], part, sizeof part)) > 0;)
    words.append(part, static_cast<std::size_t>(got));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
    return std::nullopt;
  if (WIFSIGNALED(status))
    words += fmt::format("ended by signal {}\n", WTERMSIG(status));
  return words;
}

/// Prints what is wrong; with `story` each command first, as it is done.
bool run_here(const test_case& which, bool story) {
  ::alarm(case_seconds_max);
  random_engine engine(which);
  if (story)
    engine.tell_to([](const std::string& sentence) { std::fprintf(stderr, "  %s\n", sentence.c_str()); });
  const sentences wrong = engine.run();
  for (const std::string& sentence : wrong)
    std::fprintf(stderr, "WRONG: %s\n", sentence.c_str());
  return wrong.empty();
}

/// Makes a failing case smaller as long as it fails: fewer commands first, in ever smaller runs of them, then smaller
/// numbers. (rapidcheck's way of shrinking a list begins anew after each success, which takes too long here.)
class shrinking {
public:
  shrinking(test_case failing, std::uint32_t tries) : case_(std::move(failing)), tries_(tries) {}

  test_case run() {
    for (std::size_t before = 0; before != case_.commands.size();) {
      before = case_.commands.size();
      for (std::size_t length = std::max<std::size_t>(before / 2, 1); length > 0; length /= 2)
        remove(length);
    }
    for (const setup_number& number : setup_numbers)
      lower([&](test_case& of) -> std::uint8_t& { return of.setup.*number.field; });
    for (std::size_t i = 0; i < case_.commands.size(); ++i)
      for (std::uint8_t command::*field : {&command::a, &command::b, &command::c})
        lower([&](test_case& of) -> std::uint8_t& { return of.commands[i].*field; });
    remove(1);
    return case_;
  }

private:
  bool accept(test_case candidate) {
    if (tries_ == 0)
      return false;
    --tries_;
    const bool fails = words_of_failure([&] { return run_here(candidate, false); }).has_value();
    if (fails)
      case_ = std::move(candidate);
    return fails;
  }

  void remove(std::size_t length) {
    for (std::size_t first = 0; first < case_.commands.size();) {
      test_case shorter = case_;
      auto begin = shorter.commands.begin() + static_cast<std::ptrdiff_t>(first);
      shorter.commands.erase(begin,
                             begin + static_cast<std::ptrdiff_t>(std::min(length, shorter.commands.size() - first)));
      if (!accept(std::move(shorter)))
        first += length;
    }
  }

  template <class Number>
  void lower(Number number) {
    for (auto smaller = rc::shrink::towards<std::uint8_t>(number(case_), 0); auto value = smaller.next();) {
      test_case lowered = case_;
      number(lowered) = *value;
      if (accept(std::move(lowered)))
        return;
    }
  }

  test_case case_;
  std::uint32_t tries_;
};

} // namespace

test_case case_of(std::uint64_t seed) {
  static const auto generator = test_cases();
  return generator(rc::Random(seed), 40 + static_cast<int>(seed % 5) * 50).value();
}

std::string run_case(const test_case& which) {
  return words_of_failure([&] { return run_here(which, true); }).value_or("");
}

std::optional<found_failure> search(const search_options& options) {
  shared_number at;
  *at = options.first_seed;
  auto words = words_of_failure([&] {
    for (std::uint64_t seed = options.first_seed; seed < options.first_seed + options.runs; ++seed) {
      *at = seed;
      if (!run_here(case_of(seed), false))
        return false;
    }
    return true;
  });
  if (!words)
    return std::nullopt;
  found_failure found{*at, shrinking(case_of(*at), options.shrinks_max).run(), {}};
  std::string told = run_case(found.smallest);
  found.words = fmt::format("seed {} fails:\n{}\nits smallest case, {} commands, on {}:\n{}\n"
                            "again: KVFERRY_PROPERTY_SEED={} test_properties, or KVFERRY_PROPERTY_CASE='{}'\n",
                            found.seed, *words, found.smallest.commands.size(), words_of(found.smallest.setup), told,
                            found.seed, to_text(found.smallest));
  return found;
}

} // namespace kvferry::test
