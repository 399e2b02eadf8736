// SPDX-License-Identifier: MIT
// What the writer says of itself: where the points of each series are, what it takes, whether its store has room.
#include <sys/resource.h>
#include <time.h>

#include <algorithm>

#include <fmt/format.h>

#include "base/fs.h"
#include "model/key.h"
#include "pipeline/writer.h"

namespace tracker::internal {

std::vector<SeriesPoints> points_by_series(const Frame& frame) {
  std::vector<SeriesPoints> out;
  size_t columns = 0;
  for (const Block& block : frame.blocks) columns += block.series.size();
  out.reserve(columns);
  for (const Block& block : frame.blocks)
    for (const uint32_t series : block.series) out.push_back({series, static_cast<uint32_t>(block.rows())});
  return out;
}

uint64_t dropped_points(const std::vector<Loss>& losses) {
  uint64_t out = 0;
  for (const Loss& loss : losses)
    if (is_of_points(loss.series) && loss.reason != LossReason::kRejected) out += loss.count;
  return out;
}

// Under mutex_, after the commit of the oldest frame of the queue. Cannot fail: enqueue() has made the places.
void Writer::count_stored(const Queued& queued) {
  for (const SeriesPoints& each : queued.points) {
    stored_by_series_[each.series] += each.points;
    points_stored_ += each.points;
  }
  texts_stored_ += queued.texts;
  dropped_stored_ += queued.dropped;
  bytes_stored_ += queued.record.bytes.size();
}

// A point is in a ring until its frame is in the queue, and there until it is stored: each of the three is counted at a
// moment when none moves from one to the next.
SeriesCounts Writer::series_counts() const {
  SeriesCounts out;
  const std::lock_guard<std::mutex> still(hand_over_mutex_);
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    for (size_t series = 0; series < stored_by_series_.size(); ++series)
      if (stored_by_series_[series] > 0) out.at(static_cast<uint32_t>(series)).stored = stored_by_series_[series];
    for (const auto& queued : queue_)
      for (const SeriesPoints& each : queued->points) out.at(each.series).pending += each.points;
    for (const auto* waiting : {&samples_, &samples_taken_})
      for (const Sample& sample : *waiting)
        for (const ValuePair& pair : sample.pairs) out.at(pair.series).pending += 1;
    for (size_t series = 0; series < removed_by_series_.size(); ++series)
      if (removed_by_series_[series] > 0) out.at(static_cast<uint32_t>(series)).dropped += removed_by_series_[series];
  }
  journal_->account(&out);
  return out;
}

// --- what it says ---------------------------------------------------------------------------------------------------

// Under mutex_: how long the oldest of what was logged waits for its commit, from the drain that took it or should
// have.
Writer::Clock::duration Writer::uncommitted_for() const {
  const auto now = Clock::now();
  if (done_) return {};
  const auto in_queue = queue_.empty() ? Clock::duration::zero() : now - queue_.front()->since;
  const bool undrained = journal_->waiting_bytes(0) > 0 || large_waiting_ > 0;
  return std::max(in_queue, undrained ? now - drained_ : Clock::duration::zero());
}

WriterStatus Writer::status() const {
  WriterStatus out;
  const std::lock_guard<std::mutex> guard(mutex_);
  // Stored is read before accepted, so that pending never comes out negative.
  out.points_stored = points_stored_ - std::min(points_stored_, samples_stored());
  out.texts_stored = texts_stored_;
  out.counts = journal_->counts();
  out.counts.damaged += points_removed_;  // these too were accepted and are lost
  out.counts.texts_accepted += large_texts_;
  out.counts.texts_damaged += texts_removed_;
  out.bytes_stored = bytes_stored_;
  out.degraded = degraded_ || drain_fault_.now || store_fault_.now || (threads_ == Threads::kNone && !done_);
  out.last_error = !last_error_.empty()  ? last_error_
                   : drain_fault_.now    ? drain_fault_.what
                   : store_fault_.now    ? store_fault_.what
                   : out.degraded        ? "no thread can be started; the next command stores what fits the journal"
                   : !lost_text_.empty() ? lost_text_
                                         : "";
  const auto waits = uncommitted_for();
  const auto unsynced = unsynced_since_ ? Clock::now() - *unsynced_since_ : Clock::duration::zero();
  out.committed_lately = !out.degraded && waits < kCommitLate;
  out.synced_lately = !out.degraded && std::max(waits, unsynced) < kSyncInterval * 3;
  out.parts = parts_;
  out.gave_up = gave_up_;
  if (parts_ == 0) return out;
  out.files = store_files_name(files_.kind);
  out.file_system = files_.file_system;
  // What a FUSE process has taken may go with its container; only an fsync says that it has passed it on.
  if (!files_.write_is_in_kernel) out.committed_lately = false;
  return out;
}

// --- what it takes --------------------------------------------------------------------------------------------------

uint64_t thread_cpu_ns() {
  timespec t{};
  if (::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) != 0) return 0;
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
}

