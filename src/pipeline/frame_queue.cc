// SPDX-License-Identifier: MIT
#include "pipeline/frame_queue.h"

#include <algorithm>
#include <utility>

#include "storage/log/writer_snapshot.h"

namespace tracker::internal {

FrameQueue::FrameQueue(Journal* journal, uint64_t disk_credit)
    : journal_(journal), disk_credit_(disk_credit), drained_(std::chrono::steady_clock::now()) {}

// --- callers --------------------------------------------------------------------------------------------------------

uint64_t FrameQueue::ask_flush() {
  const Guard guard(mutex_);
  return ++flush_wanted_;
}

bool FrameQueue::wait_flushed(uint64_t flush, TimePoint deadline, const std::function<bool()>& keep_waiting) {
  const auto done = [&] { return flush_done_ >= flush || done_; };
  std::unique_lock<std::mutex> lock(mutex_);
  if (!keep_waiting) return changed_.wait_until(lock, deadline, done);
  const auto now = [] { return std::chrono::steady_clock::now(); };
  while (!changed_.wait_until(lock, std::min(deadline, now() + kFlushAskInterval), done)) {
    if (now() >= deadline) return false;
    lock.unlock();
    if (!keep_waiting()) return false;
    lock.lock();
  }
  return true;
}

void FrameQueue::stop(std::string end, std::optional<JournalEnd> kept) {
  const Guard guard(mutex_);
  end_record_ = std::move(end);
  end_to_keep_ = std::move(kept);
  stopping_ = true;
}

void FrameQueue::stop_drain() {
  const Guard guard(mutex_);
  stopping_ = true;
}

bool FrameQueue::wait_done(Duration timeout) {
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_for(lock, timeout, [this] { return done_; });
}

FrameQueue::Reading FrameQueue::read(bool large_waiting) const {
  Reading out;
  const Guard guard(mutex_);
  out.points_stored = account_.points_of_program();
  out.texts_stored = account_.texts;
  out.bytes_stored = account_.bytes;
  out.points_removed = account_.points_removed;
  out.texts_removed = account_.texts_removed;
  out.counts = journal_->counts();
  out.done = done_;
  const TimePoint now = std::chrono::steady_clock::now();
  if (unsynced_since_) out.unsynced = now - *unsynced_since_;
  if (done_) return out;
  // From the drain that took the oldest, or should have.
  if (!frames_.empty()) out.uncommitted = now - frames_.front()->since;
  if (large_waiting || journal_->waiting_bytes(0) > 0) out.uncommitted = std::max(out.uncommitted, now - drained_);
  return out;
}

void FrameQueue::add_counts(SeriesCounts* counts) const {
  const Guard guard(mutex_);
  account_.add_to(counts);
  for (const FramePtr& frame : frames_)
    for (const SeriesPoints& each : frame->counts.points) counts->at(each.series).pending += each.points;
}

size_t FrameQueue::series_held() const {
  const Guard guard(mutex_);
  return account_.by_series.size();
}

void FrameQueue::add_sample_series(const std::vector<ValuePair>& pairs) {
  const Guard guard(mutex_);
  for (const ValuePair& pair : pairs) account_.sample_series.insert(pair.series);
}

bool FrameQueue::take_disk(uint64_t bytes) {
  const Guard guard(mutex_);
  if (bytes > disk_credit_) {
    disk_look_wanted_ = true;
    notify();
    return false;
  }
  disk_credit_ -= bytes;
  return true;
}

// --- the drain thread -----------------------------------------------------------------------------------------------

FrameQueue::Marks FrameQueue::take_marks() {
  const Guard guard(mutex_);
  return {stopping_, flush_wanted_, std::exchange(end_to_keep_, std::nullopt)};
}

void FrameQueue::push(FramePtr frame, const std::vector<Event>& events) {
  const Guard guard(mutex_);
  account_.make_room(frame->counts.points);
  for (const Event& event : events)
    if (is_state(event.type)) state_.apply({event}, {});
  const size_t bytes = frame->record.bytes.size();
  frames_.push_back(std::move(frame));
  bytes_ += bytes;
  ++next_seq_;
}

void FrameQueue::note_drained(const Marks& marks, TimePoint begun, bool all) {
  {
    const Guard guard(mutex_);
    if (all) flush_drained_ = marks.flush, drained_ = begun;
    drained_all_ = marks.last;
  }
  notify();
}

std::vector<FramePtr> FrameQueue::stuck_frames() const {
  const Guard guard(mutex_);
  if (frames_.empty() || std::chrono::steady_clock::now() - frames_.front()->since < kStuckAfter) return {};
  return {frames_.begin(), frames_.end()};
}

// --- the store thread -----------------------------------------------------------------------------------------------

void FrameQueue::wait_for_work(Duration idle) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait_for(lock, idle, [this] {
    return !frames_.empty() || flush_done_ < flush_drained_ || drained_all_ || disk_look_wanted_;
  });
}

