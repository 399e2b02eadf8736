// SPDX-License-Identifier: MIT
// The drain thread of a run: rings become frames in the queue, and while the disk is stuck the spill file takes frames,
// so that their ring space is free (design 2). Threads: run() is the thread; the groups name who calls the others.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "journal/ring/block_pool.h"
#include "pipeline/large_events.h"
#include "pipeline/pipeline.h"

namespace tracker::internal {

struct SigtermMark;  // pipeline/sigterm.h

class DrainThread {
 public:
  DrainThread(Pipeline* pipeline, const WriterIdentity& identity);

  void run();

  // --- callers ------------------------------------------------------------------------------------------------------
  // Called before each round.
  void set_pause_for_testing(void (*pause)()) { pause_ = pause; }
  // Set once; a SIGTERM that it has seen is recorded. It lives as long as the process.
  void watch_sigterm(const SigtermMark* mark) { sigterm_.store(mark, std::memory_order_release); }

  // --- the store thread ---------------------------------------------------------------------------------------------
  // Nothing: another process recovers the journal, or may begin to. Else Journal::recovery_epoch().
  std::optional<uint64_t> hold_journal();
  // The end is stored, or the run was given up: nothing of the journal is needed any more.
  void remove_journal();
  // No round goes on while it is held; the functions after this one need it.
  [[nodiscard]] std::unique_lock<std::mutex> stop_rounds() { return std::unique_lock<std::mutex>(mutex_); }
  // Another process has stored this journal: what was in discarded frames and in no ring waits again. `take_over`
  // discards the frames; it is called when nothing after it can fail.
  void put_back(std::vector<Sample> samples, std::vector<Event> events, const std::function<void()>& take_over);
  void drain_again() { (void)drain(queue_.drained_all()); }

 private:
  bool round();
  bool drain(bool last);
  void keep_links();
  bool holds_journal();
  void note_faults();
  void note_sigterm();
  void note_memory_ring();
  bool keep_large(bool last);
  void keep(Frame frame, std::vector<RingPosition> positions, size_t large, bool last_of_drain);
  void enqueue(Frame* frame, std::vector<RingPosition> positions, uint64_t large_texts, bool last_of_drain);
  void note_memory(const Frame& frame, size_t bytes);
  void spill_if_stuck();
  void spill_until_done();

  Pipeline& pipeline_;
  Journal& journal_;
  FrameQueue& queue_;
  DrainInbox& inbox_;
  const Id128 writer_;
  const std::string journal_dir_;
  std::atomic<void (*)()> pause_{nullptr};
  std::atomic<const SigtermMark*> sigterm_{nullptr};

  std::mutex mutex_;  // one round; guards all below
  TimePoint next_link_check_;
  bool journal_removed_ = false;
  bool has_memory_ring_ = false;  // a ring was no file in the last round
  bool sigterm_noted_ = false;
  uint64_t faults_noted_ = 0;
  uint64_t spilled_seq_ = 0;      // of the newest frame in the spill file
  TimePoint logged_since_;        // what this drain takes was not logged before
  std::deque<LargeEvent> large_;  // taken, in no frame yet; by time
  BlockPool spare_blocks_;
};

}  // namespace tracker::internal
