// SPDX-License-Identifier: MIT
#include "monitor/host/gpu_trial.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string>
#include <string_view>

#include "base/fs.h"
#include "monitor/host/spawn.h"

namespace tracker::internal {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kLookMs = 100;
constexpr std::string_view kEndWord = "end";
constexpr const char* kCalls[] = {
    "dlopen",
    "nvmlInit_v2",
    "nvmlDeviceGetCount_v2",
    "nvmlSystemGetDriverVersion",
    "nvmlDeviceGetHandleByIndex_v2",
    "nvmlDeviceGetUUID",
    "nvmlDeviceGetName",
    "nvmlDeviceGetUtilizationRates",
    "nvmlDeviceGetMemoryInfo",
    "nvmlDeviceGetComputeRunningProcesses_v3",
    "nvmlDeviceGetPowerUsage",
    "nvmlDeviceGetTemperature",
    "nvmlDeviceGetClockInfo",
    "nvmlDeviceGetTotalEccErrors",
};

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

int spawn_trial(const GpuOptions& options, int output, pid_t* pid, Fd* exited) {
  std::vector<std::string> arguments = options.trial;
  arguments.push_back(options.library_name());
  return spawn_orphan(pid, exited, arguments[0].c_str(), pointers_to(arguments).data(),
                      pointers_to(options.environment).data(), output);
}

// Reads the names of calls as they are made, to the end of the trial: that of the pipe may be held open by a child that
// the program has forked meanwhile.
class TrialReader {
 public:
  TrialReader(int fd, pid_t trial, int exited, const GpuSampler::Watch& watch)
      : fd_(fd), trial_(trial), exited_(exited), watch_(watch) {}

  GpuTrialResult run(const std::function<bool()>& stopped) {
    const auto deadline = Clock::now() + kGpuTrialMax;
    for (;;) {
      if (stopped() || Clock::now() > deadline) return {GpuTrial::kStopped, call_};
      pollfd ready{fd_, POLLIN, 0};
      const int n = ::poll(&ready, 1, kLookMs);
      if (n < 0 && errno == EINTR) continue;
      if (n == 0 && gone_) break;
      if (n == 0) gone_ = has_exited(0);
      if (n == 0) continue;
      char buffer[1024];
      const ssize_t bytes = ::read(fd_, buffer, sizeof buffer);
      if (bytes < 0 && errno == EINTR) continue;
      if (bytes <= 0) break;
      take({buffer, static_cast<size_t>(bytes)});
    }
    if (ended_) return {GpuTrial::kPassed, call_};
    return {*call_ == '\0' ? GpuTrial::kNotMade : GpuTrial::kCrashed, call_};
  }

  // By its descriptor: its number may be another process's by now. Before Linux 5.3 its alarm ends it.
  void kill() const {
    if (exited_ >= 0) ::syscall(SYS_pidfd_send_signal, exited_, SIGKILL, nullptr, 0);
  }
  void wait() const {
    while (exited_ >= 0 && !has_exited(-1)) {}
    ::waitpid(trial_, nullptr, WNOHANG);  // where orphans come to this process; else there is no such child
  }

 private:
  void take(std::string_view bytes) {
    for (const char c : bytes) {
      if (c != '\n') {
        line_ += c;
        continue;
      }
      ended_ = line_ == kEndWord;
      const auto known = std::find(std::begin(kCalls), std::end(kCalls), line_);
      if (known != std::end(kCalls)) watch_(call_ = *known);
      line_.clear();
    }
  }

  bool has_exited(int timeout_ms) const {
    pollfd ended{exited_, POLLIN, 0};
    if (exited_ >= 0) return ::poll(&ended, 1, timeout_ms) > 0;
    return ::kill(trial_, 0) != 0 && errno == ESRCH;
  }

  const int fd_;
  const pid_t trial_;
  const int exited_;
  const GpuSampler::Watch& watch_;
  bool gone_ = false;
  std::string line_;
  const char* call_ = "";
  bool ended_ = false;
};

// Somebody else has called it safe.
bool is_loaded(const std::string& library) {
  void* found = ::dlopen(library.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (found != nullptr) ::dlclose(found);
  return found != nullptr;
}

}  // namespace

GpuTrialResult try_gpu_library(const GpuOptions& options, const GpuSampler::Watch& watch,
                               const std::function<bool()>& stopped) {
  int ends[2];
  if (options.trial.empty() || is_loaded(options.library_name()) || ::pipe2(ends, O_CLOEXEC) != 0) return {};
  const Fd reading(ends[0]);
  Fd writing(ends[1]);
  pid_t pid = 0;
  Fd exited;
  if (spawn_trial(options, writing.get(), &pid, &exited) != 0) return {};
  writing.reset();
  TrialReader reader(reading.get(), pid, exited.get(), watch);
  const GpuTrialResult out = reader.run(stopped);
  if (out.verdict == GpuTrial::kStopped) reader.kill();
  // One that hangs within the driver cannot be killed: `watch` still has its call, and no thread waits for this.
  reader.wait();
  watch(nullptr);
  return out;
}

}  // namespace tracker::internal