// Behind each round of a background thread.
void Writer::note_cost(std::atomic<uint64_t>* cpu_ns) {
  constexpr uint64_t kBlockBytes = 512;  // of ru_oublock
  cpu_ns->store(thread_cpu_ns());
  rusage usage{};
  if (cpu_ns == &store_cpu_ns_ && ::getrusage(RUSAGE_THREAD, &usage) == 0)
    bytes_written_.store(static_cast<uint64_t>(usage.ru_oublock) * kBlockBytes);
  if (cpu_ns == &drain_cpu_ns_) memory_max_.store(cost().memory_bytes_max);  // enqueue() is of this thread too
}

// While a frame is made: its columns and its bytes, which are not in the queue yet.
void Writer::note_memory(const Frame& frame, size_t bytes) {
  size_t cells = 0;
  for (const Block& block : frame.blocks) cells += block.rows() * (block.series.size() + 3);
  const uint64_t now = cost().memory_bytes + cells * sizeof(uint64_t) + bytes;
  if (now > memory_max_.load()) memory_max_.store(now);
}

RunCost Writer::cost() const {
  RunCost out;
  out.call_ns = journal_->call_ns();
  out.thread_cpu_ns = drain_cpu_ns_.load() + store_cpu_ns_.load() + monitor_cpu_ns_.load();
  out.bytes_written = bytes_written_.load();
  const std::lock_guard<std::mutex> guard(mutex_);
  out.memory_bytes = journal_->bytes() + queue_bytes_ + large_bytes_ + stored_by_series_.size() * kSeriesMemoryBytes;
  out.memory_bytes_max = std::max(memory_max_.load(), out.memory_bytes);
  return out;
}

// What is in the rings now may be in the queue before the next look, and the rings full again.
DiskWaiting Writer::waiting_for_disk() const {
  const std::lock_guard<std::mutex> guard(mutex_);
  const uint64_t now = queue_bytes_ + large_bytes_ + journal_->waiting_bytes(0);
  return {2 * (now + journal_->waiting_bytes(UINT64_MAX)), 2 * (now + journal_->waiting_bytes(kDiskRingRoom))};
}

// Before each commit: whether producers may go on, once what waits is stored.
void Writer::look_at_disk() {
  if (disk_.max_bytes() == 0) return;
  const std::string run_path =
      join_path(target_.store_path, "runs/" + folder_name(target_.run.project) + "/" + folder_name(target_.run.id));
  const uint64_t in_rings = journal_->waiting_bytes(0);
  DiskRoom room = disk_.look(target_.store_path, run_path, db_ ? db_->path() : std::string(), waiting_for_disk());
  if (disk_.narrow() && db_ && Clock::now() >= next_shrink_) {
    db_->shrink();
    disk_.own_has_changed();
    next_shrink_ = Clock::now() + kDiskLookInterval;
    room = disk_.look(target_.store_path, run_path, db_ ? db_->path() : std::string(), waiting_for_disk());
  }
  journal_->set_room(disk_.narrow() ? kDiskRingRoom : UINT64_MAX);
  journal_->set_refusing(room != DiskRoom::kEnough);
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    disk_credit_ = in_rings + disk_.credit();
    disk_look_wanted_ = false;
  }
  if (room != DiskRoom::kEnough)
    say_once_.say(
        "max_disk",
        fmt::format("the store has reached max_disk ({} MiB; {} MiB are taken, a WAL counted twice, {} MiB "
                    "are on their way and {} MiB are kept for the end): new points are dropped and counted until "
                    "there is room; tracker rm and tracker gc --max-disk make some",
                    disk_.max_bytes() >> 20, disk_.used() >> 20, waiting_for_disk().narrow >> 20, kDiskReserve >> 20));
}

// Of several runs that end at the bound each has found the same room free.
bool Writer::disk_has_room() {
  look_at_disk();
  return disk_.reserve_is_free();
}

// Under mutex_, before a drain: false when more would go from the rings to the disk than the last look knew of. Then
// the store thread looks again, and until then the rings' own policy bounds what comes: a commit may take seconds.
bool Writer::may_drain() {
  if (disk_.max_bytes() == 0 || disk_.room() != DiskRoom::kEnough) return true;
  const uint64_t in_rings = journal_->waiting_bytes(0);
  disk_look_wanted_ = in_rings > disk_credit_;
  if (disk_look_wanted_) return false;
  disk_credit_ -= in_rings;
  return true;
}

bool Writer::take_disk(uint64_t bytes) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (disk_.max_bytes() == 0) return true;
  if (bytes > disk_credit_) {
    disk_look_wanted_ = true;
    changed_.notify_all();
    return false;
  }
  disk_credit_ -= bytes;
  return true;
}

Value cost_value(const RunCost& cost) {
  const auto number = [](uint64_t n) { return Value(static_cast<int64_t>(n)); };
  return Value::Map{{"call_ns", number(cost.call_ns)},
                    {"thread_cpu_ns", number(cost.thread_cpu_ns)},
                    {"memory_bytes_max", number(cost.memory_bytes_max)},
                    {"bytes_written", number(cost.bytes_written)}};
}

}  // namespace tracker::internal
