// SPDX-License-Identifier: MIT
// The drain thread of a writer: rings become frames, frames wait for the disk, and where that is stuck are spilled.
#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "base/clock.h"
#include "base/fs.h"
#include "pipeline/writer.h"

namespace tracker::internal {
namespace {

constexpr std::chrono::seconds kLinkCheckInterval{1};

// Of what a frame has from the rings; notes are the drain's own.
int64_t newest_us(const Frame& frame) {
  int64_t newest = INT64_MIN;
  for (const Block& block : frame.blocks)
    if (block.rows() > 0) newest = std::max(newest, block.times_us.back());
  for (const Event& event : frame.events)
    if (event.type != EventType::kNote) newest = std::max(newest, event.time_us);
  return newest;
}

}  // namespace

void Writer::drain_loop() {
  if (!may_begin()) return;
  {
    const std::lock_guard<std::mutex> one(drain_mutex_);
    next_link_check_ = Clock::now() + kLinkCheckInterval;
  }
  for (bool last = false; !last;) {
    journal_->wait(kDrainInterval);
    try {
      last = drain_round();
      note_cost(&drain_cpu_ns_);
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
  const std::lock_guard<std::mutex> one(drain_mutex_);
  uint64_t wanted = 0;
  bool last = false;
  std::optional<JournalEnd> end;
  const auto begin = Clock::now();
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    last = stopping_;
    wanted = flush_wanted_;
    end = std::exchange(end_to_keep_, std::nullopt);
  }
  if (end) (void)journal_->keep_end(std::move(*end));
  note_faults();
  note_sigterm();
  (void)hold_journal();
  journal_->prepare_rings();  // first: a thread that fills its ring waits for this, the drain takes its time
  say_memory_ring();
  journal_->leave_memory();
  const bool drained = drain_once(last);
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (drained) flush_drained_ = wanted, drained_ = begin;
    drained_all_ = last;
  }
  changed_.notify_all();
  if (last) return true;
  spill_if_stuck();
  if (Clock::now() >= next_link_check_) keep_links();
  return false;
}

// Threads that found no room for a ring in /dev/shm share one in private memory, until there is.
void Writer::say_memory_ring() {
  const bool now = journal_->kind() != JournalKind::kMemory && !journal_->survives_process();
  if (std::exchange(in_memory_, now) || !now) return;
  journal_->add_note(Value::Map{{"kind", "ring_in_memory"}});
  say_once_.say(
      "ring in memory",
      fmt::format("there is no room for a further ring in {}: until there is, what its threads log and is not "
                  "committed yet (100 ms) does not survive a kill, which would count it as lost",
                  parent_path(identity_.journal_dir)));
}

// Under drain_mutex_. False: another process recovers the journal, or may.
bool Writer::hold_journal() {
  if (journal_->hold_lock()) return true;
  if (!journal_->lacks_lock()) return false;
  keep_links();
  return journal_->hold_lock();
}

// Under drain_mutex_.
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

// All is drained, but a stuck disk may not have taken it when the process ends: then the spill file has it, the end
// record too.
void Writer::spill_until_done() {
  for (;;) {
    try {
      const std::lock_guard<std::mutex> one(drain_mutex_);
      const std::lock_guard<std::mutex> files(files_mutex_);
      if (files_removed_) return;
      (void)hold_journal();
      if (Clock::now() >= next_link_check_) keep_links();
      spill_if_stuck();
    } catch (const std::exception& error) {
      note_fault(&drain_fault_, "trk-drain", error.what());
    }
    std::unique_lock<std::mutex> lock(mutex_);
    if (changed_.wait_for(lock, kDrainInterval, [&] { return done_; })) return;
  }
}

// False when not all was taken, because too much waits for the disk.
bool Writer::drain_once(bool last) {
  {
    // One look at both: what was logged into a ring before a large value is in this drain, what came after it in the
    // next one.
    const std::lock_guard<std::mutex> guard(mutex_);
    // The queue is full: what is not drained stays in the rings, whose own policy bounds it.
    if (!last && queue_is_full()) return false;
    if (!last && !may_drain()) {
      changed_.notify_all();
      return false;
    }
    for (; !large_.empty(); large_.pop_front())  // behind those of a drain that failed
      large_taken_.push_back(std::move(large_.front()));
    take_monitored();
    logged_since_ = drained_;  // the drain before this one took what had been logged until then
    journal_->begin_drain();
  }
  take_large();
  for (bool more = true; more;) {
    if (!last) {
      const std::lock_guard<std::mutex> guard(mutex_);
      if (queue_is_full()) return false;  // the rest is drained again, as behind a failure
    }
    FrameBuilder builder(&spare_blocks_);
    std::vector<RingPosition> positions;
    more = journal_->next_frame(&builder, &positions);
    if (!more) {
      if (!keep_large(last)) return false;
      add_monitored(&builder);
      if (last) builder.add_event(EventType::kEnd, 0, false, journal_->now_us(), end_record_);
    }
    Frame frame = builder.take();
    const size_t large = more ? large_until(newest_us(frame)) : large_taken_.size();
    if (frame.empty() && positions.empty() && large == 0) break;
    keep(std::move(frame), std::move(positions), large, !more);
  }
  return true;
}

// Under mutex_: what is not stored yet, in memory. The spill file is not, and has the frames once more.
size_t Writer::waiting_bytes() const {
  const uint64_t journal = journal_->bytes(), spilled = journal_->spill().bytes();
  return journal - std::min(journal, spilled) + queue_bytes_ + large_bytes_;
}

// Under mutex_.
bool Writer::queue_is_full() const {
  return queue_bytes_ > kQueueBytesMax || (queue_bytes_ > kWaitingBytesEach && waiting_bytes() > kWaitingBytesMax);
}

// By the ticks of this drain, as the records of the rings: the order in which a thread logged both is kept.
void Writer::take_large() {
  for (LargeEvent& large : large_taken_)
    if (large.tick != 0) large.event.time_us = journal_->wall_us(large.tick);
  std::stable_sort(large_taken_.begin(), large_taken_.end(),
                   [](const LargeEvent& a, const LargeEvent& b) { return a.event.time_us < b.event.time_us; });
}

// How many of the large events a frame is to have whose newest record is of that moment; the others come with a later
// one. Of the same microsecond the large one is the earlier: its tick was taken when it had been encoded.
size_t Writer::large_until(int64_t newest) const {
  const auto end = std::find_if(large_taken_.begin(), large_taken_.end(),
                                [newest](const LargeEvent& large) { return large.event.time_us > newest; });
  return static_cast<size_t>(end - large_taken_.begin());
}

// Those behind all that the rings have, in frames of their own but for the last ones: what is made of a frame until it
// is stored takes several times its bytes. False when the queue is full.
bool Writer::keep_large(bool last) {
  for (;;) {
    size_t count = 0, bytes = 0;
    for (; count < large_taken_.size(); ++count) {
      bytes += large_taken_[count].event.payload.size();
      if (count > 0 && bytes > kBytesALiveFrame) break;
    }
    if (count == large_taken_.size()) return true;
    if (!last) {
      const std::lock_guard<std::mutex> guard(mutex_);
      if (queue_is_full()) return false;
    }
    keep({}, {}, count, false);
  }
}

// A frame with the first `large` of those that were taken goes into the queue.
void Writer::keep(Frame frame, std::vector<RingPosition> positions, size_t large, bool last_of_drain) {
  {
    const LentEvents lent(&large_taken_, large, !last_of_drain, &frame);
    const auto end = large_taken_.begin() + static_cast<ptrdiff_t>(large);
    const auto is_text = [](const LargeEvent& each) { return each.event.type == EventType::kText; };
    enqueue(&frame, std::move(positions), static_cast<uint64_t>(std::count_if(large_taken_.begin(), end, is_text)),
            last_of_drain);
  }
  forget_large(large);
}

// By time, but for the last frame of a drain: there they are in front of what the writer itself says.
Writer::LentEvents::LentEvents(std::deque<LargeEvent>* lenders, size_t count, bool by_time, Frame* frame)
    : lenders_(*lenders), frame_(*frame) {
  if (count == 0) return;
  std::vector<Event> own = std::move(frame->events);
  std::vector<Event> all;
  all.reserve(own.size() + count);
  places_.reserve(count);
  const auto lend_until = [&](int64_t time_us) {
    for (; places_.size() < count; places_.push_back(all.size() - 1)) {
      const Event& next = lenders_[places_.size()].event;
      if (next.time_us > time_us) return;
      all.push_back({next.type, next.has_step, next.step, next.time_us, {}});
    }
  };
  if (by_time)
    std::stable_sort(own.begin(), own.end(), [](const Event& a, const Event& b) { return a.time_us < b.time_us; });
  for (Event& event : own) {
    lend_until(by_time ? event.time_us : INT64_MAX);
    all.push_back(std::move(event));
  }
  lend_until(INT64_MAX);
  frame->events = std::move(all);
  swap();
}

Writer::LentEvents::~LentEvents() { swap(); }

void Writer::LentEvents::swap() noexcept {
  for (size_t i = 0; i < places_.size(); ++i) frame_.events[places_[i]].payload.swap(lenders_[i].event.payload);
}

// The first of those that were taken are in a frame.
void Writer::forget_large(size_t count) {
  const std::lock_guard<std::mutex> guard(mutex_);
  for (size_t i = 0; i < count; ++i) large_bytes_ -= large_taken_[i].event.payload.size();
  large_waiting_ -= count;
  large_taken_.erase(large_taken_.begin(), large_taken_.begin() + static_cast<ptrdiff_t>(count));
}

void Writer::enqueue(Frame* made, std::vector<RingPosition> positions, uint64_t large_texts, bool last_of_drain) {
  Frame& frame = *made;
  frame.writer = identity_.writer;
  frame.seq = next_seq_;  // the drain thread alone counts
  auto queued = std::make_shared<Queued>();
  queued->record = {frame.seq, encode_frame(frame), std::move(positions)};
  // It was made with room for plain columns, and may wait for long. A frame of texts is of the size it was made for:
  // it would be copied for nothing.
  std::string& bytes = queued->record.bytes;
  if (bytes.capacity() > bytes.size() + bytes.size() / 8) bytes.shrink_to_fit();
  note_memory(frame, bytes.capacity());
  queued->points = points_by_series(frame);
  queued->texts = frame.texts();
  queued->large_texts = large_texts;
  queued->dropped = dropped_points(frame.losses);
  for (const Loss& loss : frame.losses)
    if (loss.series != 0 && loss.reason == LossReason::kRingFull)
      say_once_.say("ring full",
                    "more is logged than can be stored in time: points that find the ring full are dropped "
                    "and counted (status() has the counts; on_full=\"block\" waits instead)");
  if (!frame.defs.empty()) queued->defined = frame.defs.back().id;
  queued->since = Clock::now();
  queued->logged_since = logged_since_;
  journal_->say_number(frame.seq);
  const std::lock_guard<std::mutex> together(hand_over_mutex_);
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    for (const SeriesPoints& each : queued->points)
      if (each.series >= stored_by_series_.size()) stored_by_series_.resize(each.series + size_t{1});
    note_state(frame.events);
    queue_.push_back(queued);
    queue_bytes_ += queued->record.bytes.size();
    ++next_seq_;
    if (last_of_drain) forget_monitored();
  }
  journal_->frame_kept();
  changed_.notify_all();
  spare_blocks_.give(std::move(frame.blocks));
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
    if (!journal_->may_spill()) return;
    // Another process may have stored a part of it. Until that is known the rings have it, and all that comes behind.
    if (!queued->was_spilled && !journal_->settled()) return;
    if (!journal_->spill().append(queued->record, journal_->spill_room())) return;
    queued->spilled = queued->was_spilled = true;
    spilled_seq_ = queued->record.seq;
    journal_->release(queued->record.positions);
  }
}

}  // namespace tracker::internal
