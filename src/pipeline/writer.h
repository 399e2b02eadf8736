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
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "journal/live/journal.h"
#include "journal/ring/block_pool.h"
#include "pipeline/disk_limit.h"
#include "pipeline/run_cost.h"
#include "pipeline/say.h"
#include "storage/log/event_state.h"
#include "storage/store/store.h"
#include "storage/writer/store_files.h"

namespace tracker::internal {

struct WriterSnapshot;

constexpr std::chrono::milliseconds kFlushAskInterval{50};  // of flush(), whether to wait on: a signal is seen so late
// Limit: time from a log call to its commit (P1). Beyond it: the death of the container costs these points.
constexpr std::chrono::milliseconds kDrainInterval{100};
// Limit: time from a log call to the start of its fsync (P1). Beyond it: a loss of power costs these points.
constexpr std::chrono::milliseconds kSyncInterval{1000};
// How long before the oldest unsynced frame reaches kSyncInterval its fsync starts (decision 0048): together with the
// last commit before that moment, or alone where nothing more is logged. The rest is for a thread that is late.
constexpr std::chrono::milliseconds kSyncAhead{150};
constexpr std::chrono::milliseconds kSyncAheadAlone{50};
constexpr std::chrono::seconds kHeartbeatInterval{15};
// While other ranks may be waiting to see that this one lives, and how long they do.
constexpr std::chrono::seconds kAwaitedHeartbeat{1};
// Limit: time that a rank waits for the run of rank 0. Beyond it: what it logged is dropped and counted, reported.
constexpr std::chrono::minutes kRunAwaitMax{10};
// Between two looks for the run that a rank waits for.
constexpr std::chrono::milliseconds kAwaitLookFirst{50};
constexpr std::chrono::milliseconds kAwaitLookMax{1000};
// Limit: bytes of encoded frames that wait for the disk. Beyond it: the points stay in the rings.
constexpr size_t kQueueBytesMax = 16 * 1024 * 1024;
// Limit: bytes of rings, encoded frames and large texts that wait for the disk. Beyond it: rings are read no further;
// large texts and media are dropped and counted (store not writable).
constexpr size_t kWaitingBytesMax = 40 * 1024 * 1024;
constexpr size_t kWaitingBytesEach = 4 * 1024 * 1024;  // of frames and of texts, whatever the others have
// Limit: bytes of texts and config values above 64 KiB that wait to become a frame. Beyond it: dropped and counted.
constexpr size_t kLargeBytesMax = 16 * 1024 * 1024;
// Limit: bytes of waiting texts and config values up to which lines of output are still taken. Beyond it: lines are not
// recorded, and a mark counts them.
constexpr size_t kConsoleWaitingBytesMax = 4 * 1024 * 1024;
constexpr size_t kCommitBytesMax = 4 * 1024 * 1024;  // of waiting frames in one transaction, unless the first is larger
// Limit: samples of the system that wait for the drain thread. Beyond it: left out, and the run has a note of it.
constexpr size_t kSamplesWaitingMax = 256;
// Limit: bytes of facts of the environment that wait for the drain thread. Beyond it: left out and counted as entries
// lost, reported once.
constexpr size_t kFactsBytesMax = 8 * 1024 * 1024;
constexpr uint64_t kSeriesMemoryBytes = 300;  // what a metric takes in all tables together, as measured
// Limit: time since the last commit after which status() names the container no more.
constexpr std::chrono::milliseconds kCommitLate{300};
constexpr std::chrono::milliseconds kStuckAfter{200};  // a commit that takes longer lets the spill file step in

// What a rank joins.
struct JoinedRun {
  RunIdentity run;
  int64_t attempt = 1;
};

// Where the run is to be stored. The store may not exist yet, or not be writable: it is tried again until it is.
struct StoreTarget {
  std::string store_path;
  RunIdentity run;
  Status problem;              // why init could not open it; ok when it could
  std::string files = "auto";  // TRACKER_STORE_FILES
  uint64_t max_disk = 0;       // bytes of the store; 0: no bound
  // Of a rank that waits for the run of rank 0, whose `run` is none yet: finds it, or nothing while it is not there.
  // Called by the store thread. `waiting`: who waits, for a message.
  std::function<std::optional<JoinedRun>(const Store&)> find_run = nullptr;
  std::string waiting = {};
  std::chrono::milliseconds await_max = kRunAwaitMax;
  bool awaited = false;  // other ranks wait for this run
};

struct WriterStatus {
  JournalCounts counts;
  uint64_t points_stored = 0, texts_stored = 0;
  uint64_t bytes_stored = 0;
  bool degraded = false;
  std::string last_error;
  // Of what was logged until now nothing waits for its commit longer than kCommitLate, nor for that and its fsync
  // longer than 3 s: the promises for container and power hold.
  bool committed_lately = false, synced_lately = false;
  std::string files;        // "sqlite", "frames"; empty before the store was opened
  std::string file_system;  // what they lie on: "NFS", "local", …
  int parts = 0;            // files the database has gone on in
  std::string gave_up;      // the run that this rank was to record into was not found: nothing is recorded any more
};

struct SigtermMark;  // pipeline/sigterm.h

uint64_t thread_cpu_ns();               // of the calling thread
Value cost_value(const RunCost& cost);  // docs/formats/records.md

struct NamedValue {
  std::string name;  // of a series
  double value = 0;
};

// Points of one series in a frame.
struct SeriesPoints {
  uint32_t series = 0, points = 0;
};
std::vector<SeriesPoints> points_by_series(const Frame& frame);
uint64_t dropped_points(const std::vector<Loss>& losses);

class Writer : public std::enable_shared_from_this<Writer> {
 public:
  Writer(std::unique_ptr<Journal> journal, WriterIdentity identity, StoreTarget target);
  ~Writer();
  // Starts both threads. kIo when the system does not give two (a limit on processes): then none runs, what fits the
  // rings waits in the journal for the next command, the rest is counted, and flush() and finish() return at once.
  Status start();
  // Instead of finish(), when the run does not begin: nothing of the journal is left.
  void abandon();

