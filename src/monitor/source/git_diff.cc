// SPDX-License-Identifier: MIT
#include "monitor/source/git_diff.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/fs.h"
#include "model/redact/redact.h"
#include "monitor/host/spawn.h"
#include "monitor/host/utf8_text.h"
#include "monitor/source/git.h"

extern char** environ;  // NOLINT: POSIX says so

namespace tracker::internal {
namespace {

using Clock = std::chrono::steady_clock;

// It gets no terminal and our signals' defaults, asks no person, takes no lock and starts no helper of its own.
int spawn_git(const std::string& work, int output, pid_t* pid) {
  const char* arguments[] = {"git",
                             "-c",
                             "core.fsmonitor=false",
                             "-c",
                             "core.pager=cat",
                             "-C",
                             work.c_str(),
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
  return spawn_apart(pid, "git", const_cast<char**>(arguments), environment.data(), output);
}

struct Output {
  std::string text;
  size_t more = 0;  // bytes that were read and not kept
  bool timeout = false;
};

// To the end of the pipe; beyond the bound it is read on for a while, to know how much there is.
Output read_output(int fd, std::chrono::milliseconds time_max) {
  constexpr size_t kReadBytes = 64 * 1024;
  Output out;
  std::vector<char> buffer(kReadBytes);
  const auto deadline = Clock::now() + time_max;
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
    const size_t kept = std::min(static_cast<size_t>(bytes), kGitDiffBytesMax + kSecretAheadBytes - out.text.size());
    out.text.append(buffer.data(), kept);
    out.more += static_cast<size_t>(bytes) - kept;
  }
}

}  // namespace

Value git_diff(const std::string& folder, uint64_t* redacted, std::chrono::milliseconds time_max) {
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
  const Output output = read_output(reading.get(), time_max);
  if (output.timeout) ::kill(-pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
  if (!output.timeout && WIFEXITED(status) && WEXITSTATUS(status) != 0 && output.text.empty())
    return Value::Map{{"error", "git diff ended with " + std::to_string(WEXITSTATUS(status))}};
  const std::string_view read(output.text);
  const size_t kept = std::min(read.size(), kGitDiffBytesMax);
  std::string text = as_utf8(read.substr(0, kept));
  const size_t bytes = text.size();
  text += as_utf8(read.substr(kept));
  out.set("text", redact_code(text, redacted, bytes));
  out.set("bytes", static_cast<int64_t>(read.size() + output.more));
  if (read.size() + output.more > kept) out.set("cut", static_cast<int64_t>(read.size() + output.more - kept));
  if (output.timeout) out.set("timeout", true);
  return out;
}

}  // namespace tracker::internal
