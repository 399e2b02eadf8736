// SPDX-License-Identifier: MIT
#include "monitor/host/spawn.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

namespace tracker::internal {
namespace {

// posix_spawn() runs on it; what that itself starts has a stack of its own.
constexpr size_t kStarterStackBytes = 64 * 1024;

struct Start {
  pid_t* pid;
  const char* program;
  char* const* arguments;
  char* const* environment;
  int output;
  int error = 0;
  int exited = -1;
};

// Runs in the memory of the program, as vfork() has it, whose thread waits meanwhile. The descriptors are shared too,
// so that the one which is opened here stays: the program that was started is not reaped before this one ends.
int start_and_end(void* given) {
  auto* start = static_cast<Start*>(given);
  start->error = spawn_apart(start->pid, start->program, start->arguments, start->environment, start->output);
  if (start->error == 0) start->exited = static_cast<int>(::syscall(SYS_pidfd_open, *start->pid, 0));
  return 0;  // to clone(), which ends this process and runs nothing of the program's
}

}  // namespace

int spawn_apart(pid_t* pid, const char* program, char* const* arguments, char* const* environment, int output) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, output, 1);
  ::posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  const int error = ::posix_spawnp(pid, program, &actions, &attributes, arguments, environment);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  return error;
}

int spawn_orphan(pid_t* pid, Fd* exited, const char* program, char* const* arguments, char* const* environment,
                 int output) {
  Start start{pid, program, arguments, environment, output};
  const std::unique_ptr<char[]> stack(new char[kStarterStackBytes]);
  // No signal at its end, which is what wait() goes by.
  constexpr int kFlags = CLONE_VM | CLONE_VFORK | CLONE_FILES;
  const pid_t starter = ::clone(start_and_end, stack.get() + kStarterStackBytes, kFlags, &start);
  if (starter < 0) return errno;
  while (::waitpid(starter, nullptr, __WCLONE) < 0 && errno == EINTR) {}
  *exited = Fd(above_standard(start.exited));
  return start.error;
}

}  // namespace tracker::internal
