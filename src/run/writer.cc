// SPDX-License-Identifier: MIT
#include "run/writer.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <exception>

#include "base/clock.h"
#include "base/fs.h"
#include "journal/wipe_memory.h"
#include "run/background.h"
#include "storage/recovery.h"

namespace tracker::internal {
namespace {

constexpr std::chrono::milliseconds kRetryFirst{100}, kRetryMax{5000};
constexpr std::chrono::seconds kLinkCheckInterval{1};
constexpr uint64_t kCompactUpTo = UINT64_MAX;  // without a server all that is committed may be rearranged

}  // namespace

Writer::Writer(std::unique_ptr<Journal> journal, WriterIdentity identity, StoreTarget target)
    : journal_(std::move(journal)),
      identity_(std::move(identity)),
      target_(std::move(target)),
      last_commit_(Clock::now()),
      last_sync_(Clock::now()) {}

Writer::~Writer() {
  // A thread that never came back from a log call still holds the journal: leaving it is the only safe thing.
  if (!quiescent_) (void)const_cast<std::unique_ptr<Journal>&>(journal_).release();
}

Status Writer::start() {
  auto self = shared_from_this();
  if (!target_.problem.ok()) note_failure(target_.problem);
  const bool both = start_background_thread("trk-drain", [self] { self->drain_loop(); }) &&
                    start_background_thread("trk-store", [self] { self->store_loop(); });
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    threads_ = both ? Threads::kBoth : Threads::kNone;
  }
  changed_.notify_all();
  if (both) return {};
  journal_->set_undrained();
  return Status(Code::kIo, "cannot start a thread");
}

// One without the other is of no use: both wait until it is known.
bool Writer::may_begin() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return threads_ != Threads::kUndecided; });
  return threads_ == Threads::kBoth;
}

// --- the drain thread ---------------------------------------------------------------------------------------------

void Writer::drain_loop() {
  if (!may_begin()) return;
  next_link_check_ = Clock::now() + kLinkCheckInterval;
  for (bool last = false; !last;) {
    journal_->wait(kDrainInterval);
    try {
      last = drain_round();
      const std::lock_guard<std::mutex> guard(mutex_);
      drain_fault_.now = false;
    } catch (const std::exception& error) {
      note_fault(&drain_fault_, "trk-drain", error.what());
    } catch (...) {
      note_fault(&drain_fault_, "trk-drain", "an exception");
    }
  }
  spill_until_done();
}

// True when it was the last one.
bool Writer::drain_round() {
  if (auto pause = drain_pause_.load()) pause();
  uint64_t wanted = 0;
  bool last = false;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    last = stopping_;
    wanted = flush_wanted_;
  }
  note_faults();
  journal_->prepare_rings();  // first: a thread that fills its ring waits for this, the drain takes its time
  const bool drained = drain_once(last);
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (drained) flush_drained_ = wanted;
    drained_all_ = last;
  }
  changed_.notify_all();
  if (last) return true;
  spill_if_stuck();
  if (Clock::now() >= next_link_check_) keep_links();
  return false;
}

void Writer::keep_links() {
  // What a lost spill file held is in no ring any more: it goes into the new one. So it does when the check fails half
  // way; frames that are in the file twice are read once.
  const auto spill_again = [this] {
    const std::lock_guard<std::mutex> guard(mutex_);
    for (const auto& queued : queue_) queued->spilled = false;
  };
  next_link_check_ = Clock::now() + kLinkCheckInterval;
  try {
    if (journal_->check_links()) spill_again();
  } catch (...) {
    spill_again();
    throw;
  }
}

// The run itself says later that a background thread failed.
void Writer::note_faults() {
  uint64_t faults = 0;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    faults = faults_;
  }
  if (faults == faults_noted_) return;
  journal_->add_note(Value::Map{{"kind", "background_fault"}, {"count", static_cast<int64_t>(faults)}});
  faults_noted_ = faults;
}

void Writer::note_fault(Fault* fault, const char* thread, const char* what) noexcept {
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    ++faults_;
    fault->now = true;
    std::snprintf(fault->what, sizeof fault->what, "%s failed: %s", thread, what);
  }
  try {
    say_once_.say(thread, fmt::format("{}; logging goes on, and it tries again", fault->what));
  } catch (const std::exception&) {  // status() says it all the same
  }
  const timespec nap{0, std::chrono::nanoseconds(kRetryFirst).count()};
  ::nanosleep(&nap, nullptr);
}

