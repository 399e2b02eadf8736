// SPDX-License-Identifier: MIT
#include "pipeline/sigterm.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <mutex>
#include <new>

#include "base/fs.h"
#include "journal/ring/place.h"
#include "journal/ring/wipe_memory.h"

namespace tracker::internal {
namespace {

std::atomic<SigtermMark*> marks{nullptr};  // only ever grows
// The handler before ours. Never freed or changed: a handler that began before the end of the last run may still
// be reading it when the next run begins.
std::atomic<const struct sigaction*> previous{nullptr};
const struct sigaction kDefault = {};  // SIG_DFL

struct Watch {
  std::mutex mutex;
  std::atomic<uint64_t> generation{0};
  bool placed = false;  // our handler is installed, or called by one that replaced it
  int watched = 0;
};

Watch* watch() {
  static Watch* const instance = new Watch;  // leaked on purpose: runs end after static destruction has begun
  return instance;
}

// What would have happened without us. The signal is blocked while its handler runs: raised here it is delivered after
// that.
void pass_on(int signal, siginfo_t* info, void* context) {
  const struct sigaction* before = previous.load(std::memory_order_acquire);
  // One that is to be called once: from its call on the default takes its place.
  if ((before->sa_flags & static_cast<int>(SA_RESETHAND)) != 0)
    (void)previous.compare_exchange_strong(before, &kDefault);
  if ((before->sa_flags & SA_SIGINFO) != 0) return before->sa_sigaction(signal, info, context);
  if (before->sa_handler == SIG_IGN) return;
  if (before->sa_handler != SIG_DFL) return before->sa_handler(signal);
  (void)::sigaction(signal, before, nullptr);
  (void)::raise(signal);
}

// Only what a signal's handler may call (signal-safety(7)): no lock, no memory.
void on_sigterm(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  const pid_t self = ::getpid();
  for (SigtermMark* mark = marks.load(std::memory_order_acquire); mark != nullptr; mark = mark->next) {
    if (mark->pid != self || !mark->watched.load(std::memory_order_acquire)) continue;
    mark->seen.store(true, std::memory_order_release);
    if (mark->path.empty()) continue;
    const int fd = ::open(mark->path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0) (void)::close(fd);
  }
  errno = error;
  pass_on(signal, info, context);
}

bool is_ours(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == &on_sigterm;
}

bool is_plain(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) == 0 && (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN);
}

bool is_same(const struct sigaction& a, const struct sigaction& b) {
  const bool same = (a.sa_flags & SA_SIGINFO) != 0 ? a.sa_sigaction == b.sa_sigaction : a.sa_handler == b.sa_handler;
  if (!same || a.sa_flags != b.sa_flags) return false;
  for (int signal = 1; signal <= SIGRTMAX; ++signal)  // bytes after the kernel's part of a mask are arbitrary
    if (::sigismember(&a.sa_mask, signal) != ::sigismember(&b.sa_mask, signal)) return false;
  return true;
}

// With the mask and the flags of the one before: what it interrupts, and where it runs, stays as it was.
bool place() {
  struct sigaction now = {};
  if (::sigaction(SIGTERM, nullptr, &now) != 0) return false;
  if (is_ours(now)) return true;
  const struct sigaction* const before = previous.load();
  // Ours was replaced: by one that may call it, or, where none is installed now or the one from before, by one that is
  // gone.
  if (watch()->placed && !is_plain(now) && !is_same(*before, now)) return false;
  const bool interrupts_nothing = is_plain(now);
  if (before == nullptr || !is_same(*before, now)) previous.store(new struct sigaction(now), std::memory_order_release);
  struct sigaction ours = {};
  ours.sa_sigaction = &on_sigterm;
  ours.sa_mask = now.sa_mask;
  ours.sa_flags =
      SA_SIGINFO | (interrupts_nothing ? SA_RESTART : now.sa_flags & (SA_RESTART | SA_ONSTACK | SA_NODEFER));
  return watch()->placed = ::sigaction(SIGTERM, &ours, nullptr) == 0;
}

}  // namespace

SigtermMark* watch_sigterm(const std::string& journal_dir) {
  const uint64_t generation = process_generation();
  if (watch()->generation != 0 && watch()->generation != generation) {
    // A forked child with a run of its own: the lock may be held by a thread that is not here. The handler stays.
    const bool placed = watch()->placed;
    new (watch()) Watch;
    watch()->placed = placed;
  }
  const std::lock_guard<std::mutex> guard(watch()->mutex);
  watch()->generation = generation;
  if (!place()) return nullptr;
  auto* const mark = new SigtermMark;
  mark->pid = ::getpid();
  if (!journal_dir.empty()) mark->path = join_path(journal_dir, kSigtermFile);
  mark->next = marks.load(std::memory_order_relaxed);
  marks.store(mark, std::memory_order_release);
  ++watch()->watched;
  return mark;
}

void unwatch_sigterm(SigtermMark* mark) {
  const std::lock_guard<std::mutex> guard(watch()->mutex);
  if (!mark->watched.exchange(false)) return;
  if (--watch()->watched > 0) return;
  struct sigaction now = {};
  if (::sigaction(SIGTERM, nullptr, &now) != 0 || !is_ours(now)) return;
  watch()->placed = ::sigaction(SIGTERM, previous.load(), nullptr) != 0;
}

}  // namespace tracker::internal
