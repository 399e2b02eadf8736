// SPDX-License-Identifier: MIT
#include "monitor/git_diff.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/fs.h"
#include "model/redact.h"
#include "monitor/git.h"
#include "monitor/utf8_text.h"

extern char** environ;  // NOLINT: POSIX says so

namespace tracker::internal {
namespace {

using Clock = std::chrono::steady_clock;

// It gets no terminal and our signals' defaults, answers to nobody, takes no lock and starts no helper of its own.
int spawn_git(const std::string& work, int output, pid_t* pid) {
  const std::string folder = work;
  const char* arguments[] = {"git",
                             "-c",
                             "core.fsmonitor=false",
                             "-c",
                             "core.pager=cat",
                             "-C",
                             folder.c_str(),
                             "diff",
                             "--no-ext-diff",
                             "--no-textconv",
                             "--no-color",
                             "HEAD",
                             "--",
                             nullptr};
  std::vector<char*> environment{const_cast<char*>("GIT_OPTIONAL_LOCKS=0"), const_cast<char*>("GIT_TERMINAL_PROMPT=0")};
  for (char** each = environ; *each != nullptr; ++each)
    if (std::strncmp(*each, "GIT_", 4) != 0) environment.push_back(*each);
  environment.push_back(nullptr);
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
  ::posix_spawnattr_setsigmask(&attributes, &none);  // this thread blocks all
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setpgroup(&attributes, 0);  // so that what it starts is killed with it
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  const int error =
      ::posix_spawnp(pid, "git", &actions, &attributes, const_cast<char**>(arguments), environment.data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  return error;
}

struct Output {
  std::string text;
  size_t more = 0;  // bytes that were read and not kept
  bool timeout = false;
};

// To the end of the pipe; beyond the bound it is read on for a while, to know how much there is.
Output read_output(int fd) {
  constexpr size_t kReadBytes = 64 * 1024;
  Output out;
  std::vector<char> buffer(kReadBytes);
  const auto deadline = Clock::now() + kGitDiffTimeMax;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd ready{fd, POLLIN, 0};
    const int n = left <= 0 ? 0 : ::poll(&ready, 1, static_cast<int>(left));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      out.timeout = true;
      return out;
    }
    const ssize_t bytes = ::read(fd, buffer.data(), buffer.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return out;
    const size_t kept = std::min(static_cast<size_t>(bytes), kGitDiffBytesMax - out.text.size());
    out.text.append(buffer.data(), kept);
    out.more += static_cast<size_t>(bytes) - kept;
  }
}

}  // namespace

Value git_diff(const std::string& folder, uint64_t* redacted) {
  Value out = Value::map();
  const auto where = find_git(folder);
  if (!where) return out;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Value::Map{{"error", std::string(std::strerror(errno))}};
  const Fd reading(ends[0]);
  Fd writing(ends[1]);
  pid_t pid = 0;
  const int error = spawn_git(where->work, writing.get(), &pid);
  if (error != 0) return Value::Map{{"error", std::string("git: ") + std::strerror(error)}};
  writing.reset();
  const Output output = read_output(reading.get());
  if (output.timeout) ::kill(-pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
  if (!output.timeout && WIFEXITED(status) && WEXITSTATUS(status) != 0 && output.text.empty())
    return Value::Map{{"error", "git diff ended with " + std::to_string(WEXITSTATUS(status))}};
  out.set("text", redact_code(as_utf8(output.text), redacted));
  out.set("bytes", static_cast<int64_t>(output.text.size() + output.more));
  if (output.more > 0) out.set("cut", static_cast<int64_t>(output.more));
  if (output.timeout) out.set("timeout", true);
  return out;
}

}  // namespace tracker::internal
