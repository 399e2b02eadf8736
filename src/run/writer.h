// SPDX-License-Identifier: MIT
// The background half of a run: a drain thread (rings -> frames) and a store thread (frames -> SQLite or a .frames
// file), and what they share.
//
// They are two threads so that a commit that is stuck on the disk never stops the draining: then frames go to the spill
// file and ring space is released all the same (design 2). Neither is ever joined: finish() waits a bounded time for
// them to be done, and both keep the Writer alive by themselves. All signals are blocked in them. Threads: public
// functions from any thread. Lock: mutex_ guards the queue; nothing is called that blocks while it is held.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "journal/journal.h"
#include "run/say.h"
#include "storage/store.h"
#include "storage/store_files.h"

namespace tracker::internal {

constexpr std::chrono::milliseconds kDrainInterval{100};  // P1: what a container's death may cost
constexpr std::chrono::milliseconds kSyncInterval{1000};  // P1: what power loss may cost, plus one fsync
constexpr std::chrono::seconds kHeartbeatInterval{15};
constexpr size_t kQueueBytesMax = 16 * 1024 * 1024;  // encoded frames that wait for the disk
constexpr size_t kLargeBytesMax = 16 * 1024 * 1024;  // texts and config values too large for a ring, not yet in a frame
constexpr std::chrono::milliseconds kStuckAfter{200};  // a commit that takes longer lets the spill file step in

// Where the run is to be stored. The store may not exist yet, or not be writable: it is tried again until it is.
struct StoreTarget {
  std::string store_path;
  RunIdentity run;
  Status problem;              // why init could not open it; ok when it could
  std::string files = "auto";  // TRACKER_STORE_FILES
};

struct WriterStatus {
  JournalCounts counts;
  uint64_t points_stored = 0;
  uint64_t bytes_stored = 0;
  bool degraded = false;
  std::string last_error;
  bool committed_lately = false;  // within the last drain intervals: the container promise holds
  bool synced_lately = false;
  std::string files;        // "sqlite", "frames"; empty before the store was opened
  std::string file_system;  // what they lie on: "NFS", "local", …
  int parts = 0;            // files the database has gone on in
};

class Writer : public std::enable_shared_from_this<Writer> {
 public:
  Writer(std::unique_ptr<Journal> journal, WriterIdentity identity, StoreTarget target);
  ~Writer();
  // Starts both threads. kIo when the system does not give two: then none runs, what is logged stays in the journal,
  // and flush() and finish() do the work of both on the thread that calls them (writer_here.cc).
  Status start();
  // Instead of finish(), when the run does not begin: nothing of the journal is left.
  void abandon();

  Journal* journal() { return journal_.get(); }
  const WriterIdentity& identity() const { return identity_; }

  // A value too large for a ring: queued in memory, committed within the next intervals. kLimit: over the bound,
  // counted.
  Code push_large(EventType type, std::string payload, int64_t step, bool has_step);
  bool has_large() const;  // some of those still wait for the drain thread
  bool flush(std::chrono::milliseconds timeout);
  // Ends the log with `end` (CBOR of an end record), commits, turns the database into plain files. kTimeout: the
  // threads go on by themselves and the journal stays, so nothing is lost.
  Status finish(std::string end, std::chrono::milliseconds timeout);
  WriterStatus status() const;

  // For tests of F8 and F18: called by the drain and the store thread before each round.
  void set_pause_for_testing(void (*drain)(), void (*store)()) { drain_pause_ = drain, store_pause_ = store; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Queued {
    FrameRecord record;
    Clock::time_point since;
    bool spilled = false;
  };

  // What a background thread threw. Text without an allocation: there may be no memory.
  struct Fault {
    bool now = false;
    char what[128] = "";
  };
  // What the store thread carries from round to round.
  struct StoreRounds {
    std::chrono::milliseconds retry{0};
    bool unsynced = false;
    bool compacting = false;  // there is work for idle time
  };

  void drain_loop();
  bool drain_round();
  void keep_links();
  void note_faults();
  void store_loop();
  bool store_round(StoreRounds* rounds);
  void compact(StoreRounds* rounds);
  bool may_begin();
  bool work_here(Clock::time_point deadline, uint64_t flush);
  void round_here(Clock::time_point deadline);
  void note_fault(Fault* fault, const char* thread, const char* what) noexcept;
  bool drain_once(bool last);
  void forget_large();
  void spill_until_done();
  void enqueue(Frame frame, std::vector<RingPosition> positions);
  void spill_if_stuck();
  Status commit(const std::vector<std::shared_ptr<Queued>>& batch, bool durable);
  Status open_database();
  void note_failure(const Status& status);
  void note_success();
  bool close_database();

  const std::unique_ptr<Journal> journal_;
  WriterIdentity identity_;
  const StoreTarget target_;
  bool quiescent_ = false;  // no producer is inside the journal any more
  std::atomic<void (*)()> drain_pause_{nullptr}, store_pause_{nullptr};
  std::timed_mutex here_mutex_;  // who works without threads; taken before all others

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Queued>> queue_;  // drained, not yet committed; in sequence order
  size_t queue_bytes_ = 0;
  std::deque<Event> large_;
  size_t large_bytes_ = 0, large_waiting_ = 0;  // with those that the drain thread has, not yet in a frame
  enum class Threads { kUndecided, kBoth, kNone } threads_ = Threads::kUndecided;
  uint64_t next_seq_ = 1;
  uint64_t committed_seq_ = 0;
  uint64_t flush_wanted_ = 0, flush_drained_ = 0, flush_done_ = 0;
  bool stopping_ = false, drained_all_ = false, done_ = false;
  std::string end_record_;
  Status finish_status_;
  std::string last_error_;
  bool degraded_ = false;
  Clock::time_point degraded_since_;
  uint64_t points_stored_ = 0, bytes_stored_ = 0;
  StoreFilesChoice files_;  // of the folder where db_ is
  int parts_ = 0;           // 0: it was not opened yet
  Clock::time_point last_commit_, last_sync_;
  Fault drain_fault_, store_fault_;
  uint64_t faults_ = 0;
  SayOnce say_once_;

  // The drain thread's own.
  uint64_t spilled_seq_ = 0;  // of the newest frame in the spill file
  uint64_t faults_noted_ = 0;
  std::deque<Event> large_taken_;
  Clock::time_point next_link_check_;

  std::unique_ptr<WriterStore> db_;  // the store thread's own
  std::mutex files_mutex_;           // of the journal's files at the end; taken before mutex_
  bool files_removed_ = false;       // guarded by files_mutex_
};

}  // namespace tracker::internal
