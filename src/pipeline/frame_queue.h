// SPDX-License-Identifier: MIT
// The queue between the drain thread and the store thread of a run: encoded frames that wait for their commit, the
// account of those that are stored, and the marks that go with the frames: a flush, the end. The drain thread adds at
// the end, the store thread removes at the front. Threads: any; the groups name the thread. Cost: short locks;
// nothing blocks but the functions named wait. Lock order: lock_order.h.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "journal/live/journal.h"
#include "journal/ring/frame_record.h"
#include "pipeline/disk_limit.h"
#include "pipeline/lock_order.h"
#include "pipeline/store_schedule.h"
#include "pipeline/stored_account.h"
#include "storage/log/event_state.h"

namespace tracker::internal {

constexpr std::chrono::milliseconds kFlushAskInterval{50};  // of flush(), whether to wait on: a signal is seen so late
constexpr std::chrono::milliseconds kStuckAfter{200};       // a commit that takes longer lets the spill file step in

struct WaitingFrame {
  FrameRecord record;
  FrameCounts counts;
  uint64_t large_texts = 0;  // of its texts; they were in no ring
  uint32_t defined = 0;      // the newest series that the frame defines; 0: none
  TimePoint since;
  TimePoint logged_since;    // nothing in it was logged before
  bool spilled = false;      // it is in the spill file; the drain thread's, as the next
  bool was_spilled = false;  // it was: its ring space is free
};
using FramePtr = std::shared_ptr<WaitingFrame>;

// What one round of the store thread stores.
struct FrameBatch {
  std::vector<FramePtr> frames;
  bool whole = true;   // nothing else waits
  uint64_t flush = 0;  // this flush is done with it
  StoreWork work;
  StoreRound round;
  bool is_idle() const { return !work.oldest && !round.durable && !round.beat; }
};

class FrameQueue {
 public:
  FrameQueue(Journal* journal, uint64_t disk_credit);

  // --- callers ------------------------------------------------------------------------------------------------------
  size_t bytes() const { return bytes_.load(); }
  uint64_t ask_flush();  // what was logged until now; to be waited for
  // False at `deadline`, or when `keep_waiting` returns false; it is called each kFlushAskInterval without a lock.
  bool wait_flushed(uint64_t flush, TimePoint deadline, const std::function<bool()>& keep_waiting);
  // The next drain is the last one and its last frame has `end` (CBOR of an end record). `kept`: the drain thread
  // writes it to the journal.
  void stop(std::string end, std::optional<JournalEnd> kept);
  void stop_drain();                 // the next drain is the last one
  bool wait_done(Duration timeout);  // the end is stored, or the run was given up
  // All of one moment.
  struct Reading {
    uint64_t points_stored = 0, texts_stored = 0, bytes_stored = 0;  // without samples of the system
    uint64_t points_removed = 0, texts_removed = 0;
    JournalCounts counts;  // read after what is stored: what is pending never comes out negative
    bool done = false;
    Duration uncommitted{0};  // for so long the oldest of what was logged waits for its commit
    Duration unsynced{0};     // for so long the oldest commit waits for its fsync
  };
  // `large_waiting`: values too large for a ring wait for the drain thread; read before this call.
  Reading read(bool large_waiting) const;
  void add_counts(SeriesCounts* counts) const;  // while hand_over() is held
  size_t series_held() const;                   // in the account
  void add_sample_series(const std::vector<ValuePair>& pairs);
  // Bytes that may be accepted before the store thread measures the disk again.
  uint64_t disk_credit() const { return locked(disk_credit_); }
  bool take_disk(uint64_t bytes);  // false: there is no room until the disk is measured, which is asked for
  // No frame goes from the rings to the queue while it is held.
  [[nodiscard]] std::unique_lock<std::mutex> hand_over() const { return std::unique_lock<std::mutex>(hand_over_); }

  // --- the drain thread ---------------------------------------------------------------------------------------------
  struct Marks {
    bool last = false;   // stop() was called
    uint64_t flush = 0;  // the newest ask_flush()
    std::optional<JournalEnd> kept;
  };
  Marks take_marks();
  uint64_t next_seq() const { return locked(next_seq_); }
  std::string end_record() const { return locked(end_record_); }
  TimePoint drained() const { return locked(drained_); }  // the last time that all rings were
  // While hand_over() is held; notify() after it. A failure changes nothing.
  void push(FramePtr frame, const std::vector<Event>& events);
  // `all`: rings were drained to their end. `last`: it was the last drain.
  void note_drained(const Marks& marks, TimePoint begun, bool all);
  // All frames, when the oldest has waited for kStuckAfter; else none.
  std::vector<FramePtr> stuck_frames() const;
  void notify() { changed_.notify_all(); }                           // any thread
  uint64_t committed_seq() const { return locked(committed_seq_); }  // any thread

  // --- the store thread ---------------------------------------------------------------------------------------------
  // Until there is something to store or measure, or after `idle`.
  void wait_for_work(Duration idle);
  void wait(Duration timeout);        // until something changes
  void wait_whole(Duration timeout);  // whatever changes
  FrameBatch batch() const;           // the oldest frames, as many as one transaction takes
  std::vector<FramePtr> all() const;
  // The frames of `batch`, the oldest, are stored; `last_seq` is the number of the newest. Cannot fail half way.
  void remove_stored(const FrameBatch& batch, uint64_t last_seq);
  void note_round(const FrameBatch& batch);
  void set_disk_credit(uint64_t bytes);
  bool drained_all() const { return locked(drained_all_); }
  void set_done();
  // What waits is dropped and counted.
  Logged give_up();

  // --- the store thread, for the next part of its files, while rounds of the drain thread are stopped ----------------
  StoredAccount account() const { return locked(account_); }
  EventState state() const { return locked(state_); }    // what was logged of the run, as far as it is drained
  uint32_t defined() const { return locked(defined_); }  // series up to this one are defined by committed frames
  // What was stored and the parts `there` do not hold any more is counted as removed.
  Logged remove_gone(const WriterSnapshot& there, const FrameCounts& again);
  // Another process has stored the parts `there`: only `kept` still waits; `known`: how far the rings are stored.
  void take_over(const WriterSnapshot& there, std::deque<FramePtr> kept, const std::vector<RingPosition>& known);
  void set_next_seq(uint64_t next);
  // The frames that wait get the numbers from `first` on.
  Status renumber(uint64_t first);

 private:
  template <typename T>
  T locked(const T& member) const {
    const Guard guard(mutex_);
    return member;
  }

  Journal* const journal_;
  mutable std::mutex hand_over_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // All below: guarded by mutex_.
  std::deque<FramePtr> frames_;  // drained, not yet committed; in sequence order
  std::atomic<size_t> bytes_{0};
  uint64_t disk_credit_;
  bool disk_look_wanted_ = false;
  uint64_t next_seq_ = 1, committed_seq_ = 0;
  uint64_t flush_wanted_ = 0, flush_drained_ = 0, flush_done_ = 0;
  bool stopping_ = false, drained_all_ = false, done_ = false;
  std::string end_record_;
  std::optional<JournalEnd> end_to_keep_;
  TimePoint drained_;
  std::optional<TimePoint> unsynced_since_;  // the first commit after the last fsync
  StoredAccount account_;
  EventState state_;
  uint32_t defined_ = 0;
};

}  // namespace tracker::internal
