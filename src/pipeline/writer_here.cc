// SPDX-License-Identifier: MIT
// A writer without threads (RLIMIT_NPROC, a full cgroup): the journal takes what is logged, as for a process that is
// killed, and flush() and finish() drain and store it on the thread that calls them.
#include <algorithm>
#include <exception>

#include "base/write_signals.h"
#include "pipeline/writer.h"

namespace tracker::internal {
namespace {

constexpr std::chrono::milliseconds kRetryHere{100};

}  // namespace

void Writer::abandon() {
  quiescent_ = journal_->close();
  journal_->remove_files();
}

// Until flush number `flush` is durable, or the end is committed. False at the deadline; a disk that hangs in a call
// goes beyond it, as there is nobody to wait for it instead.
bool Writer::work_here(Clock::time_point deadline, uint64_t flush, const std::function<bool()>& keep_waiting) {
  std::unique_lock<std::timed_mutex> one(here_mutex_, deadline);
  if (!one.owns_lock()) return false;
  const NoWriteSignals guard;
  for (;;) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (done_ || flush_done_ >= flush) return true;
    }
    if (Clock::now() >= deadline || (keep_waiting && !keep_waiting())) return false;
    round_here(deadline);
  }
}

// One round of both threads' work. What the store refuses goes to the spill file, as always.
void Writer::round_here(Clock::time_point deadline) {
  StoreRounds rounds;
  rounds.retry = std::clamp(std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()),
                            std::chrono::milliseconds(0), kRetryHere);
  const uint64_t before = thread_cpu_ns();
  try {
    bool drained = false;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      drained = drained_all_;
    }
    if (!drained) (void)drain_round();
    (void)store_round(&rounds);
    const std::lock_guard<std::mutex> one(drain_mutex_);
    const std::lock_guard<std::mutex> files(files_mutex_);
    if (!files_removed_) spill_if_stuck();
    const std::lock_guard<std::mutex> lock(mutex_);
    store_fault_.now = false;
  } catch (const std::exception& error) {
    db_.reset();  // as in store_loop()
    note_fault(&store_fault_, "the thread that stores", error.what());
  }
  here_cpu_ns_.fetch_add(thread_cpu_ns() - before);
}

}  // namespace tracker::internal
