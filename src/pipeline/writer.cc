// SPDX-License-Identifier: MIT
#include "pipeline/writer.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>

#include "base/clock.h"
#include "base/fs.h"
#include "pipeline/background.h"
#include "storage/database/writer_parts.h"
#include "storage/recovery/recovery.h"
#include "storage/store/run_folder.h"
#include "storage/store/share_store.h"

namespace tracker::internal {
namespace {

constexpr std::chrono::milliseconds kRetryFirst{100}, kRetryMax{5000};
constexpr std::chrono::seconds kRunFileCheckInterval{1};

}  // namespace

Writer::Writer(std::unique_ptr<Journal> journal, WriterIdentity identity, StoreTarget target)
    : journal_(std::move(journal)),
      identity_(std::move(identity)),
      target_(std::move(target)),
      disk_credit_(target_.max_disk / kDiskShare),
      began_(Clock::now()),
      await_until_(began_ + target_.await_max),
      last_commit_(Clock::now()),
      last_sync_(Clock::now()),
      drained_(Clock::now()),
      disk_(target_.max_disk) {}

Writer::~Writer() {
  // A thread that never came back from a log call still holds the journal: leaving it is the only safe thing.
  if (!quiescent_) (void)const_cast<std::unique_ptr<Journal>&>(journal_).release();
}

void Writer::abandon() {
  quiescent_ = journal_->close();
  journal_->remove_files();
}

Status Writer::start() {
  auto self = shared_from_this();
  if (!target_.problem.ok() && !target_.find_run) note_failure(target_.problem);
  else journal_->note_progress();  // of a disk that has answered init
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

// --- the store thread ---------------------------------------------------------------------------------------------

void Writer::store_loop() {
  if (!may_begin()) return;
  StoreRounds rounds;
  rounds.retry = rounds.sync_retry = kRetryFirst;
  try {
    look_at_disk();
  } catch (const std::exception&) {  // the first round looks again
  }
  for (bool ended = false; !ended;) {
    try {
      ended = store_round(&rounds);
      note_cost(&store_cpu_ns_);
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

// The oldest frames that wait, as many as one transaction takes: of a long backlog a disk that fails half way, or a
// kill, keeps what was committed.
Writer::Batch Writer::next_batch(const StoreRounds& rounds) {
  Batch out;
  std::unique_lock<std::mutex> lock(mutex_);
  const auto due = [&] { return !queue_.empty() || flush_done_ < flush_drained_ || drained_all_ || disk_look_wanted_; };
  auto idle = Clock::duration(disk_room() == DiskRoom::kEnough ? heartbeat_interval() : kDiskLookInterval);
  if (const auto at = sync_due(rounds); at && queue_.empty())
    idle = std::max(*at + kSyncAhead - kSyncAheadAlone - Clock::now(), Clock::duration::zero());
  changed_.wait_for(lock, rounds.compacting ? Clock::duration::zero() : idle, due);
  size_t bytes = 0;
  for (const auto& queued : queue_) {
    bytes += queued->record.bytes.size();
    out.whole = out.frames.empty() || bytes <= kCommitBytesMax;
    if (!out.whole) break;
    out.frames.push_back(queued);
  }
  out.flush = out.whole ? flush_drained_ : flush_done_;
  out.last = out.whole && drained_all_;
  const auto now = Clock::now();
  const auto sync = sync_due(rounds);
  out.durable = out.last || flush_done_ < out.flush ||
                (sync && now >= (out.frames.empty() ? *sync + kSyncAhead - kSyncAheadAlone : *sync));
  out.beat = now - last_commit_ >= heartbeat_interval();
  return out;
}

// Frames that got new numbers while the spill file has them under the old ones are stored together, or not at all: else
// a recoverer could not tell which of them are.
void Writer::take_all_frames(Batch* batch) {
  const std::lock_guard<std::mutex> guard(mutex_);
  batch->frames.assign(queue_.begin(), queue_.end());
}

// Under mutex_: when a commit is to have an fsync; none where nothing waits for one. By the age of the oldest row, so
// that a power cut costs a second and that fsync; who logs more seldom has one with each commit. A disk that takes long
// for one has as long to itself, up to a second: else nothing but fsyncs went on, and each took 4 MiB at the most.
std::optional<Writer::Clock::time_point> Writer::sync_due(const StoreRounds& rounds) const {
  auto oldest = rounds.unsynced;
  if (!queue_.empty()) oldest = std::min(oldest.value_or(Clock::time_point::max()), queue_.front()->logged_since);
  if (!oldest) return std::nullopt;
  const auto wanted = std::min(*oldest + kSyncInterval - kSyncAhead, last_sync_ + kSyncInterval);
  return std::max(wanted, last_sync_ + std::min<Clock::duration>(sync_took_, kSyncInterval));
}

// True when the end is stored.
bool Writer::store_round(StoreRounds* rounds) {
  Batch batch = next_batch(*rounds);
  const bool any = !batch.frames.empty(), durable = batch.durable, beat = batch.beat;
  if (rounds->compacting && !any && !durable && !beat) {
    compact(rounds);
    return false;
  }
  if (auto pause = store_pause_.load()) pause();
  if (!run_is_known()) return wait_for_run();
  const uint64_t doubts = journal_->doubts();
  look_at_disk();
  const auto begun = Clock::now();
  if (db_ && db_->change() != PartChange::kNone) leave_part();
  Status status = left_.change == PartChange::kNone ? Status() : plan_next_part();
  if (status.ok()) status = open_database();
  if (status.ok() && db_->kind() == StoreFiles::kFrames) {
    // Nothing in the file itself keeps two processes apart, as locks do with a database: whoever recovers this run has
    // the lock of its journal, and until that is free again nothing is appended.
    const std::lock_guard<std::mutex> drain(drain_mutex_);
    if (!hold_journal()) status = Status(Code::kBusy, "another process recovers this run");
  }
  if (status.ok() && !opening_.empty()) take_all_frames(&batch);
  if (status.ok() && (durable || beat)) db_->set_cost(encode_cbor(cost_value(cost())));
  if (status.ok() && (durable || any)) status = commit(batch);
  else if (status.ok() && beat) status = db_->heartbeat(realtime_us());
  if (!status.ok()) {
    // The next round continues in the next part; on a disk that fails an fsync not at once, for it may fail the next
    // one.
    const PartChange change = db_ ? db_->change() : PartChange::kNone;
    if (change != PartChange::kNone && change != PartChange::kSyncFailed) return false;
    note_failure(status);
    if (wait_after_failed_sync(rounds)) return false;
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait_for(lock, rounds->retry);
    rounds->retry = std::min(rounds->retry * 2, kRetryMax);
    return false;
  }
  rounds->retry = kRetryFirst;
  if (durable) rounds->sync_retry = kRetryFirst;
  if (durable) rounds->unsynced.reset();
  else if (any && !rounds->unsynced) rounds->unsynced = batch.frames.front()->logged_since;
  // A .frames file is looked at when it is synced; a database with each commit of frames.
  if (db_ && (db_->kind() == StoreFiles::kFrames ? durable : any)) journal_->settle(doubts);
  if (db_ && (any || durable || beat)) keep_run_file(batch.last);
  rounds->compacting = db_ && db_->compaction_due(durable_seq_);
  note_success();
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    const auto now = Clock::now();
    if (durable) sync_took_ = now - begun, last_sync_ = now, flush_done_ = std::max(flush_done_, batch.flush);
    if (durable) unsynced_since_.reset();
    else if (any && !unsynced_since_) unsynced_since_ = now;
    if (durable || beat || any) last_commit_ = now;
  }
  changed_.notify_all();
  if (!batch.last) return false;
  if (close_database()) return true;
  (void)wait_after_failed_sync(rounds);
  return false;
}

// Whole, whatever wakes this thread: each try costs a part.
bool Writer::wait_after_failed_sync(StoreRounds* rounds) {
  if (!db_ || db_->change() != PartChange::kSyncFailed) return false;
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait_for(lock, rounds->sync_retry, [] { return false; });
  rounds->sync_retry = std::min(rounds->sync_retry * 2, kRetryMax);
  return true;
}

// One step, and back to the queue.
void Writer::compact(StoreRounds* rounds) {
  rounds->compacting = false;
  if (!db_) return;
  rounds->compacting = db_->compact(durable_seq_);
}

Status Writer::open_database() {
  if (db_) return {};
  auto store = Store::open_or_create(target_.store_path, identity_.store);
  if (!store.ok()) return store.status();
  auto folder = folder_of_run(*store, target_.run, identity_.writer);
  if (!folder.ok()) return folder.status();
  store->sync(*folder);
  identity_.store = store->id();
  // Decided where the folder lies now, and once: a writer has one kind of files.
  StoreFilesChoice files = files_;
  if (parts_ == 0) files = choose_store_files(folder->path, target_.files);
  identity_.files = store_files_name(files.kind);
  identity_.file_system = files.file_system;
  WriterIdentity identity = identity_;
  identity.part = part_;
  identity.before = part_before_;
  auto db = open_writer_store(folder->path, identity, files.kind);
  if (db.status().code() == Code::kCorrupt) {
    const std::string path = join_path(folder->path, identity_.writer.hex() + ".db");
    leave_unreadable_part(part_path(files.kind == StoreFiles::kFrames ? frames_path_of(path) : path, part_));
  }
  if (!db.ok()) return db.status();
  // Opened again after a failure, and another program changed it meanwhile. A next part is empty until its first
  // commit.
  if (opening_.empty() && (*db)->last_seq() < committed_seq_) {
    left_ = {PartChange::kRolledBack, (*db)->path(), {}, committed_seq_};
    return Status(Code::kIo, fmt::format("{} {}", left_.path, part_change_text(left_.change)));
  }
  publish_folder(*folder);
  db_ = std::move(*db);
  if (disk_.max_bytes() > 0) db_->set_disk_gate([this] { return disk_has_room(); });
  const std::lock_guard<std::mutex> guard(mutex_);
  files_ = files;
  parts_ = part_;
  return {};
}

// Writes run.json again where another program has removed it: readers find the run by its name through this file
// alone. The database holds the identity too, so a failure is ignored.
void Writer::keep_run_file(bool now) {
  if (!now && Clock::now() < next_run_file_check_) return;
  next_run_file_check_ = Clock::now() + kRunFileCheckInterval;
  const std::string path = join_path(parent_path(db_->path()), kRunFile);
  if (path_exists(path) || !is_directory(parent_path(path))) return;
  const auto launch = identity_.attempt <= 1 ? std::optional(identity_.launch) : std::nullopt;
  const RunFolder* folder = folder_.load();
  if (create_file_exclusive(path, run_document(folder != nullptr ? folder->identity : target_.run, launch), 0666).ok())
    say_once_.say("run file", fmt::format("{} was removed while the run is recorded; it was put back", path));
}

// Whoever has asked keeps what he was given, so all of them stay: one more only where the label or the place changed.
void Writer::publish_folder(const RunFolder& folder) {
  const RunFolder* now = folder_.load();
  if (now != nullptr && now->path == folder.path && now->identity.id == folder.identity.id) return;
  folders_.push_back(std::make_unique<const RunFolder>(folder));
  folder_.store(folders_.back().get(), std::memory_order_release);
}

// A ring may be gone as soon as all of it is spilled: its position is forgotten with the frames, not before.
Status Writer::commit(const Batch& batch) {
  std::vector<const FrameRecord*> records;
  for (const FrameRecord& record : opening_) records.push_back(&record);
  for (const auto& queued : batch.frames) records.push_back(&queued->record);
  // After a failed fsync frames that wait keep numbers below those of the state frames.
  std::sort(records.begin(), records.end(), [](const FrameRecord* a, const FrameRecord* b) { return a->seq < b->seq; });
  const std::vector<uint64_t> retired = batch.whole ? journal_->take_retired() : std::vector<uint64_t>();
  TRACKER_RETURN_IF_ERROR(db_->append_batch(records, batch.durable, retired));
  positions_ = db_->positions();
  if (db_->durable_seq() > durable_seq_.load()) durable_seq_.store(db_->durable_seq(), std::memory_order_release);
  opening_.clear();
  journal_->note_progress();
  for (const auto& queued : batch.frames) journal_->release(queued->record.positions);
  uint64_t large_texts = 0;
  for (const auto& queued : batch.frames) large_texts += queued->large_texts;
  if (large_texts > 0) journal_->count_committed_texts(large_texts);
  const std::lock_guard<std::mutex> guard(mutex_);
  const bool was_full = queue_is_full();
  for (const auto& queued : batch.frames) {
    // What cannot fail comes first: a frame that stays in the queue is counted again by the next try.
    queue_bytes_ -= queued->record.bytes.size();
    queue_.pop_front();  // the drain thread only adds at the other end
    count_stored(*queued);
    defined_ = std::max(defined_, queued->defined);
  }
  if (was_full && !queue_is_full()) journal_->wake();  // the drain left off for that
  committed_seq_ = db_->last_seq();
  return {};
}

// After the last frame. False when the disk refused: the loop tries again.
bool Writer::close_database() {
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    closing_ = true;
  }
  Status status = db_->finish();
  if (status.code() == Code::kBusy || status.code() == Code::kTimeout)
    status = Status();  // a reader keeps the WAL; all is in it
  if (!status.ok()) {
    if (db_->change() != PartChange::kNone) return false;  // the next round continues in the next part
    db_.reset();                                           // it is closed; the next try opens it again
    note_failure(status);
    return false;
  }
  db_.reset();
  for (const std::string& path : pinned_parts_) settle_part(path);
  end_journal();
  return true;
}

// Nothing of it is needed any more.
void Writer::end_journal() {
  {
    const std::lock_guard<std::mutex> files(files_mutex_);
    files_removed_ = true;
    journal_->remove_files();
    if (quiescent()) journal_->let_go();
  }
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    done_ = true;
  }
  changed_.notify_all();
}

void Writer::note_failure(const Status& status) {
  const Status way = with_way_into(status, target_.store_path);
  bool first = false;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    first = !degraded_;
    degraded_ = true;
    if (first) degraded_since_ = Clock::now();
    last_error_ = way.to_string();
    is_newer_ = status.code() == Code::kVersion;
    is_forbidden_ = way.code() == Code::kIo && way.hint() == way_into(target_.store_path);
  }
  if (first && status.code() == Code::kVersion)
    say_once_.say(
        "store", fmt::format("this version of tracker cannot write the store ({}); what is logged {}", status.message(),
                             journal_->kind() == JournalKind::kMemory
                                 ? "is kept in memory, within its bound, and is lost when the process ends"
                                 : "waits in the journal, within its bound, for a newer one to store it"));
  else if (first)
    say_once_.say(
        "store",
        fmt::format("the store cannot be written ({}); what is logged waits in {} and is stored as soon as it can",
                    way.to_string(), journal_->kind() == JournalKind::kMemory ? "memory" : "the journal"));
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

Code Writer::push_large(EventType type, std::string payload, int64_t step, bool has_step, bool at_end,
                        bool* store_behind) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (stopping_) return Code::kClosed;
  const size_t bytes = payload.size();
  const bool is_console = type == EventType::kConsole;
  if (large_bytes_ + bytes > kLargeBytesMax) return Code::kLimit;
  // Config, summary and the like are few, and worth more than a text beside a flood of numbers.
  const bool is_text = type == EventType::kText || type == EventType::kMedia;
  if (is_text && large_bytes_ + bytes > kWaitingBytesEach && waiting_bytes() + bytes > kWaitingBytesMax) {
    if (store_behind != nullptr) *store_behind = true;
    return Code::kLimit;
  }
  if (is_console && !at_end && large_bytes_ + bytes + large_waiting_ * sizeof(LargeEvent) > kConsoleWaitingBytesMax)
    return Code::kLimit;
  const uint64_t kept = is_text || is_console ? 0 : (kDiskReserve - kDiskEndReserve) / 2;
  if (disk_.max_bytes() > 0 && bytes > disk_credit_ + kept) return Code::kLimit;
  large_.push_back({{type, has_step, step, 0, std::move(payload)}, ticks()});
  large_bytes_ += bytes;
  ++large_waiting_;
  if (type == EventType::kText) ++large_texts_;
  return Code::kOk;
}

bool Writer::has_large() const {
  const std::lock_guard<std::mutex> guard(mutex_);
  return large_waiting_ > 0;
}

bool Writer::flush(std::chrono::milliseconds timeout, const std::function<bool()>& keep_waiting) {
  const auto deadline = Clock::now() + timeout;
  uint64_t mine = 0;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    mine = ++flush_wanted_;
  }
  if (threads_ == Threads::kNone) return false;
  journal_->wake();
  const auto done = [&] { return flush_done_ >= mine || done_; };
  std::unique_lock<std::mutex> lock(mutex_);
  if (!keep_waiting) return changed_.wait_until(lock, deadline, done);
  while (!changed_.wait_until(lock, std::min(deadline, Clock::now() + kFlushAskInterval), done)) {
    if (Clock::now() >= deadline) return false;
    lock.unlock();
    if (!keep_waiting()) return false;
    lock.lock();
  }
  return true;
}