// All is drained, but a stuck disk may not have taken it when the process ends: then the spill file has it, the end
// record too.
void Writer::spill_until_done() {
  for (;;) {
    try {
      const std::lock_guard<std::mutex> files(files_mutex_);
      if (files_removed_) return;
      spill_if_stuck();
    } catch (const std::exception& error) {
      note_fault(&drain_fault_, "trk-drain", error.what());
    }
    std::unique_lock<std::mutex> lock(mutex_);
    if (changed_.wait_for(lock, kDrainInterval, [&] { return done_; })) return;
  }
}

// False when nothing was looked at, because too much waits for the disk.
bool Writer::drain_once(bool last) {
  {
    // One look at both: what was logged into a ring before a large value is in this drain, what came after it in the
    // next one.
    const std::lock_guard<std::mutex> guard(mutex_);
    // The queue is full: what is not drained stays in the rings, whose own policy bounds it.
    if (!last && queue_bytes_ > kQueueBytesMax) return false;
    if (large_taken_.empty()) large_taken_.swap(large_);  // else those of a drain that failed are still to be stored
    journal_->begin_drain();
  }
  for (bool more = true; more;) {
    FrameBuilder builder;
    std::vector<RingPosition> positions;
    more = journal_->next_frame(&builder, &positions);
    if (!more) {
      for (Event& event : large_taken_)
        builder.add_event(event.type, event.step, event.has_step, event.time_us, event.payload);
      if (last) builder.add_event(EventType::kEnd, 0, false, realtime_us(), end_record_);
    }
    if (builder.empty() && positions.empty()) break;
    enqueue(builder.take(), std::move(positions));
    journal_->frame_kept();
    if (!more) forget_large();
  }
  return true;
}

// Those that were taken are in a frame.
void Writer::forget_large() {
  const std::lock_guard<std::mutex> guard(mutex_);
  for (const Event& event : large_taken_) large_bytes_ -= event.payload.size();
  large_waiting_ -= large_taken_.size();
  large_taken_.clear();
}

void Writer::enqueue(Frame frame, std::vector<RingPosition> positions) {
  frame.writer = identity_.writer;
  frame.seq = next_seq_;  // the drain thread alone counts
  auto queued = std::make_shared<Queued>();
  queued->record = {frame.seq, encode_frame(frame), std::move(positions)};
  queued->since = Clock::now();
  const std::lock_guard<std::mutex> guard(mutex_);
  queue_.push_back(queued);
  queue_bytes_ += queued->record.bytes.size();
  ++next_seq_;
  changed_.notify_all();
}

// While the database does not take frames, the spill file does, in order; then their ring space is free.
void Writer::spill_if_stuck() {
  std::vector<std::shared_ptr<Queued>> waiting;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    // Not only when nothing waits: a process that logs without a pause always has a fresh frame in the queue.
    if (journal_->spill().bytes() > 0 && spilled_seq_ <= committed_seq_) journal_->spill().clear();
    if (queue_.empty() || Clock::now() - queue_.front()->since < kStuckAfter) return;
    waiting.assign(queue_.begin(), queue_.end());
  }
  for (const std::shared_ptr<Queued>& queued : waiting) {
    if (queued->spilled) continue;
    if (!journal_->spill().append(queued->record, journal_->spill_room())) return;
    queued->spilled = true;
    spilled_seq_ = queued->record.seq;
    journal_->release(queued->record.positions);
  }
}

// --- the store thread ---------------------------------------------------------------------------------------------

void Writer::store_loop() {
  if (!may_begin()) return;
  StoreRounds rounds{kRetryFirst};
  for (bool ended = false; !ended;) {
    try {
      ended = store_round(&rounds);
      const std::lock_guard<std::mutex> guard(mutex_);
      store_fault_.now = false;
    } catch (const std::exception& error) {
      db_.reset();  // whatever it was in the middle of; the file knows what is committed
      note_fault(&store_fault_, "trk-store", error.what());
    } catch (...) {
      db_.reset();
      note_fault(&store_fault_, "trk-store", "an exception");
    }
  }
}

