// SPDX-License-Identifier: MIT
// A live journal: the rings of one writer with their definitions file, lock and spill file (docs/formats/ring.md).
//
// Three sides use it. Producers (any thread) come through hot_path.h and, off the fast path, through the functions of
// the first group. The drain thread reads, grows and replaces rings. The store thread releases what a COMMIT contains.
// Lock order: ProcessLock, then files_mutex_; defs_mutex_ and shared_mutex_ are taken alone or before those two, never
// after. prepare_mutex_: after shared_mutex_, before files_mutex_, never with ProcessLock.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/wake_event.h"
#include "codec/frame.h"
#include "journal/ring/call_cost.h"
#include "journal/ring/definitions.h"
#include "journal/ring/frame_builder.h"
#include "journal/ring/frame_record.h"
#include "journal/ring/hot_path.h"
#include "journal/ring/owner_lock.h"
#include "journal/ring/place.h"
#include "journal/ring/ring_file.h"
#include "journal/ring/ring_reader.h"
#include "journal/ring/series_names.h"
#include "journal/ring/spill.h"

namespace tracker::internal {

// Limit: metrics of a process, each type of a metric counted. Beyond it: points are dropped and counted ("too many
// metrics").
constexpr uint32_t kSeriesMax = 262'144;

constexpr std::chrono::milliseconds kProgressAge{500};  // without a commit for so long the disk counts as stuck
constexpr int64_t kBurstRefill = 100;                   // 1 ns of waiting for so many of the run's

enum class RingUse;  // ring_room.h
enum class OnFull { kWait, kDrop, kBlock };

struct JournalOptions {
  std::string kind;  // "" | "shm" | "disk" | "memory"
  std::string store_path;
  OnFull on_full = OnFull::kWait;
  // Limit: time of a log call that finds its ring full, with none of that left. Beyond it: the newest point is dropped
  // and counted.
  std::chrono::nanoseconds wait_call{10'000'000};
  // Limit: time of such log calls together, until space is released. Beyond it: the newest point is dropped and
  // counted.
  std::chrono::nanoseconds wait_total{100'000'000};
  // While the store makes progress (kProgressAge) a call waits longer, out of what all calls together have: wall time
  // while at least one thread waits, refilled at 1 % of the run's time (kBurstRefill).
  // Limit: time of all log calls that find their ring full while the store makes progress, refilled at 1 % of the run's
  // time. Beyond it: wait_call and wait_total hold.
  std::chrono::nanoseconds wait_burst{2'000'000'000};
  // Limit: time of a log call that finds its ring full while the store makes progress. Beyond it: the newest point is
  // dropped and counted.
  std::chrono::nanoseconds wait_burst_call{250'000'000};
  uint64_t first_ring_bytes = kFirstRingBytes;
  uint64_t ring_bytes_max = kRingBytesMax;
  uint64_t budget_bytes = 0;  // 0: what the place allows
  uint32_t rings_max = kRingsMax;
  TimeAnchor (*read_clock)() = read_anchor;  // of each drain; tests step it
};

struct JournalCounts {
  uint64_t accepted = 0;  // points published since open
  uint64_t dropped = 0;   // points counted as lost before they were published, kRejected not among them
  uint64_t rejected = 0;
  uint64_t bytes = 0;    // rings and spill file
  uint64_t damaged = 0;  // of accepted: points whose record did not verify
  // The same of texts, which are in none of the above.
  uint64_t texts_accepted = 0, texts_dropped = 0, texts_damaged = 0;
  uint64_t entries_dropped = 0;  // of config, summary and the like, which are in none of the above either
};

// Points by series id; index 0: of no series in particular.
struct PointCounts {
  uint64_t stored = 0, dropped = 0, pending = 0;
};
class SeriesCounts {
 public:
  PointCounts& at(uint32_t series) {
    if (series >= counts_.size()) counts_.resize(series + size_t{1});
    return counts_[series];
  }
  PointCounts of(uint32_t series) const { return series < counts_.size() ? counts_[series] : PointCounts(); }

 private:
  std::vector<PointCounts> counts_;
};

class Journal {
 public:
  // Opens a journal for `identity` (whose journal_dir and journal fields it fills) and connects it to `hot`. Falls back
  // from shm to disk to private memory; fails only when not even that can be had.
  static Result<std::unique_ptr<Journal>> open(const JournalOptions& options, WriterIdentity* identity, HotRun* hot);
  ~Journal();