  Journal* journal() { return journal_.get(); }
  const WriterIdentity& identity() const { return identity_; }
  const std::string& store_path() const { return target_.store_path; }
  // The run's folder, once the store could be opened: where it could not when the run began, its label may have been
  // taken meanwhile. Null before. What it points to lives as long as this. Threads: any.
  const RunFolder* folder() const { return folder_.load(std::memory_order_acquire); }

  // A value too large for a ring: queued in memory, committed within the next intervals. kLimit: over the bound,
  // counted; in `store_behind` whether over the one that it shares with rings and frames. `at_end`: lines of output may
  // take all of it.
  Code push_large(EventType type, std::string payload, int64_t step, bool has_step, bool at_end = false,
                  bool* store_behind = nullptr);
  // Before a file of so many bytes is written beside the databases. False: max_disk has no room for it now.
  bool take_disk(uint64_t bytes);
  bool has_large() const;  // some of those still wait for the drain thread
  // From the run's monitor, any thread; nothing of it waits. Samples that find no room are said by a note, facts are
  // counted as entries lost. A sample is one row without a step; `payload` is that of an environment event.
  void push_sample(const std::vector<NamedValue>& values);
  void push_environment(std::string payload);
  void push_note(Value note);
  // Set once; the drain thread records a SIGTERM that it tells of. It lives as long as the process.
  void watch_sigterm(const SigtermMark* mark) { sigterm_.store(mark, std::memory_order_release); }
  void add_monitor_cpu(uint64_t ns) { monitor_cpu_ns_.fetch_add(ns); }
  // False at the time-out, or when `keep_waiting` says so, which is asked each kFlushAskInterval without a lock.
  bool flush(std::chrono::milliseconds timeout, const std::function<bool()>& keep_waiting = {});
  // Ends the log with `end` (CBOR of an end record), commits, turns the database into plain files. kTimeout: the
  // threads go on by themselves and the journal stays, so nothing is lost.
  Status finish(std::string end, std::chrono::milliseconds timeout);
  WriterStatus status() const;
  RunCost cost() const;
  DiskRoom disk_room() const { return disk_.room(); }
  // By series id, all at one moment. Cost: a pass over what waits in rings and queue; the drain thread waits for it.
  SeriesCounts series_counts() const;

  // The frames up to this one are fsynced, so they may be sent; it never falls. Threads: any.
  uint64_t durable_seq() const { return durable_seq_.load(std::memory_order_acquire); }