// True when the end is stored.
bool Writer::store_round(StoreRounds* rounds) {
  std::vector<std::shared_ptr<Queued>> batch;
  uint64_t flush = 0;
  bool last = false, beat = false, durable = false;
  {
    std::unique_lock<std::mutex> lock(mutex_);
    const auto due = [&] { return !queue_.empty() || flush_done_ < flush_drained_ || drained_all_; };
    const auto idle = rounds->unsynced
                          ? kSyncInterval - std::min<Clock::duration>(Clock::now() - last_sync_, kSyncInterval)
                          : Clock::duration(kHeartbeatInterval);
    changed_.wait_for(lock, rounds->compacting ? Clock::duration::zero() : idle, due);
    batch.assign(queue_.begin(), queue_.end());
    flush = flush_drained_;
    last = drained_all_;
    const auto now = Clock::now();
    durable =
        last || flush_done_ < flush || (now - last_sync_ >= kSyncInterval && (rounds->unsynced || !batch.empty()));
    beat = now - last_commit_ >= kHeartbeatInterval;
  }
  if (rounds->compacting && batch.empty() && !durable && !beat) {
    compact(rounds);
    return false;
  }
  if (auto pause = store_pause_.load()) pause();
  Status status;
  {
    const ForkGate inside_sqlite;
    status = open_database();
    if (status.ok() && (durable || !batch.empty())) status = commit(batch, durable);
    else if (status.ok() && beat) status = db_->heartbeat(realtime_us());
  }
  if (!status.ok()) {
    note_failure(status);
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait_for(lock, rounds->retry);
    rounds->retry = std::min(rounds->retry * 2, kRetryMax);
    return false;
  }
  rounds->retry = kRetryFirst;
  rounds->unsynced = durable ? false : rounds->unsynced || !batch.empty();
  rounds->compacting = db_->compaction_due(kCompactUpTo);
  note_success();
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    const auto now = Clock::now();
    if (durable) last_sync_ = now, flush_done_ = std::max(flush_done_, flush);
    last_commit_ = now;
  }
  changed_.notify_all();
  return last && close_database();
}

// One step, and back to the queue.
void Writer::compact(StoreRounds* rounds) {
  rounds->compacting = false;
  if (!db_) return;
  const ForkGate inside_sqlite;
  rounds->compacting = db_->compact(kCompactUpTo);
}

Status Writer::open_database() {
  if (db_) return {};
  auto store = Store::open_or_create(target_.store_path);
  if (!store.ok()) return store.status();
  auto folder = folder_of_run(*store, target_.run);
  if (!folder.ok()) return folder.status();
  store->sync(*folder);
  identity_.store = store->id();
  // Decided where the folder lies now, and once: a writer has one kind of files.
  StoreFilesChoice files = files_;
  if (parts_ == 0) files = choose_store_files(folder->path, target_.files);
  identity_.files = store_files_name(files.kind);
  identity_.file_system = files.file_system;
  auto db = open_writer_store(folder->path, identity_, files.kind);
  if (!db.ok()) return db.status();
  db_ = std::move(*db);
  const std::lock_guard<std::mutex> guard(mutex_);
  files_ = files;
  parts_ = db_->parts();
  return {};
}

Status Writer::commit(const std::vector<std::shared_ptr<Queued>>& batch, bool durable) {
  std::vector<const FrameRecord*> records;
  for (const auto& queued : batch) records.push_back(&queued->record);
  TRACKER_RETURN_IF_ERROR(db_->append_batch(records, durable, journal_->take_retired()));
  for (const auto& queued : batch) journal_->release(queued->record.positions);
  const int parts = db_->parts();
  if (parts > 1)
    say_once_.say("parts",
                  fmt::format("a reader stays in a transaction and lets the WAL of {}.db grow; the run goes on "
                              "in another file beside it",
                              identity_.writer.hex()));
  const std::lock_guard<std::mutex> guard(mutex_);
  parts_ = parts;
  for (const auto& queued : batch) {
    queue_bytes_ -= queued->record.bytes.size();
    queue_.pop_front();  // the drain thread only adds at the other end
  }
  committed_seq_ = db_->last_seq();
  points_stored_ = db_->points_stored();
  bytes_stored_ = db_->bytes_stored();
  return {};
}