  // --- producers: any thread, between begin_use and end_use (JournalUse) -----------------------------------------
  uint32_t series_id(std::string_view name,
                     ValueType type);  // 0 above kSeriesMax or when the definition cannot be written
  Code log_pairs(const ValuePair* pairs, size_t count, int64_t step, bool has_step, uint64_t before = 0);
  // Both wait for room as on_full says, and while a WaitScope of the thread lets them (wait_scope.h).
  // kLimit: no room, counted as dropped, as a text after the end is (kClosed). kUnsupported: larger than this ring
  // takes (ring_event_max); the caller has it still.
  Code log_event(EventType type, std::string_view payload, int64_t step, bool has_step);
  // A text that was accepted and is too large for a ring: a recoverer will not find it, but that there was one.
  void count_unfiled_text();
  void count_committed_texts(uint64_t count);                           // of these
  void count_loss(uint32_t series, LossReason reason, uint64_t count);  // or kTextLosses, kEntryLosses
  // Texts given to count_loss() with the reason of texts that were accepted and lost: a sum of those, as a recovery
  // makes it (JournalEnd::texts), counts these among the accepted ones.
  uint64_t texts_refused_for_disk() const { return texts_refused_.load(std::memory_order_relaxed); }
  void raise_step(int64_t step);  // of something logged that is in no ring: the next automatic step is larger

  // --- the drain thread ------------------------------------------------------------------------------------------
  void wake() { event_.wake(); }
  bool wait(std::chrono::nanoseconds timeout) { return event_.wait(timeout); }
  // Reads the state of all rings once: what is published now is what the following next_frame calls yield.
  void begin_drain();
  // The next part of it into `builder` (definitions first) with the positions reached. False when all is read.
  bool next_frame(FrameBuilder* builder, std::vector<RingPosition>* positions);
  // The frame of the last next_frame is in safe hands. Without this the next begin_drain yields its records again.
  void frame_kept() noexcept;
  // Before a frame with this number is kept anywhere: all rings say that it is taken. Cost: a store a ring.
  void say_number(uint64_t number);
  // Something that happened to the recording, for the next frame.
  void add_note(Value note) { notes_.push_back(std::move(note)); }
  void prepare_rings();  // next ring for producers past half fill, and for calls that one does not hold
  void leave_memory();   // a ring that was no file, because there was no room, becomes one
  // The store has taken a batch: until kProgressAge from now a full ring waits out of wait_burst.
  void note_progress() { progress_at_ns_.store(monotonic_ns(), std::memory_order_relaxed); }
  // The store is full: from now on points are dropped and counted, what is in the rings stays. Cost: a lock.
  void set_refusing(bool on);
  // No ring may hold more than this at once (at least kFirstRingBytes), and none grows beyond it; UINT64_MAX: all it
  // has. What is in them already stays. Cost: a lock.
  void set_room(uint64_t bytes);
  // Bytes in rings and not released; `room` > 0: with what they would take until then, at most so much each.
  uint64_t waiting_bytes(uint64_t room) const;
  // There is no drain thread: a producer whose ring is full makes the next one itself, and waits for nothing.
  void set_undrained() { undrained_.store(true); }
  // Wall time as the rows of this journal have it (hold() below), of something logged now that is in no ring.
  int64_t now_us();
  // The same of something logged at `tick`, after begin_drain: in one order with the records of that drain.
  int64_t wall_us(uint64_t tick) const { return times_->wall_us(tick); }
  // Each round: the lock is ours, or is again (owner_lock.h). False: another process recovers this journal, or may
  // begin to, as the lock's descriptor is closed: then check_links() makes another lock.
  bool hold_lock();
  bool lacks_lock() const { return lock_ != nullptr && !lock_->is_open(); }
  // No process recovers this journal, nor has: what is spilled now will be found.
  bool may_spill() { return hold_lock() && (lock_ == nullptr || lock_->in_place()); }
  // How often another process may have recovered this journal: it held the lock, or could have taken it because our OFD
  // lock was gone. The rows it stored can end within a frame that was in no spill file. confirm() with the epoch read
  // before the store was examined says that the store holds none of them. The epoch is raised after we have the lock
  // again: a recoverer that it counts has ended.
  uint64_t recovery_epoch() const { return recovery_epoch_.load(); }
  void confirm(uint64_t epoch) { confirmed_epoch_.store(epoch); }
  bool is_confirmed() const { return confirmed_epoch_.load() == recovery_epoch_.load(); }
  // Another process has replayed this journal up to `stored` and is done: what lies after it is drained again, with the
  // definitions above `defined`, and what was reported as lost and is not in `stored`.
  void rewind(const std::vector<RingPosition>& stored, uint32_t defined);
  // The run of this journal, where open() was given none: a recoverer finds it from here on. Not ok: as before.
  Status set_run(const WriterIdentity& identity);
  // Each second: replaces what a logout unlinked. True when the spill file was among it: what it held must be spilled
  // again.
  bool check_links();

  // --- the store thread (and the drain thread for the spill file) ------------------------------------------------
  void release(const std::vector<RingPosition>& positions);
  std::vector<uint64_t> take_retired();  // nonces of rings that are gone: their positions may be forgotten
  SpillFile& spill() { return spill_; }
  uint64_t spill_room() const;  // bytes that the spill file may have in all right now