Status Writer::finish(std::string end, std::chrono::milliseconds timeout) {
  const bool quiescent = journal_->close();
  uint64_t large_texts = 0;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    large_texts = large_texts_;
  }
  // The end record goes into the journal first, which needs no thread, no disk and no free room in a ring. Where this
  // fails only the store can hold the end. The drain thread writes a journal on a disk; this call waits for it no
  // longer than `timeout`.
  JournalEnd kept{journal_->now_us(),
                  journal_->counts().texts_accepted + journal_->texts_refused_for_disk() + large_texts, end};
  const bool on_disk = journal_->kind() == JournalKind::kDisk && threads_ == Threads::kBoth;
  if (!on_disk) (void)journal_->keep_end(std::move(kept));
  std::unique_lock<std::mutex> lock(mutex_);
  if (on_disk)
    end_to_keep_ = std::move(kept);  // NOLINT(bugprone-use-after-move): it was moved only where this is false
  quiescent_ = quiescent;
  end_record_ = std::move(end);
  stopping_ = true;
  await_until_ = std::min(await_until_, Clock::now() + timeout / 4 * 3);  // the rest is for what is stored then
  journal_->wake();
  if (threads_ == Threads::kBoth && changed_.wait_for(lock, timeout, [&] { return done_; })) return {};
  if (closing_ && last_error_.empty())
    return Status(Code::kTimeout, "the database is not closed yet: the disk is slow, or another program reads it",
                  "all that was accepted is stored; the next run or command closes it");
  const char* const reason = threads_ == Threads::kNone ? "no thread could be started" : "the disk is slow";
  return Status(Code::kTimeout, last_error_.empty() ? reason : last_error_,
                journal_->kind() == JournalKind::kMemory
                    ? "the journal is in private memory: what is not stored when the process ends is lost"
                : !last_error_.empty() && is_newer_
                    ? "what was accepted waits in the journal; the next run or command of a newer tracker stores it"
                : !last_error_.empty() && is_forbidden_
                    ? "what was accepted is safe in your journal: your next run or command stores it, once you may "
                      "write there; no other user's can"
                    : "what was accepted is safe in the journal; the next run or command stores it");
}

}  // namespace tracker::internal
