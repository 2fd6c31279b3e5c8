// What a broken contract prints: runs a function in a child process that it is expected to end.
#pragma once

#include <csignal>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

namespace kvferry::test {

/// What `body` printed to stderr before it aborted; "did not abort" when it returned or ended otherwise.
template <class Body>
std::string words_of_death(Body body) {
  int ends[2];
  if (::pipe(ends) != 0)
    return "no pipe";
  pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL); // the framework's handler would report the test as failed
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    body();
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string words;
  char part[512];
  for (ssize_t got = 0; (got = ::read(ends[0], part, sizeof part)) > 0;)
    words.append(part, static_cast<std::size_t>(got));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT ? words : "did not abort";
}

} // namespace kvferry::test