  // --- the end -----------------------------------------------------------------------------------------------------
  // From now on every producer is refused. True when none is inside any more (bounded wait): then all that was
  // published stays as it is. False: a thread is stopped inside a call; the journal must then never be destroyed.
  bool close();
  // What finish() has said: it ends the run where the end itself finds no way into the store. Cost: a write(2) to
  // tmpfs.
  Status keep_end(JournalEnd end);
  void remove_files();  // everything is committed
  // After both, when no producer is inside: releases descriptors and the memory of rings; the counts stay. A run that
  // has ended may be held for as long as its process lives.
  void let_go();

  JournalCounts counts() const;
  // Adds what was dropped, and what is in the rings and not drained. The caller keeps frame_kept() from being called
  // meanwhile. Cost: a pass over the bytes that wait; producers that have to change rings wait for it.
  void account(SeriesCounts* counts) const;
  std::vector<SeriesDef> definitions() const;
  std::vector<uint32_t> known_ids(std::string_view name) const;           // of all types; empty: never logged
  uint64_t bytes() const { return file_bytes_.load() + spill_.bytes(); }  // of rings and spill file
  uint64_t call_ns() const;                                               // in calls that log, see call_cost.h
  void add_sample(const HotRing* ring, uint64_t bytes, uint64_t ticks);   // of the thread whose ring it is
  bool survives_process() const { return place_.kind != JournalKind::kMemory && memory_rings_ == 0; }
  JournalKind kind() const { return place_.kind; }
  const std::string& why() const { return place_.why; }

 private:
  friend class JournalUse;
  friend void release_places_of_thread(void* list);
  // A producer's place and its ring files.
  struct Seat {
    HotRing* hot = nullptr;
    RingFile* current = nullptr;              // written by the producer side at a switch
    std::atomic<RingFile*> pending{nullptr};  // prepared by the drain thread, not yet taken
    std::atomic<RingFile*> newest{nullptr};   // current, or the pending one
    std::atomic<uint64_t> wanted_bytes{0};    // of the call that is being logged, where it is a large one
    CallCost cost;                            // the producer's
  };
  struct HeldFile {
    std::unique_ptr<RingFile> file;
    Seat* seat = nullptr;
    std::atomic<bool> abandoned{false};  // its producer has moved on: retire it when drained and released
  };
  struct Taken {
    RingFile* file;
    uint64_t position, points, texts;
    uint64_t damaged, texts_damaged;
  };
  enum class RingTry { kFirst, kAgain, kLast };  // of a call to find room
  struct TakenLoss {
    RingFile* file;
    size_t slot;
    uint64_t count;
  };

  Journal(const JournalOptions& options, JournalPlace place, HotRun* hot);
  Status make_files();
  Status make_defs(const std::string& made_in, std::unique_ptr<DefinitionsFile>* out);
  Status replace_lost_files();
  Status replace_defs(const std::string& made_in);
  Status make_defs_anew(Status why);
  Status append_def(const SeriesDef& series, uint64_t room);
  Status make_first_ring();
  Result<RingFile*> add_file(Seat* seat, uint64_t bytes, bool private_memory);
  Seat* attach_thread();        // under ProcessLock
  Seat* new_seat(bool shared);  // under ProcessLock
  void seat_thread(Seat* seat, uintptr_t thread);
  template <typename Write>
  Code produce(Seat* seat, uintptr_t owner, RingUse use, uint64_t need, RingTry which, const Write& write);
  template <typename Body>
  Code with_ring(const Body& body);
  Code log_part(Seat* seat, uintptr_t owner, const ValuePair* pairs, size_t count, int64_t step, bool has_step,
                uint64_t tick, uint32_t flags, uint64_t before, RingTry which);
  bool prepare(Seat* only);
  bool prepare_ring_of(Seat* seat);
  uint64_t next_ring_bytes(uint64_t bytes, uint64_t wanted) const;
  bool switch_ring(Seat* seat);
  void look_ahead(Seat* seat);
  void make_producers_look();
  void replace_unlinked_rings();
  bool is_unfiled(const RingFile& file) const { return file.path().empty() && !dir_.empty(); }
  void count_unfiled(uint64_t points);
  void count_no_room(Seat* seat, uint32_t series);
  uint64_t used_of(uint64_t size) const { return std::min(size, room_.load(std::memory_order_relaxed)); }
  bool may_spend_burst(int64_t now);
  void spend_burst(int64_t from, int64_t until);
  bool wait_for_space(Seat* seat, std::chrono::nanoseconds* waited);
  TimeAnchor hold(TimeAnchor read);  // under files_mutex_
  void install(Seat* seat, RingFile* file);
  void retire_files();
  void say_unfiled_texts();
  uint64_t accepted_in_retired() const { return retired_counts_.accepted - retired_unfiled_; }
  void say_rings_held(const RingFile* leaving);
  void announce_leaving(RingFile& leaving);
  void abandon(RingFile* file);
  void drain_losses(RingFile* file, FrameBuilder* builder, std::vector<RingPosition>* positions);
  RingSpan read_between(RingFile* file, uint64_t from, uint64_t to);
  void skip_damage(RingSpan* span, RingFile* file, FrameBuilder* builder, Taken* taken);
  static void add_dropped(const LossSlot& slot, JournalCounts* counts);