// After the last frame. False when the disk refused: the loop tries again.
bool Writer::close_database() {
  Status status;
  {
    const ForkGate inside_sqlite;
    status = db_->finish();
  }
  if (status.code() == Code::kBusy || status.code() == Code::kTimeout)
    status = Status();  // a reader keeps the WAL; all is in it
  if (!status.ok()) {
    db_.reset();  // it is closed; the next try opens it again, as whatever the disk then holds
    note_failure(status);
    return false;
  }
  db_.reset();
  {
    const std::lock_guard<std::mutex> files(files_mutex_);
    files_removed_ = true;
    journal_->remove_files();
  }
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    done_ = true;
  }
  changed_.notify_all();
  return true;
}

void Writer::note_failure(const Status& status) {
  bool first = false;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    first = !degraded_;
    degraded_ = true;
    if (first) degraded_since_ = Clock::now();
    last_error_ = status.to_string();
  }
  if (first)
    say_once_.say(
        "store",
        fmt::format("the store cannot be written ({}); logging goes on in memory and is stored as soon as it can",
                    status.to_string()));
}

void Writer::note_success() {
  bool recovered = false;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    recovered = degraded_;
    degraded_ = false;
    last_error_.clear();
  }
  if (recovered) say_once_.say("store works", "the store can be written again");
}

// --- any thread -----------------------------------------------------------------------------------------------------

Code Writer::push_large(EventType type, std::string payload, int64_t step, bool has_step) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (stopping_) return Code::kClosed;
  if (large_bytes_ + payload.size() > kLargeBytesMax) return Code::kLimit;
  const size_t bytes = payload.size();
  large_.push_back({type, has_step, step, realtime_us(), std::move(payload)});
  large_bytes_ += bytes;
  ++large_waiting_;
  return Code::kOk;
}

bool Writer::has_large() const {
  const std::lock_guard<std::mutex> guard(mutex_);
  return large_waiting_ > 0;
}

bool Writer::flush(std::chrono::milliseconds timeout) {
  uint64_t mine = 0;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    mine = ++flush_wanted_;
  }
  if (threads_ == Threads::kNone) return work_here(Clock::now() + timeout, mine);
  journal_->wake();
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_for(lock, timeout, [&] { return flush_done_ >= mine || done_; });
}

Status Writer::finish(std::string end, std::chrono::milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  const bool quiescent = journal_->close();
  std::unique_lock<std::mutex> lock(mutex_);
  quiescent_ = quiescent;
  end_record_ = std::move(end);
  stopping_ = true;
  if (threads_ == Threads::kNone) {
    lock.unlock();
    if (work_here(deadline, UINT64_MAX)) return {};
    lock.lock();
  }
  journal_->wake();
  if (threads_ == Threads::kBoth && changed_.wait_for(lock, timeout, [&] { return done_; })) return {};
  return Status(Code::kTimeout, last_error_.empty() ? "the disk is slow" : last_error_,
                journal_->kind() == JournalKind::kMemory
                    ? "the journal is in private memory: what is not stored when the process ends is lost"
                    : "what was logged is safe in the journal; the next run or command stores it");
}

WriterStatus Writer::status() const {
  WriterStatus out;
  const std::lock_guard<std::mutex> guard(mutex_);
  // Stored is read before accepted, so that pending never comes out negative.
  out.points_stored = points_stored_;
  out.counts = journal_->counts();
  out.bytes_stored = bytes_stored_;
  out.degraded = degraded_ || drain_fault_.now || store_fault_.now || (threads_ == Threads::kNone && !done_);
  out.last_error = !last_error_.empty() ? last_error_
                   : drain_fault_.now   ? drain_fault_.what
                   : store_fault_.now   ? store_fault_.what
                   : out.degraded       ? "no thread can be started; flush() and finish() store what was logged"
                                        : "";
  const auto waiting = queue_.empty() ? Clock::duration::zero() : Clock::now() - queue_.front()->since;
  out.committed_lately = !out.degraded && waiting < 3 * kDrainInterval;
  out.synced_lately = !out.degraded && waiting < kSyncInterval * 3;
  out.parts = parts_;
  if (parts_ == 0) return out;
  out.files = store_files_name(files_.kind);
  out.file_system = files_.file_system;
  // What a FUSE process has taken may go with its container; only an fsync says that it has passed it on.
  if (!files_.write_is_in_kernel) out.committed_lately = false;
  return out;
}

}  // namespace tracker::internal
