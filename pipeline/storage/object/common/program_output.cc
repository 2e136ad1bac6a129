#include "pipeline/storage/object/common/program_output.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "base/owned_fd.h"

namespace penstock::storage {
namespace {

constexpr size_t kMostOutput = size_t{64} << 10;
// Milliseconds between checks for a stop, and for the end of a program that prints nothing more.
constexpr int kLookEvery = 20;

// Returns the process, or 0 if it could not be started.
pid_t Started(const std::string& command, int out) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t how;
  posix_spawnattr_init(&how);
  // A process group of its own, so that it can be killed as a whole. Default signal handling, regardless of this
  // thread's.
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setpgroup(&how, 0);
  posix_spawnattr_setsigmask(&how, &none);
  posix_spawnattr_setsigdefault(&how, &all);
  std::string shell = "sh", flag = "-c", line = command;
  std::array<char*, 4> arguments = {shell.data(), flag.data(), line.data(), nullptr};
  pid_t child = 0;
  const int failed = posix_spawn(&child, "/bin/sh", &files, &how, arguments.data(), environ);
  posix_spawnattr_destroy(&how);
  posix_spawn_file_actions_destroy(&files);
  return failed == 0 ? child : 0;
}

}  // namespace

absl::StatusOr<std::string> OutputOf(const std::string& command, Nanos limit, const std::stop_token& stop) {
  std::array<int, 2> ends = {-1, -1};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return absl::UnavailableError("there is no pipe for what it prints");
  const OwnedFd from(ends[0]);
  OwnedFd to(ends[1]);
  const pid_t child = Started(command, to.get());
  to.Reset();
  if (child == 0) return absl::UnavailableError("it could not be started");

  const Nanos until = Clock::Real()->Now() + limit;
  std::string output;
  std::array<char, 4096> buffer;
  absl::Status wrong = absl::OkStatus();
  int state = 0;
  bool printing = true, running = true;
  while (wrong.ok() && running) {
    if (stop.stop_requested()) {
      wrong = absl::CancelledError("stopped");
    } else if (Clock::Real()->Now() >= until) {
      wrong = absl::UnavailableError(absl::StrCat("it did not end within ", limit / kSecond, " s"));
    } else if (printing) {
      pollfd reads{from.get(), POLLIN, 0};
      if (poll(&reads, 1, kLookEvery) <= 0) continue;
      const ssize_t got = read(from.get(), buffer.data(), buffer.size());
      if (got < 0 && errno == EINTR) continue;
      printing = got > 0;
      if (got > 0) output.append(buffer.data(), static_cast<size_t>(got));
      if (output.size() > kMostOutput) wrong = absl::PermissionDeniedError("it prints more than 64 KiB");
    } else {
      const pid_t ended = waitpid(child, &state, WNOHANG);
      if (ended == 0) poll(nullptr, 0, kLookEvery);
      running = ended == 0 || (ended < 0 && errno == EINTR);
    }
  }
  if (running) {
    kill(-child, SIGKILL);
    while (waitpid(child, &state, 0) < 0 && errno == EINTR) {
    }
    return wrong;
  }
  if (WIFEXITED(state) && WEXITSTATUS(state) == 0) return output;
  return absl::PermissionDeniedError(
      WIFEXITED(state) ? absl::StrCat("it ended with exit code ", WEXITSTATUS(state))
                       : absl::StrCat("it was ended by signal ", WIFSIGNALED(state) ? WTERMSIG(state) : 0));
}

}  // namespace penstock::storage