  // For tests of F8 and F18: called by the drain and the store thread before each round.
  void set_pause_for_testing(void (*drain)(), void (*store)()) { drain_pause_ = drain, store_pause_ = store; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Queued {
    FrameRecord record;
    std::vector<SeriesPoints> points;
    uint64_t texts = 0;
    uint64_t large_texts = 0;  // of these; they were in no ring
    uint64_t dropped = 0;      // points that it counts as lost
    uint32_t defined = 0;      // the newest series that the frame defines; 0: none
    Clock::time_point since;
    Clock::time_point logged_since;  // nothing in it was logged before
    bool spilled = false;            // it is in the spill file
    bool was_spilled = false;        // it was: its ring space is free
  };

  // Values of the system at one moment.
  struct Sample {
    int64_t time_us = 0;
    std::vector<ValuePair> pairs;
  };
  // Too large for a ring.
  struct LargeEvent {
    Event event;
    uint64_t tick = 0;  // when it was logged; 0: its time is known
  };
  // Large events that a frame has while it is made, without a second copy of their bytes: they go back to their lenders
  // with this, whether the frame was kept or not.
  class LentEvents {
   public:
    LentEvents(std::deque<LargeEvent>* lenders, size_t count, bool by_time, Frame* frame);
    ~LentEvents();
    LentEvents(const LentEvents&) = delete;
    LentEvents& operator=(const LentEvents&) = delete;

   private:
    void swap() noexcept;
    std::deque<LargeEvent>& lenders_;
    Frame& frame_;
    std::vector<size_t> places_;
  };
  // What a background thread threw. Text without an allocation: there may be no memory.
  struct Fault {
    bool now = false;
    char what[128] = "";
  };
  // What one round of the store thread stores.
  struct Batch {
    std::vector<std::shared_ptr<Queued>> frames;
    bool whole = true;   // nothing else waits
    uint64_t flush = 0;  // this flush is done with it
    bool last = false, beat = false, durable = false;
  };
  // What the store thread carries from round to round.
  struct StoreRounds {
    std::chrono::milliseconds retry{0}, sync_retry{0};  // after a failure, and after a failed fsync
    std::optional<Clock::time_point> unsynced;          // what is committed and not synced was logged since then
    bool compacting = false;                            // there is work for idle time
  };

  void drain_loop();
  bool drain_round();
  void keep_links();
  bool hold_journal();
  void note_faults();
  void note_sigterm();
  void say_memory_ring();
  void store_loop();
  Batch next_batch(const StoreRounds& rounds);
  void take_all_frames(Batch* batch);
  std::optional<Clock::time_point> sync_due(const StoreRounds& rounds) const;
  bool store_round(StoreRounds* rounds);
  bool wait_after_failed_sync(StoreRounds* rounds);
  void compact(StoreRounds* rounds);
  void look_at_disk();
  bool disk_has_room();
  DiskWaiting waiting_for_disk() const;
  bool may_drain();
  Clock::duration uncommitted_for() const;
  bool may_begin();
  void note_fault(Fault* fault, const char* thread, const char* what) noexcept;
  bool drain_once(bool last);
  void take_large();
  bool queue_is_full() const;
  size_t waiting_bytes() const;
  size_t large_until(int64_t newest) const;
  bool keep_large(bool last);
  void keep(Frame frame, std::vector<RingPosition> positions, size_t large, bool last_of_drain);
  void forget_large(size_t count);
  void spill_until_done();
  void enqueue(Frame* made, std::vector<RingPosition> positions, uint64_t large_texts, bool last_of_drain);
  void push_fact(EventType type, std::string payload);
  void take_monitored();
  void add_monitored(FrameBuilder* builder) const;
  void forget_monitored();
  void take_samples_back(const Frame& frame, const WriterSnapshot& there);
  uint64_t samples_stored() const;
  void spill_if_stuck();
  void count_stored(const Queued& queued);
  void publish_folder(const RunFolder& folder);
  void note_cost(std::atomic<uint64_t>* cpu_ns);
  void note_memory(const Frame& frame, size_t bytes);
  Status commit(const Batch& batch);
  Status open_database();
  void keep_run_file(bool now);
  bool run_is_known();
  bool wait_for_run();
  void give_up_run();
  void end_journal();
  std::chrono::seconds heartbeat_interval() const;
  void leave_part();
  void leave_unreadable_part(const std::string& path);
  Status plan_next_part();
  PartsBefore counts_before(const WriterSnapshot& there, bool foreign) const;
  Logged count_gone(const WriterSnapshot& there);
  void take_over_counts(const WriterSnapshot& there, std::vector<Event> stored);
  void note_state(const std::vector<Event>& events);
  Status renumber_queue(uint64_t first);
  std::vector<Frame> state_frames(const Logged& gone, bool foreign, const WriterSnapshot& there);
  void note_failure(const Status& status);
  void note_success();
  bool close_database();
  bool quiescent() const {
    const std::lock_guard<std::mutex> guard(mutex_);
    return quiescent_;
  }

  const std::unique_ptr<Journal> journal_;
  WriterIdentity identity_;
  StoreTarget target_;      // which run it is: the store thread's, which learns it where this rank waits for it
  bool quiescent_ = false;  // no producer is inside the journal any more
  std::atomic<void (*)()> drain_pause_{nullptr}, store_pause_{nullptr};

  std::mutex drain_mutex_;             // a round of the drain thread; taken before hand_over_mutex_
  Clock::time_point next_link_check_;  // guarded by drain_mutex_

  mutable std::mutex hand_over_mutex_;  // while a frame goes from the rings to the queue; taken before mutex_

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Queued>> queue_;  // drained, not yet committed; in sequence order
  size_t queue_bytes_ = 0;
  uint64_t disk_credit_;  // bytes that may go from the rings to the queue before the next look at the disk
  bool disk_look_wanted_ = false;
  std::deque<LargeEvent> large_;
  size_t large_bytes_ = 0, large_waiting_ = 0;  // with those that the drain thread has, not yet in a frame
  uint64_t large_texts_ = 0;                    // all that were ever taken
  std::deque<Sample> samples_, samples_taken_;  // not yet in a frame; taken: by the drain that goes on
  std::atomic<const SigtermMark*> sigterm_{nullptr};
  std::atomic<bool> samples_left_out_{false};  // some were, and the run says so
  std::deque<Event> facts_, facts_taken_;      // of the environment, as samples_
  size_t facts_bytes_ = 0;
  std::vector<std::unique_ptr<const RunFolder>> folders_;  // of the store thread; each that folder() has named
  std::atomic<const RunFolder*> folder_{nullptr};
  std::set<uint32_t> sample_series_;  // the series of samples
  enum class Threads { kUndecided, kBoth, kNone } threads_ = Threads::kUndecided;
  uint64_t next_seq_ = 1;
  uint64_t committed_seq_ = 0;
  std::atomic<uint64_t> durable_seq_{0};
  uint64_t flush_wanted_ = 0, flush_drained_ = 0, flush_done_ = 0;
  bool stopping_ = false, drained_all_ = false, done_ = false;
  Clock::time_point began_, await_until_;  // how long a rank waits for its run
  std::string gave_up_;
  bool closing_ = false;  // all is stored and fsynced; the database is about to be closed
  std::string end_record_;
  Status finish_status_;
  std::string last_error_;
  bool is_newer_ = false;      // it is that the store is of a newer version
  bool is_forbidden_ = false;  // this user may not write there
  bool degraded_ = false;
  Clock::time_point degraded_since_;
  uint64_t points_stored_ = 0, texts_stored_ = 0, bytes_stored_ = 0;
  std::vector<uint64_t> stored_by_series_;   // points, by series id
  EventState state_;                         // what was said of the run, as far as it is drained
  uint64_t dropped_stored_ = 0;              // points that committed frames count as lost
  uint32_t defined_ = 0;                     // series up to this one are defined by committed frames
  std::vector<uint64_t> removed_by_series_;  // points whose file was removed, by series id
  uint64_t points_removed_ = 0, texts_removed_ = 0;
  std::string lost_text_;   // what went with a part; empty: nothing did
  StoreFilesChoice files_;  // of the folder where db_ is
  int parts_ = 0;           // 0: it was not opened yet
  Clock::time_point last_commit_, last_sync_;
  Clock::duration sync_took_{0};                     // the last one, with its commit
  Clock::time_point drained_;                        // the last time that all rings were
  std::optional<JournalEnd> end_to_keep_;            // in a journal on a disk; the drain thread does it
  Clock::time_point logged_since_;                   // of the drain thread: what it takes now was not logged before
  std::optional<Clock::time_point> unsynced_since_;  // the first commit after the last fsync
  Fault drain_fault_, store_fault_;
  uint64_t faults_ = 0;
  SayOnce say_once_{target_.run};
  bool in_memory_ = false;  // a ring is no file, as of the last round; the drain thread's own

  // The drain thread's own.
  uint64_t spilled_seq_ = 0;  // of the newest frame in the spill file
  uint64_t faults_noted_ = 0;
  bool sigterm_noted_ = false;
  std::deque<LargeEvent> large_taken_;  // by time
  BlockPool spare_blocks_;

  // The store thread's own.
  std::unique_ptr<WriterStore> db_;
  int part_ = 1;  // that is written
  PartsBefore part_before_;
  // The part that this writer has left, until plan_next_part() plans the next one.
  struct LeftPart {
    PartChange change = PartChange::kNone;
    std::string path;
    std::vector<FrameRecord> again;  // committed frames that the next part stores again
    uint64_t seq = 0;                // number of the newest frame that stays in this part
  };
  LeftPart left_;
  std::vector<std::string> pinned_parts_;
  Clock::time_point next_shrink_, next_run_file_check_, next_look_;
  std::chrono::milliseconds look_pause_ = kAwaitLookFirst;
  std::vector<RingPosition> positions_;  // up to which the committed frames hold the rings
  std::vector<FrameRecord> opening_;     // the first frames of a next part
  std::atomic<uint64_t> drain_cpu_ns_{0}, store_cpu_ns_{0}, monitor_cpu_ns_{0};
  std::atomic<uint64_t> bytes_written_{0}, memory_max_{0};

  DiskLimit disk_;

  std::mutex files_mutex_;      // of the journal's files at the end; taken before mutex_
  bool files_removed_ = false;  // guarded by files_mutex_
};

}  // namespace tracker::internal
