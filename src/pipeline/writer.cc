// SPDX-License-Identifier: MIT
#include "pipeline/writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "pipeline/background.h"

namespace tracker::internal {

Writer::Writer(std::unique_ptr<Journal> journal, WriterIdentity identity, const StoreTarget& target)
    : identity_(std::move(identity)),
      pipeline_(std::move(journal), target),
      files_(identity_, target, &pipeline_.warnings),
      drain_(&pipeline_, identity_),
      store_(&pipeline_, &drain_, &files_, identity_.writer, target) {
  if (!target.problem.ok() && !target.find_run) pipeline_.health.note_failure(target.problem);
}

void Writer::abandon() {
  pipeline_.quiescent = pipeline_.journal->close();
  pipeline_.journal->remove_files();
}

Status Writer::start() {
  auto self = shared_from_this();
  if (!pipeline_.health.read().degraded) pipeline_.journal->note_progress();  // of a disk that has answered init
  const bool both = start_background_thread("trk-drain", [self] { self->drain_.run(); }) &&
                    start_background_thread("trk-store", [self] { self->store_.run(); });
  pipeline_.threads = both ? Pipeline::Threads::kBoth : Pipeline::Threads::kNone;
  pipeline_.threads.notify_all();
  if (both) return {};
  pipeline_.journal->set_undrained();
  return Status(Code::kIo, "cannot start a thread");
}

void Writer::set_pause_for_testing(void (*drain)(), void (*store)()) {
  drain_.set_pause_for_testing(drain);
  store_.set_pause_for_testing(store);
}

// --- what passes through no ring ------------------------------------------------------------------------------------

Code Writer::push_large(EventType type, std::string payload, int64_t step, bool has_step, bool at_end,
                        bool* store_behind) {
  LargeValue value{type, payload.size(), at_end};
  value.disk_credit = pipeline_.disk.max_bytes() > 0 ? pipeline_.queue.disk_credit() : UINT64_MAX;
  const auto answer =
      pipeline_.inbox.push_large({{type, has_step, step, 0, std::move(payload)}}, value, pipeline_.waiting());
  if (answer == DrainInbox::Answer::kTaken) return Code::kOk;
  if (answer == DrainInbox::Answer::kClosed) return Code::kClosed;
  if (answer == DrainInbox::Answer::kNoSharedRoom && store_behind != nullptr) *store_behind = true;
  return Code::kLimit;
}

bool Writer::take_disk(uint64_t bytes) { return pipeline_.disk.max_bytes() == 0 || pipeline_.queue.take_disk(bytes); }

void Writer::push_sample(const std::vector<NamedValue>& values) {
  if (disk_room() != DiskRoom::kEnough) return;  // none is taken: no point of the program is lost by it
  Sample sample{journal()->now_us(), {}};
  size_t left_out = 0;
  for (const NamedValue& each : values) {
    const uint32_t id = journal()->series_id(each.name, ValueType::kFloat64);
    if (id == 0) ++left_out;
    else sample.pairs.push_back({bits_of(each.value), id, 0});
  }
  pipeline_.queue.add_sample_series(sample.pairs);
  const size_t pairs = sample.pairs.size();
  const auto answer = pipeline_.inbox.push_sample(std::move(sample));
  if (answer == DrainInbox::Answer::kClosed) return;
  // No points of the program: its account does not have them.
  if (answer != DrainInbox::Answer::kTaken) left_out += pairs;
  if (left_out > 0 && !samples_left_out_.exchange(true)) push_note(Value::Map{{"kind", "samples_left_out"}});
}

// What finds no room is an entry lost, as a config value would be. The store thread prints that a store is full.
void Writer::push_fact(EventType type, std::string payload) {
  if (pipeline_.inbox.is_closed()) return;
  LossReason reason = LossReason::kMaxDisk;
  if (type != EventType::kEnvironment || disk_room() != DiskRoom::kOnlyTheEnd) {
    if (pipeline_.inbox.push_fact(type, std::move(payload)) != DrainInbox::Answer::kNoRoom) return;
    reason = pipeline_.queue_is_full() ? LossReason::kDisk : LossReason::kTooLarge;
    pipeline_.warnings.warn_once(
        "facts", fmt::format("more than {} MiB of what the run says of its surroundings wait to be stored; further "
                             "facts are dropped and counted",
                             kFactsBytesMax >> 20));
  }
  journal()->count_loss(kEntryLosses, reason, 1);
}

// --- flush and finish -----------------------------------------------------------------------------------------------

bool Writer::flush(std::chrono::milliseconds timeout, const std::function<bool()>& keep_waiting) {
  const TimePoint deadline = std::chrono::steady_clock::now() + timeout;
  const uint64_t flush = pipeline_.queue.ask_flush();
  if (pipeline_.threads == Pipeline::Threads::kNone) return false;
  journal()->wake();
  return pipeline_.queue.wait_flushed(flush, deadline, keep_waiting);
}

Status Writer::finish(std::string end, std::chrono::milliseconds timeout) {
  Journal& journal = *pipeline_.journal;
  pipeline_.quiescent = journal.close();
  pipeline_.inbox.close();
  const bool has_threads = pipeline_.threads == Pipeline::Threads::kBoth;
  // The end record goes into the journal first, which needs no thread, no disk and no free room in a ring. Where this
  // fails only the store can hold the end. The drain thread writes a journal on a disk; this call waits for it no
  // longer than `timeout`.
  std::optional<JournalEnd> kept = JournalEnd{
      journal.now_us(),
      journal.counts().texts_accepted + journal.texts_refused_for_disk() + pipeline_.inbox.large_texts(), end};
  if (journal.kind() != JournalKind::kDisk || !has_threads) {
    (void)journal.keep_end(std::move(*kept));
    kept.reset();
  }
  // The rest of the time is for what is stored then.
  store_.end_await_by(std::chrono::steady_clock::now() + timeout / 4 * 3);
  pipeline_.queue.stop(std::move(end), std::move(kept));
  journal.wake();
  if (has_threads && pipeline_.queue.wait_done(timeout)) return {};
  const WriterHealth::Reading health = pipeline_.health.read();
  const std::string& error = health.store_error;
  if (pipeline_.closing && error.empty())
    return Status(Code::kTimeout, "the database is not closed yet: the disk is slow, or another program reads it",
                  "all that was accepted is stored; the next run or command closes it");
  const char* const reason = has_threads ? "the disk is slow" : "no thread could be started";
  return Status(Code::kTimeout, error.empty() ? reason : error,
                journal.kind() == JournalKind::kMemory
                    ? "the journal is in private memory: what is not stored when the process ends is lost"
                : !error.empty() && health.is_newer
                    ? "what was accepted waits in the journal; the next run or command of a newer tracker stores it"
                : !error.empty() && health.is_forbidden
                    ? "what was accepted is safe in your journal: your next run or command stores it, once you may "
                      "write there; no other user's can"
                    : "what was accepted is safe in the journal; the next run or command stores it");
}

// --- the account ----------------------------------------------------------------------------------------------------

// A point is in a ring until its frame is in the queue, and there until it is stored: each of the three is counted at a
// moment when none moves from one to the next.
SeriesCounts Writer::series_counts() const {
  SeriesCounts out;
  const auto still = pipeline_.queue.hand_over();
  pipeline_.inbox.add_pending(&out);
  pipeline_.queue.add_counts(&out);
  pipeline_.journal->account(&out);
  return out;
}

WriterStatus Writer::status() const {
  WriterStatus out;
  const WriterHealth::Reading health = pipeline_.health.read();
  const bool large_waiting = has_large();  // before the queue: a large value goes from here to there
  const FrameQueue::Reading queue = pipeline_.queue.read(large_waiting);
  out.points_stored = queue.points_stored;
  out.texts_stored = queue.texts_stored;
  out.counts = queue.counts;
  out.counts.damaged += queue.points_removed;  // these too were accepted and are lost
  out.counts.texts_accepted += pipeline_.inbox.large_texts();
  out.counts.texts_damaged += queue.texts_removed;
  out.bytes_stored = queue.bytes_stored;
  const bool no_threads = pipeline_.threads == Pipeline::Threads::kNone && !queue.done;
  out.degraded = health.degraded || health.fault || no_threads;
  out.last_error = !health.store_error.empty() ? health.store_error
                   : health.fault              ? health.fault_text
                   : out.degraded ? "no thread can be started; the next command stores what fits the journal"
                                  : health.lost_text;
  out.gave_up = health.gave_up;
  out.committed_lately = !out.degraded && queue.uncommitted < kCommitLate;
  out.synced_lately = !out.degraded && std::max(queue.uncommitted, queue.unsynced) < kSyncInterval * 3;
  const RunFiles::Opened opened = files_.opened();
  out.parts = opened.parts;
  if (opened.parts == 0) return out;
  out.files = store_files_name(opened.files.kind);
  out.file_system = opened.files.file_system;
  // What a FUSE process has taken may go with its container; only an fsync says that it has passed it on.
  if (!opened.files.write_is_in_kernel) out.committed_lately = false;
  return out;
}

}  // namespace tracker::internal