  const JournalOptions options_;
  JournalPlace place_;
  std::string dir_;  // set by open() and never again
  HotRun* const hot_;
  WriterIdentity identity_;  // likewise, but for what set_run() sets under defs_mutex_
  std::atomic<uint32_t> users_{0};
  std::atomic<bool> closed_{false}, undrained_{false}, refusing_{false};
  std::atomic<uint64_t> texts_refused_{0};
  std::atomic<uint64_t> room_{UINT64_MAX};  // of each ring
  std::atomic<uint32_t> memory_rings_{0};
  std::atomic<int64_t> wait_left_ns_;
  std::atomic<int64_t> progress_at_ns_{INT64_MIN / 2};
  std::mutex burst_mutex_;
  int64_t burst_left_ns_, burst_at_ns_;  // guarded by burst_mutex_: what is left, and until when it has been reckoned
  WakeEvent event_;
  std::vector<std::unique_ptr<Seat>> seats_;  // guarded by ProcessLock
  std::vector<Seat*> free_seats_;             // guarded by ProcessLock
  Seat* shared_seat_ = nullptr;               // guarded by ProcessLock; its ring by shared_mutex_
  std::mutex shared_mutex_;
  std::mutex prepare_mutex_;  // who makes the next rings; taken before files_mutex_

  mutable std::mutex files_mutex_;
  std::vector<std::unique_ptr<HeldFile>> files_;
  std::atomic<uint64_t> file_bytes_{0};
  JournalCounts retired_counts_;   // accepted, dropped and rejected of rings that are gone; guarded by files_mutex_
  uint64_t retired_unfiled_ = 0;   // of the accepted there: in rings that were no files; guarded by files_mutex_
  uint64_t accepted_unfiled_ = 0;  // in all of those; guarded by files_mutex_
  uint64_t highest_number_ = 0;    // that a frame was given; guarded by files_mutex_
  std::atomic<uint64_t> texts_unfiled_{0};
  uint64_t texts_committed_ = 0;                 // of these; guarded by files_mutex_
  std::vector<uint64_t> retired_;                // guarded by files_mutex_
  std::map<uint64_t, uint64_t> retired_losses_;  // by the key of a loss slot; guarded by files_mutex_
  // What the clock said last, what was made of it, and how far that is ahead; guarded by files_mutex_.
  TimeAnchor heard_, held_;
  int64_t ahead_ns_ = 0;
  SpillFile spill_;

  mutable std::mutex defs_mutex_;
  SeriesNames series_;
  std::unique_ptr<DefinitionsFile> defs_file_;
  std::optional<JournalEnd> end_;  // guarded by defs_mutex_
  std::unique_ptr<OwnerLock> lock_;

  // The drain thread's own.
  std::vector<RingSpan> spans_;
  std::vector<HeldFile*> span_files_;
  std::unique_ptr<TimeLine> times_;
  TimeAnchor last_anchor_, now_;  // of the last drain that was read to its end, and of the one that goes on
  TimeAnchor clock_;              // what the clock itself said at the last drain
  uint32_t defs_drained_ = 0, defs_taken_ = 0;  // ids up to here
  std::vector<Taken> taken_;                    // by the frame that is being made
  std::vector<TakenLoss> taken_losses_;
  SeriesTable series_drained_;  // the drain thread alone
  bool losses_pending_ = false;
  std::vector<Value> notes_;  // things that happened to the recording, for the next frame
  uint64_t rings_replaced_ = 0;
  std::atomic<uint64_t> recovery_epoch_{0}, confirmed_epoch_{0};
  std::atomic<uint64_t> damaged_points_{0}, damaged_texts_{0};
};

// Keeps the journal of `run` alive during one call off the fast path. `get()` is null in a forked child, after close,
// and on runs that record nothing; then no lock was taken.
class JournalUse {
 public:
  explicit JournalUse(HotRun* run);
  ~JournalUse();
  JournalUse(const JournalUse&) = delete;
  JournalUse& operator=(const JournalUse&) = delete;
  Journal* get() const { return journal_; }

 private:
  Journal* journal_ = nullptr;
};

}  // namespace tracker::internal
