// SPDX-License-Identifier: MIT
// What the drain thread, the store thread and the callers of a run share. Threads: any, as each member states.
#pragma once

#include <atomic>
#include <memory>

#include "journal/live/journal.h"
#include "pipeline/disk_limit.h"
#include "pipeline/drain_inbox.h"
#include "pipeline/frame_queue.h"
#include "pipeline/memory_bounds.h"
#include "pipeline/run_cost.h"
#include "pipeline/store_target.h"
#include "pipeline/warnings.h"
#include "pipeline/writer_health.h"

namespace tracker::internal {

// Limit: time from a log call to its commit (P1). Beyond it: the death of the container costs these points.
constexpr std::chrono::milliseconds kDrainInterval{100};
constexpr uint64_t kSeriesMemoryBytes = 300;  // what a metric takes in all tables together, as measured

struct Pipeline {
  // One thread without the other is of no use: both wait until it is known.
  enum class Threads { kUndecided, kBoth, kNone };

  Pipeline(std::unique_ptr<Journal> opened, const StoreTarget& target)
      : journal(std::move(opened)),
        warnings(target.run),
        health(&warnings, target.store_path, journal->kind() == JournalKind::kMemory),
        disk(target.max_disk),
        inbox(journal.get()),
        queue(journal.get(), target.max_disk / kDiskShare) {}
  // A thread that never came back from a log call still holds the journal: leaving it is the only safe thing.
  ~Pipeline() {
    if (!quiescent) (void)journal.release();
  }
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  WaitingBytes waiting() const {
    const uint64_t in_journal = journal->bytes(), spilled = journal->spill().bytes();
    return {queue.bytes(), inbox.large_bytes(), in_journal - std::min(in_journal, spilled)};
  }
  bool queue_is_full() const { return internal::queue_is_full(waiting()); }
  RunCost cost() const {
    RunCost out;
    out.call_ns = journal->call_ns();
    out.memory_bytes =
        journal->bytes() + queue.bytes() + inbox.large_bytes() + queue.series_held() * kSeriesMemoryBytes;
    meter.fill(&out);
    return out;
  }
  // False: the threads could not be started.
  bool wait_started() const {
    threads.wait(Threads::kUndecided);
    return threads == Threads::kBoth;
  }

  std::unique_ptr<Journal> journal;
  Warnings warnings;
  WriterHealth health;
  DiskLimit disk;  // the store thread's, but for room()
  CostMeter meter;
  DrainInbox inbox;
  FrameQueue queue;
  std::atomic<Threads> threads{Threads::kUndecided};
  std::atomic<bool> quiescent{false};  // no producer is inside the journal any more
  std::atomic<bool> closing{false};    // all is stored and fsynced; the database is about to be closed
};

}  // namespace tracker::internal
