// SPDX-License-Identifier: MIT
// The store thread of a run: frames of the queue go into the run's files. It is a thread apart from the drain thread so
// that a commit that is stuck on the disk never stops the draining. Threads: run() is the thread; the groups name who
// calls the others.
#pragma once

#include <atomic>

#include "pipeline/drain_thread.h"
#include "pipeline/pipeline.h"
#include "pipeline/run_files.h"

namespace tracker::internal {

class StoreThread {
 public:
  StoreThread(Pipeline* pipeline, DrainThread* drain, RunFiles* files, const Id128& writer, const StoreTarget& target);

  void run();

  // --- callers ------------------------------------------------------------------------------------------------------
  // Called before each round.
  void set_pause_for_testing(void (*pause)()) { pause_ = pause; }
  // A rank that waits for its run gives up then, if not before.
  void end_await_by(TimePoint time) { await_until_ = std::min(await_until_.load(), time); }

 private:
  bool round();
  FrameBatch next_batch();
  Status prepare_files(FrameBatch* batch);
  Status store(const FrameBatch& batch);
  Status commit(const FrameBatch& batch);
  void note_stored(const FrameBatch& batch, TimePoint begun, uint64_t epoch);
  bool wait_after_failed_sync();
  bool close_files();
  void end_journal();
  // The disk.
  void measure_disk();
  bool disk_has_room();
  DiskWaiting waiting_for_disk() const;
  // A rank without a run.
  bool find_run();
  bool wait_for_run();
  void give_up_run();
  // The next part of the files.
  Status plan_next_part();
  void take_over(LeftFiles* left);
  std::vector<FrameRecord> state_frames(const Logged& gone, const LeftFiles& left, uint64_t first);

  Pipeline& pipeline_;
  Journal& journal_;
  FrameQueue& queue_;
  DrainThread& drain_;
  RunFiles& files_;
  const Id128 writer_;
  const StorePace pace_;
  std::atomic<void (*)()> pause_{nullptr};
  std::atomic<TimePoint> await_until_;

  RetryPause retry_{kRetryFirst, kRetryMax}, sync_retry_{kRetryFirst, kRetryMax};
  StoreTimes times_;
  bool compacting_ = false;  // there is work for idle time
  TimePoint next_shrink_, next_search_;
  RetryPause search_pause_{kAwaitLookFirst, kAwaitLookMax};
};

}  // namespace tracker::internal
