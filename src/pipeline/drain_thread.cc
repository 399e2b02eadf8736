// SPDX-License-Identifier: MIT
#include "pipeline/drain_thread.h"

#include <fmt/format.h>

#include <exception>

#include "base/fs.h"
#include "pipeline/sigterm.h"

namespace tracker::internal {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kLinkCheckInterval{1};

}  // namespace

DrainThread::DrainThread(Pipeline* pipeline, const WriterIdentity& identity)
    : pipeline_(*pipeline),
      journal_(*pipeline->journal),
      queue_(pipeline->queue),
      inbox_(pipeline->inbox),
      writer_(identity.writer),
      journal_dir_(identity.journal_dir) {}

void DrainThread::run() {
  if (!pipeline_.wait_started()) return;
  {
    const Guard one(mutex_);
    next_link_check_ = steady_clock::now() + kLinkCheckInterval;
  }
  for (bool last = false; !last;) {
    journal_.wait(kDrainInterval);
    try {
      last = round();
      pipeline_.meter.note_drain(pipeline_.cost().memory_bytes);
      pipeline_.health.end_fault(WriterHealth::Thread::kDrain);
    } catch (const std::exception& error) {
      pipeline_.health.note_fault(WriterHealth::Thread::kDrain, error.what());
    } catch (...) {
      pipeline_.health.note_fault(WriterHealth::Thread::kDrain, "an exception");
    }
  }
  spill_until_done();
}

// True when it was the last one.
bool DrainThread::round() {
  if (auto pause = pause_.load()) pause();
  const Guard one(mutex_);
  const TimePoint begun = steady_clock::now();
  FrameQueue::Marks marks = queue_.take_marks();
  if (marks.kept) (void)journal_.keep_end(std::move(*marks.kept));
  note_faults();
  note_sigterm();
  (void)holds_journal();
  journal_.prepare_rings();  // first: a thread that fills its ring waits for this, the drain takes its time
  note_memory_ring();
  journal_.leave_memory();
  queue_.note_drained(marks, begun, drain(marks.last));
  if (marks.last) return true;
  spill_if_stuck();
  if (steady_clock::now() >= next_link_check_) keep_links();
  return false;
}

// The run itself records later that a background thread failed.
void DrainThread::note_faults() {
  const uint64_t faults = pipeline_.health.faults();
  if (faults == faults_noted_) return;
  journal_.add_note(Value::Map{{"kind", "background_fault"}, {"count", static_cast<int64_t>(faults)}});
  faults_noted_ = faults;
}

void DrainThread::note_sigterm() {
  const SigtermMark* mark = sigterm_.load(std::memory_order_acquire);
  if (mark == nullptr || sigterm_noted_ || !mark->seen.load(std::memory_order_acquire)) return;
  (void)inbox_.push_fact(EventType::kAttribute, preempted_payload(kSigterm), false);
  sigterm_noted_ = true;
}

// Threads that found no room for a ring in /dev/shm share one in private memory, until there is.
void DrainThread::note_memory_ring() {
  const bool now = journal_.kind() != JournalKind::kMemory && !journal_.survives_process();
  if (std::exchange(has_memory_ring_, now) || !now) return;
  journal_.add_note(Value::Map{{"kind", "ring_in_memory"}});
  pipeline_.warnings.warn_once(
      "ring in memory",
      fmt::format("there is no room for a further ring in {}: until there is, what its threads log and is not "
                  "committed yet (100 ms) does not survive a kill, which would count it as lost",
                  parent_path(journal_dir_)));
}

// --- the journal ----------------------------------------------------------------------------------------------------

std::optional<uint64_t> DrainThread::hold_journal() {
  const Guard one(mutex_);
  if (!holds_journal()) return std::nullopt;
  return journal_.doubts();
}

// False: another process recovers the journal, or may.
bool DrainThread::holds_journal() {
  if (journal_.hold_lock()) return true;
  if (!journal_.lacks_lock()) return false;
  keep_links();
  return journal_.hold_lock();
}

void DrainThread::keep_links() {
  // What a lost spill file held is in no ring any more: it goes into the new one. So it does when the check fails half
  // way; frames that are in the file twice are read once.
  const auto spill_again = [this] {
    for (const FramePtr& frame : queue_.all()) frame->spilled = false;
  };
  next_link_check_ = steady_clock::now() + kLinkCheckInterval;
  try {
    if (journal_.check_links()) spill_again();
  } catch (...) {
    spill_again();
    throw;
  }
}

void DrainThread::remove_journal() {
  const Guard one(mutex_);
  journal_removed_ = true;
  journal_.remove_files();
  if (pipeline_.quiescent) journal_.let_go();
}

// --- the spill file -------------------------------------------------------------------------------------------------

// All is drained, but a stuck disk may not have taken it when the process ends: then the spill file has it, the end
// record too.
void DrainThread::spill_until_done() {
  for (;;) {
    try {
      const Guard one(mutex_);
      if (journal_removed_) return;
      (void)holds_journal();
      if (steady_clock::now() >= next_link_check_) keep_links();
      spill_if_stuck();
    } catch (const std::exception& error) {
      pipeline_.health.note_fault(WriterHealth::Thread::kDrain, error.what());
    }
    if (queue_.wait_done(kDrainInterval)) return;
  }
}

// While the files do not take frames, the spill file does, in order; then their ring space is free.
void DrainThread::spill_if_stuck() {
  // Not only when nothing waits: a process that logs without a pause always has a fresh frame in the queue.
  if (journal_.spill().bytes() > 0 && spilled_seq_ <= queue_.committed_seq()) journal_.spill().clear();
  for (const FramePtr& frame : queue_.stuck_frames()) {
    if (frame->spilled) continue;
    if (!journal_.may_spill()) return;
    // Another process may have stored a part of it. Until that is known the rings have it, and all that comes after it.
    if (!frame->was_spilled && !journal_.settled()) return;
    if (!journal_.spill().append(frame->record, journal_.spill_room())) return;
    frame->spilled = frame->was_spilled = true;
    spilled_seq_ = frame->record.seq;
    journal_.release(frame->record.positions);
  }
}

}  // namespace tracker::internal
