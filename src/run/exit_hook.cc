// SPDX-License-Identifier: MIT
#include "run/exit_hook.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <vector>

#include "journal/ring/wipe_memory.h"
#include "pipeline/warnings.h"
#include "run/run.h"

namespace tracker::internal {
namespace {

struct Live {
  std::mutex mutex;
  std::atomic<uint64_t> generation{0};
  std::vector<std::weak_ptr<Run>> runs;
  std::atomic<bool> said_many{false};
};

// So many live runs of a process are most often one after the other, and none was ended.
constexpr size_t kManyRuns = 10;

Live* live() {
  static Live* const instance = new Live;  // leaked on purpose: it is used after static destruction has begun
  return instance;
}

void finish_all(int exit_code) {
  Live* all = live();
  // A forked child inherits the handler, not the runs; its copy of the lock may be held for ever.
  if (all->generation != process_generation()) return;
  std::vector<std::weak_ptr<Run>> runs;
  {
    const std::lock_guard<std::mutex> guard(all->mutex);
    runs.swap(all->runs);
  }
  // One disk that hangs must not cost its time a run. What is not stored by then stays in its journal.
  const auto deadline = std::chrono::steady_clock::now() + kFinishLocalMax;
  for (const auto& weak : runs) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    const std::shared_ptr<Run> run = weak.lock();
    if (run != nullptr && run->ends_with_process()) run->finish_at_exit(exit_code, std::max(left, kFinishLeast));
  }
}

std::vector<std::shared_ptr<Run>> runs_in(Live* all) {
  std::vector<std::shared_ptr<Run>> runs;
  const std::lock_guard<std::mutex> guard(all->mutex);
  for (const std::weak_ptr<Run>& weak : all->runs)
    if (std::shared_ptr<Run> run = weak.lock()) runs.push_back(std::move(run));
  return runs;
}

void say_many_runs(Live* all, const Run& newest) {
  const std::vector<std::shared_ptr<Run>> runs = runs_in(all);  // let go of without the lock
  const auto count = std::count_if(runs.begin(), runs.end(), [](const auto& run) { return !run->finished(); });
  if (static_cast<size_t>(count) < kManyRuns || all->said_many.exchange(true)) return;
  print_line(fmt::format(
      "{} runs of this process are live, the newest is {}/{}: finish() is missing where one of them is done "
      "(said once)",
      count, newest.project(), newest.id()));
}

}  // namespace

void finish_at_exit(const std::shared_ptr<Run>& run) {
  Live* all = live();
  const uint64_t generation = process_generation();
  if (all->generation != 0 && all->generation != generation) {
    // A forked child with a run of its own: make new ones, the inherited list and lock are the parent's.
    new (all) Live;
  }
  {
    const std::lock_guard<std::mutex> guard(all->mutex);
    if (all->generation != generation) {
      all->generation = generation;
#if defined(__GLIBC__)
      ::on_exit([](int status, void*) { finish_all(status & 0xff); }, nullptr);  // what wait() will report
#else
      ::atexit([] { finish_all(0); });
#endif
    }
    // Expired ones only: asking a run whether it is finished could make this thread its last owner, under the lock.
    std::erase_if(all->runs, [](const std::weak_ptr<Run>& r) { return r.expired(); });
    all->runs.push_back(run);
    if (all->said_many || all->runs.size() < kManyRuns) return;
  }
  say_many_runs(all, *run);
}

std::vector<std::shared_ptr<Run>> own_runs(std::string_view uid) {
  Live* all = live();
  if (all->generation != process_generation()) return {};
  std::vector<std::shared_ptr<Run>> runs = runs_in(all);
  std::erase_if(runs, [uid](const std::shared_ptr<Run>& run) { return run->uid() != uid; });
  return runs;
}

}  // namespace tracker::internal
