// SPDX-License-Identifier: MIT
#include "pipeline/store_thread.h"

#include <fmt/format.h>

#include <exception>

#include "base/clock.h"
#include "base/fs.h"

namespace tracker::internal {

using std::chrono::steady_clock;

StoreThread::StoreThread(Pipeline* pipeline, DrainThread* drain, RunFiles* files, const Id128& writer,
                         const StoreTarget& target)
    : pipeline_(*pipeline),
      journal_(*pipeline->journal),
      queue_(pipeline->queue),
      drain_(*drain),
      files_(*files),
      writer_(writer),
      pace_{target.awaited, steady_clock::now()},
      await_until_(pace_.began + target.await_max) {}

void StoreThread::run() {
  if (!pipeline_.wait_started()) return;
  times_.last_commit = times_.last_sync = steady_clock::now();
  try {
    measure_disk();
  } catch (const std::exception&) {  // the first round does it again
  }
  for (bool ended = false; !ended;) {
    try {
      ended = round();
      pipeline_.meter.note_store();
      pipeline_.health.end_fault(WriterHealth::Thread::kStore);
    } catch (const std::exception& error) {
      files_.drop();
      pipeline_.health.note_fault(WriterHealth::Thread::kStore, error.what());
    } catch (...) {
      files_.drop();
      pipeline_.health.note_fault(WriterHealth::Thread::kStore, "an exception");
    }
  }
}

// Of a long backlog a disk that fails half way, or a kill, keeps what was committed.
FrameBatch StoreThread::next_batch() {
  queue_.wait_for_work(compacting_ ? Duration::zero()
                                   : idle_time(times_, pace_, pipeline_.disk.room(), steady_clock::now()));
  FrameBatch out = queue_.batch();
  out.round = next_round(times_, pace_, out.work, steady_clock::now());
  return out;
}

// True when the end is stored, or the run was given up.
bool StoreThread::round() {
  FrameBatch batch = next_batch();
  if (compacting_ && batch.is_idle()) {
    compacting_ = files_.is_open() && files_.part()->compact(files_.durable_seq());  // one step, and back to the queue
    return false;
  }
  if (auto pause = pause_.load()) pause();
  if (!find_run()) return wait_for_run();
  const uint64_t epoch = journal_.recovery_epoch();
  measure_disk();
  const TimePoint begun = steady_clock::now();
  Status status = prepare_files(&batch);
  if (status.ok()) status = store(batch);
  if (!status.ok()) {
    // The next round continues in the next part; on a disk that fails an fsync not at once, for it may fail the next
    // one.
    const PartChange change = files_.change();
    if (change != PartChange::kNone && change != PartChange::kSyncFailed) return false;
    pipeline_.health.note_failure(status);
    if (!wait_after_failed_sync()) queue_.wait(retry_.take());
    return false;
  }
  note_stored(batch, begun, epoch);
  if (!batch.work.last) return false;
  if (close_files()) return true;
  (void)wait_after_failed_sync();
  return false;
}

Status StoreThread::prepare_files(FrameBatch* batch) {
  if (files_.change() != PartChange::kNone) files_.leave_part(queue_.committed_seq());
  if (files_.has_left()) TRACKER_RETURN_IF_ERROR(plan_next_part());
  const DiskGate gate = pipeline_.disk.max_bytes() > 0 ? DiskGate([this] { return disk_has_room(); }) : DiskGate();
  TRACKER_RETURN_IF_ERROR(files_.open(queue_.committed_seq(), gate));
  // Nothing in a .frames file itself keeps two processes apart, as locks do with a database: a process that recovers
  // this run has the lock of its journal, and until that is free again nothing is appended.
  if (files_.part()->kind() == StoreFiles::kFrames && !drain_.hold_journal())
    return Status(Code::kBusy, "another process recovers this run");
  // Frames that got new numbers while the spill file has them under the old ones are stored together, or not at all:
  // else a recoverer could not know which of them are.
  if (files_.begins_part()) batch->frames = queue_.all();
  return {};
}

Status StoreThread::store(const FrameBatch& batch) {
  const StoreRound& now = batch.round;
  if (now.durable || now.beat) files_.part()->set_cost(encode_cbor(cost_value(pipeline_.cost())));
  if (now.durable || batch.work.oldest) return commit(batch);
  return now.beat ? files_.part()->heartbeat(realtime_us()) : Status();
}

// A ring may be gone as soon as all of it is spilled: its position is forgotten with the frames, not before.
Status StoreThread::commit(const FrameBatch& batch) {
  std::vector<const FrameRecord*> records;
  uint64_t large_texts = 0;
  for (const FramePtr& frame : batch.frames) {
    records.push_back(&frame->record);
    large_texts += frame->large_texts;
  }
  const std::vector<uint64_t> retired = batch.whole ? journal_.take_retired() : std::vector<uint64_t>();
  TRACKER_RETURN_IF_ERROR(files_.append(std::move(records), batch.round.durable, retired));
  journal_.note_progress();
  for (const FramePtr& frame : batch.frames) journal_.release(frame->record.positions);
  if (large_texts > 0) journal_.count_committed_texts(large_texts);
  const bool was_full = pipeline_.queue_is_full();
  queue_.remove_stored(batch, files_.part()->last_seq());
  if (was_full && !pipeline_.queue_is_full()) journal_.wake();  // the drain left off for that
  return {};
}

void StoreThread::note_stored(const FrameBatch& batch, TimePoint begun, uint64_t epoch) {
  const bool any = batch.work.oldest.has_value();
  retry_.reset();
  if (batch.round.durable) sync_retry_.reset();
  // A .frames file is checked when it is synced; a database with each commit of frames.
  if (files_.part()->kind() == StoreFiles::kFrames ? batch.round.durable : any) journal_.confirm(epoch);
  if (!batch.is_idle()) files_.keep_run_file(batch.work.last);
  compacting_ = files_.part()->compaction_due(files_.durable_seq());
  pipeline_.health.note_success();
  note_round(batch.round, batch.work, begun, steady_clock::now(), &times_);
  queue_.note_round(batch);
}

// Whole, whatever wakes this thread: each try costs a part.
bool StoreThread::wait_after_failed_sync() {
  if (files_.change() != PartChange::kSyncFailed) return false;
  queue_.wait_whole(sync_retry_.take());
  return true;
}

// After the last frame. False when the disk refused: the next round tries again.
bool StoreThread::close_files() {
  pipeline_.closing = true;
  if (const Status status = files_.finish(); !status.ok()) {
    if (!files_.is_open()) pipeline_.health.note_failure(status);  // else the next round continues in the next part
    return false;
  }
  end_journal();
  return true;
}

void StoreThread::end_journal() {
  drain_.remove_journal();
  queue_.set_done();
}

// --- the disk -------------------------------------------------------------------------------------------------------

// What is in the rings now may be in the queue before the next measurement, and the rings full again.
DiskWaiting StoreThread::waiting_for_disk() const {
  const uint64_t now = pipeline_.inbox.large_bytes() + queue_.bytes() + journal_.waiting_bytes(0);
  return {2 * (now + journal_.waiting_bytes(UINT64_MAX)), 2 * (now + journal_.waiting_bytes(kDiskRingRoom))};
}

// Before each commit: whether producers may go on, once what waits is stored.
void StoreThread::measure_disk() {
  DiskLimit& disk = pipeline_.disk;
  if (disk.max_bytes() == 0) return;
  const uint64_t in_rings = journal_.waiting_bytes(0);
  const auto measure = [&] {
    return disk.measure(files_.store_path(), files_.run_path(),
                        files_.is_open() ? files_.part()->path() : std::string(), waiting_for_disk());
  };
  DiskRoom room = measure();
  if (disk.narrow() && files_.is_open() && steady_clock::now() >= next_shrink_) {
    files_.part()->shrink();
    disk.own_has_changed();
    next_shrink_ = steady_clock::now() + kDiskLookInterval;
    room = measure();
  }
  journal_.set_room(disk.narrow() ? kDiskRingRoom : UINT64_MAX);
  journal_.set_refusing(room != DiskRoom::kEnough);
  queue_.set_disk_credit(in_rings + disk.credit());
  if (room != DiskRoom::kEnough)
    pipeline_.warnings.warn_once(
        "max_disk",
        fmt::format("the store has reached max_disk ({} MiB; {} MiB are taken, a WAL counted twice, {} MiB "
                    "are on their way and {} MiB are kept for the end): new points are dropped and counted until "
                    "there is room; tracker rm and tracker gc --max-disk make some",
                    disk.max_bytes() >> 20, disk.used() >> 20, waiting_for_disk().narrow >> 20, kDiskReserve >> 20));
}

// Of several runs that end at the bound each has found the same room free.
bool StoreThread::disk_has_room() {
  measure_disk();
  return pipeline_.disk.reserve_is_free();
}

}  // namespace tracker::internal