void FrameQueue::wait(Duration timeout) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait_for(lock, timeout);
}

void FrameQueue::wait_whole(Duration timeout) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait_for(lock, timeout, [] { return false; });
}

FrameBatch FrameQueue::batch() const {
  FrameBatch out;
  size_t bytes = 0;
  const Guard guard(mutex_);
  for (const FramePtr& frame : frames_) {
    const size_t next = frame->record.bytes.size();
    out.whole = batch_takes(out.frames.size(), bytes, next);
    if (!out.whole) break;
    out.frames.push_back(frame);
    bytes += next;
  }
  out.flush = out.whole ? flush_drained_ : flush_done_;
  if (!out.frames.empty()) out.work.oldest = out.frames.front()->logged_since;
  out.work.flush = flush_done_ < out.flush;
  out.work.last = out.whole && drained_all_;
  return out;
}

std::vector<FramePtr> FrameQueue::all() const {
  const Guard guard(mutex_);
  return {frames_.begin(), frames_.end()};
}

void FrameQueue::remove_stored(const FrameBatch& batch, uint64_t last_seq) {
  const Guard guard(mutex_);
  for (const FramePtr& frame : batch.frames) {
    bytes_ -= frame->record.bytes.size();
    frames_.pop_front();  // the drain thread only adds at the other end
    account_.add(frame->counts);
    defined_ = std::max(defined_, frame->defined);
  }
  committed_seq_ = last_seq;
}

void FrameQueue::note_round(const FrameBatch& batch) {
  {
    const Guard guard(mutex_);
    if (batch.round.durable) {
      flush_done_ = std::max(flush_done_, batch.flush);
      unsynced_since_.reset();
    } else if (batch.work.oldest && !unsynced_since_) {
      unsynced_since_ = std::chrono::steady_clock::now();
    }
  }
  notify();
}

void FrameQueue::set_disk_credit(uint64_t bytes) {
  const Guard guard(mutex_);
  disk_credit_ = bytes;
  disk_look_wanted_ = false;
}

void FrameQueue::set_done() {
  {
    const Guard guard(mutex_);
    done_ = true;
  }
  notify();
}

Logged FrameQueue::give_up() {
  Logged gone;
  const Guard together(hand_over_);
  const Guard guard(mutex_);
  for (const FramePtr& frame : frames_) account_.remove(frame->counts, &gone);
  frames_.clear();
  bytes_ = 0;
  return gone;
}

// --- the next part --------------------------------------------------------------------------------------------------

Logged FrameQueue::remove_gone(const WriterSnapshot& there, const FrameCounts& again) {
  const Guard together(hand_over_);
  const Guard guard(mutex_);
  return account_.remove_gone(there, again);
}

void FrameQueue::take_over(const WriterSnapshot& there, std::deque<FramePtr> kept,
                           const std::vector<RingPosition>& known) {
  const Guard guard(mutex_);
  journal_->rewind(known, kept.empty() ? defined_ : 0);  // from here on nothing fails
  journal_->spill().clear();
  frames_ = std::move(kept);
  bytes_ = 0;
  for (const FramePtr& frame : frames_) bytes_ += frame->record.bytes.size();
  committed_seq_ = there.last_seq;
  account_.take_over(there);
}

void FrameQueue::set_next_seq(uint64_t next) {
  const Guard guard(mutex_);
  next_seq_ = next;
}

// Encoding takes long and is done without mutex_: the drain thread, which appends to the queue, is stopped, and the
// store thread alone removes frames.
Status FrameQueue::renumber(uint64_t first) {
  std::vector<std::string> again;
  uint64_t next = first;
  for (const FramePtr& waiting : all()) {
    auto frame = decode_frame(waiting->record.bytes);
    if (!frame.ok()) return frame.status();  // made by this process, just now
    frame->seq = next++;
    again.push_back(encode_frame(*frame));
  }
  journal_->say_number(next - 1);  // from here on nothing fails
  const Guard guard(mutex_);
  for (size_t i = 0; i < again.size(); ++i) {
    FrameRecord& record = frames_[i]->record;
    bytes_ += again[i].size() - record.bytes.size();
    record.bytes = std::move(again[i]);
    record.seq = first + i;
  }
  next_seq_ = next;
  return {};
}

}  // namespace tracker::internal
