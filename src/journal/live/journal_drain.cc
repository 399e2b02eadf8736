// SPDX-License-Identifier: MIT
// The drain thread's side of a journal. Anything here may throw (there may be no memory): what a frame takes is marked
// as taken by frame_kept() alone, so a frame that was not kept is made again from the same records.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>

#include "journal/live/journal.h"
#include "journal/ring/ring_room.h"
#include "journal/ring/wipe_memory.h"

namespace tracker::internal {
namespace {

constexpr int64_t kClockStepNs = 1'000'000'000;

}  // namespace

void Journal::begin_drain() {
  const std::lock_guard<std::mutex> guard(files_mutex_);
  retire_files();
  say_unfiled_texts();
  spans_.clear();
  span_files_.clear();
  for (const auto& held : files_) {
    RingFile* file = held->file.get();
    RingHeader* header = file->header();
    header->accepted_before.store(accepted_in_retired(), std::memory_order_relaxed);
    header->texts_before.store(retired_counts_.texts_accepted, std::memory_order_relaxed);
    const uint64_t tail = header->tail.load(std::memory_order_acquire);
    for (size_t i = 0; i < kLossSlots && header->losses[i].key.load(std::memory_order_acquire) != 0; ++i)
      losses_pending_ |= header->losses[i].count.load(std::memory_order_relaxed) != file->losses_drained[i];
    if (tail == file->drained) continue;
    spans_.push_back({header, file->data(), file->data_bytes(), file->nonce(), file->drained, tail, 0, false});
    span_files_.push_back(held.get());
  }
  const TimeAnchor before = clock_;
  clock_ = options_.read_clock();
  now_ = hold(clock_);
  for (const auto& held : files_) {  // for the records that come next, should no process be there to drain them
    RingHeader* header = held->file->header();
    const uint64_t n = header->anchor_count.load(std::memory_order_relaxed);
    header->anchors[n % kAnchorSlots] = now_;
    header->anchor_count.store(n + 1, std::memory_order_release);
  }
  times_ = std::make_unique<TimeLine>(std::vector<TimeAnchor>{last_anchor_, now_}, ticks_per_ns());
  const int64_t jump = (clock_.realtime_ns - before.realtime_ns) - (clock_.monotonic_ns - before.monotonic_ns);
  if (std::llabs(jump) > kClockStepNs)
    notes_.push_back(Value::Map{{"kind", "clock_step"}, {"seconds", static_cast<double>(jump) * 1e-9}});
}

// The times of a writer never go back. Where the clock is set back they go on as the monotonic clock does, that far
// ahead of it, until it is set forward again; how far it was set is an event of the run.
TimeAnchor Journal::hold(TimeAnchor read) {
  const int64_t passed = read.monotonic_ns - heard_.monotonic_ns;
  const int64_t jump = read.realtime_ns - heard_.realtime_ns - passed;
  if (jump > 0) ahead_ns_ -= std::min(ahead_ns_, jump);
  heard_ = read;
  const int64_t expected = held_.realtime_ns + (read.monotonic_ns - held_.monotonic_ns);
  if (read.realtime_ns + ahead_ns_ < held_.realtime_ns) ahead_ns_ = expected - read.realtime_ns;
  read.realtime_ns += ahead_ns_;
  held_ = read;
  return read;
}

int64_t Journal::now_us() {
  const std::lock_guard<std::mutex> guard(files_mutex_);
  return hold(options_.read_clock()).realtime_ns / 1000;
}

bool Journal::next_frame(FrameBuilder* builder, std::vector<RingPosition>* positions) {
  taken_.clear();
  taken_losses_.clear();
  bool all_defined = false;  // what rows and losses need
  {
    const std::lock_guard<std::mutex> guard(defs_mutex_);
    defs_taken_ = defs_drained_;
    while (defs_taken_ < series_.size() && builder->series_held() < kSeriesAFrame) {
      SeriesDef series = series_.def(++defs_taken_);
      series_drained_.add(series, series_.metric(series.id));
      builder->add_series(std::move(series));
    }
    all_defined = defs_taken_ == series_.size();
  }
  builder->use_series(&series_drained_);
  for (const Value& note : notes_)
    builder->add_event(EventType::kNote, 0, false, now_.realtime_ns / 1000, encode_cbor(note));
  if (all_defined && losses_pending_) {
    losses_pending_ = false;
    const std::lock_guard<std::mutex> guard(files_mutex_);
    for (const auto& held : files_) drain_losses(held->file.get(), builder, positions);
  }
  if (all_defined && !spans_.empty()) {
    read_rings(&spans_, *times_, kRowsAFrame, kBytesALiveFrame, builder);
    for (size_t i = 0; i < spans_.size(); ++i) {
      RingSpan& span = spans_[i];
      RingFile* file = span_files_[i]->file.get();
      Taken taken{file, span.from, span.points, span.texts, 0, 0};
      if (span.damaged) skip_damage(&span, file, builder, &taken);
      taken.position = span.from;
      span.points = span.texts = 0;
      if (span.from == file->drained) continue;
      positions->push_back({span.nonce, span.from});
      taken_.push_back(taken);
    }
  }
  const bool any = !builder->empty() || !positions->empty();
  if (!any) last_anchor_ = now_;
  return any;
}

void Journal::say_number(uint64_t number) {
  const std::lock_guard<std::mutex> guard(files_mutex_);
  highest_number_ = std::max(highest_number_, number);
  for (const auto& held : files_)
    held->file->header()->highest_number.store(highest_number_, std::memory_order_release);
}

void Journal::frame_kept() noexcept {
  defs_drained_ = std::max(defs_drained_, defs_taken_);
  notes_.clear();
  for (const Taken& taken : taken_) {
    taken.file->drained = taken.position;
    taken.file->points_read += taken.points + taken.damaged;
    taken.file->texts_read += taken.texts + taken.texts_damaged;
    damaged_points_.fetch_add(taken.damaged);
    damaged_texts_.fetch_add(taken.texts_damaged);
  }
  for (const TakenLoss& loss : taken_losses_) loss.file->losses_drained[loss.slot] = loss.count;
  taken_.clear();
  taken_losses_.clear();
}

void Journal::drain_losses(RingFile* file, FrameBuilder* builder, std::vector<RingPosition>* positions) {
  RingHeader* header = file->header();
  for (size_t i = 0; i < kLossSlots; ++i) {
    const uint64_t key = header->losses[i].key.load(std::memory_order_acquire);
    if (key == 0) break;
    const uint64_t count = header->losses[i].count.load(std::memory_order_acquire);
    if (count == file->losses_drained[i]) continue;
    builder->add_loss(static_cast<uint32_t>(key >> 8), static_cast<LossReason>(key & 0xff),
                      count - file->losses_drained[i]);
    taken_losses_.push_back({file, i, count});
    positions->push_back({file->nonce() | (i + 1), count});
  }
}

// Bytes that do not verify in a live ring mean that something in this process wrote where it should not. What follows
// up to the tail cannot be trusted; it is skipped, counted and said.
void Journal::skip_damage(RingSpan* span, RingFile* file, FrameBuilder* builder, Taken* taken) {
  const uint64_t skipped = span->to - span->from;
  span->from = span->to;
  span->damaged = false;
  const auto missing = [](const std::atomic<uint64_t>& accepted, uint64_t read) {
    const uint64_t all = accepted.load(std::memory_order_relaxed);
    return all > read ? all - read : 0;
  };
  taken->damaged = missing(file->header()->accepted, file->points_read + span->points);
  taken->texts_damaged = missing(file->header()->texts, file->texts_read + span->texts);
  builder->add_loss(0, LossReason::kDamaged, taken->damaged);
  builder->add_loss(kTextLosses, LossReason::kDamaged, taken->texts_damaged);
  builder->add_event(EventType::kNote, 0, false, now_.realtime_ns / 1000,
                     encode_cbor(Value::Map{{"kind", "ring_damaged"},
                                            {"bytes", static_cast<int64_t>(skipped)},
                                            {"points", static_cast<int64_t>(taken->damaged)}}));
}

void Journal::prepare_rings() {
  const std::lock_guard<std::mutex> one(prepare_mutex_);
  (void)prepare(nullptr);
}

bool Journal::prepare_ring_of(Seat* seat) {
  const std::unique_lock<std::mutex> one(prepare_mutex_, std::try_to_lock);
  return one.owns_lock() && prepare(seat);
}

// Twice as large, or at once so large that it holds the call which waits for it.
uint64_t Journal::next_ring_bytes(uint64_t bytes, uint64_t wanted) const {
  const uint64_t room = wanted == 0 ? 0 : std::bit_ceil(wanted + wanted / 8 + 2 * kRingEventReserve);
  uint64_t next = std::min(std::max(bytes * 2, room), options_.ring_bytes_max);
  // One ring of the first size stays affordable for a thread that comes later.
  const auto fits = [&] {
    return file_bytes_.load() + spill_.bytes() + next + options_.first_ring_bytes <= place_.budget_bytes;
  };
  while (!fits() && next > bytes * 2) next /= 2;
  return fits() ? next : 0;
}

// Under prepare_mutex_. Of all who want one, or of one producer, who has none. True when one was made.
bool Journal::prepare(Seat* only) {
  std::vector<std::pair<Seat*, uint64_t>> wanted;
  {
    const std::lock_guard<std::mutex> guard(files_mutex_);
    for (const auto& held : files_) {
      RingFile* file = held->file.get();
      if (held->abandoned.load(std::memory_order_acquire) ||
          held->seat->pending.load(std::memory_order_acquire) != nullptr)
        continue;
      if (held->seat->newest.load(std::memory_order_relaxed) != file) continue;
      if (only != nullptr && held->seat != only) continue;
      const uint64_t released = file->header()->released.load();
      const bool wanting = only != nullptr || held->seat->wanted_bytes.load(std::memory_order_relaxed) > 0 ||
                           file->header()->tail.load(std::memory_order_acquire) >
                               ring_wake_mark(released, file->data_bytes(), file->data_bytes());
      if (wanting && file->data_bytes() < std::min(options_.ring_bytes_max, room_.load()))
        wanted.emplace_back(held->seat, file->data_bytes());
    }
  }
  bool made = false;
  for (const auto& [seat, bytes] : wanted) {
    const uint64_t next = next_ring_bytes(bytes, seat->wanted_bytes.load(std::memory_order_relaxed));
    if (next == 0) continue;
    auto file = add_file(seat, next, dir_.empty());
    if (!file.ok()) continue;
    seat->newest.store(*file, std::memory_order_relaxed);
    seat->pending.store(*file, std::memory_order_release);
    made = true;
  }
  return made;
}

// Only the ring that threads share may be no file. It is left as soon as there is room for one: what lies in it dies
// with the process. Under the lock that its producers hold, for one of them may log nothing more.
void Journal::leave_memory() {
  if (dir_.empty() || memory_rings_.load() == 0) return;
  Seat* seat = nullptr;
  {
    const ProcessLock lock;
    seat = shared_seat_;
  }
  if (seat == nullptr) return;
  const std::lock_guard<std::mutex> guard(shared_mutex_);
  if (!is_unfiled(*seat->current)) return;
  if (seat->pending.load(std::memory_order_acquire) == nullptr) {
    const std::lock_guard<std::mutex> one(prepare_mutex_);
    auto file = add_file(seat, seat->current->data_bytes(), false);
    if (!file.ok()) return;
    seat->newest.store(*file, std::memory_order_relaxed);
    seat->pending.store(*file, std::memory_order_release);
  }
  (void)switch_ring(seat);
}

// Lock and definitions: a new folder when it is gone, else each file by a rename into it, so that the rings which are
// still there stay recoverable. What fails is tried again in a second.
Status Journal::replace_lost_files() {
  const std::lock_guard<std::mutex> guard(defs_mutex_);
  TRACKER_RETURN_IF_ERROR(check_private_dir(place_.root));
  // What a logout unlinks is no doubt: no process has recovered by a lock file that is still locked here. Then some
  // frames are in the memory of this process alone, and the spill file must take them. Not distinguishable from a
  // logout: a process that was sure that this one is dead, made another lock, and has removed the folder.
  const auto raise_epoch_unless = [this](bool known) { recovery_epoch_ += known ? 0 : 1; };
  if (!is_directory(dir_)) {
    raise_epoch_unless(lock_->kept());
    return make_files();
  }
  if (!lock_->still_linked()) {
    const std::optional<bool> another = lock_->another_is_held();
    raise_epoch_unless(lock_->kept() && !another);
    if (another.value_or(false)) return Status(Code::kBusy, "another process recovers " + dir_);
  }
  const std::string made_in = join_path(place_.root, ".new-" + identity_.writer.hex());
  if (::mkdir(made_in.c_str(), 0700) != 0 && errno != EEXIST)
    return Status::from_errno(errno, "cannot create", made_in);
  if (!lock_->still_linked()) {
    auto lock = OwnerLock::create(made_in, dir_);
    if (!lock.ok()) return lock.status();
    if (::rename(join_path(made_in, "lock").c_str(), join_path(dir_, "lock").c_str()) != 0)
      return Status::from_errno(errno, "cannot replace the lock in", dir_);
    lock_ = std::make_unique<OwnerLock>(std::move(*lock));
  }
  if (!defs_file_->still_linked()) TRACKER_RETURN_IF_ERROR(replace_defs(made_in));
  ::rmdir(made_in.c_str());
  return {};
}

// Under defs_mutex_.
Status Journal::replace_defs(const std::string& made_in) {
  std::unique_ptr<DefinitionsFile> defs;
  TRACKER_RETURN_IF_ERROR(make_defs(made_in, &defs));
  if (::rename(join_path(made_in, "defs").c_str(), join_path(dir_, "defs").c_str()) != 0)
    return Status::from_errno(errno, "cannot replace the definitions in", dir_);
  defs_file_ = std::move(defs);
  return {};
}

bool Journal::hold_lock() {
  if (lock_ == nullptr) return true;
  const OwnerLock::Held held = lock_->hold();
  if (held != OwnerLock::Held::kStill) ++recovery_epoch_;
  return held == OwnerLock::Held::kStill || held == OwnerLock::Held::kAgain;
}

bool Journal::check_links() {
  if (dir_.empty()) return false;
  const bool spill_lost = !spill_.still_linked() || (spill_.bytes() > 0 && !is_directory(dir_));
  if (spill_lost) spill_.unlink_file();
  if (!is_directory(dir_) || !lock_->still_linked() || !defs_file_->still_linked()) {
    if (!replace_lost_files().ok()) return spill_lost;
    notes_.push_back(Value::Map{{"kind", "journal_replaced"}});
  }
  replace_unlinked_rings();
  return spill_lost;
}

void Journal::replace_unlinked_rings() {
  {
    const std::lock_guard<std::mutex> one(prepare_mutex_);
    std::vector<std::pair<Seat*, uint64_t>> gone;
    {
      const std::lock_guard<std::mutex> guard(files_mutex_);
      for (const auto& held : files_)
        if (!held->abandoned.load(std::memory_order_acquire) && !held->file->still_linked() &&
            held->seat->newest.load(std::memory_order_relaxed) == held->file.get())
          gone.emplace_back(held->seat, held->file->data_bytes());
    }
    for (const auto& [seat, bytes] : gone) {
      auto file = add_file(seat, bytes, false);
      if (!file.ok()) continue;
      seat->newest.store(*file, std::memory_order_relaxed);
      RingFile* unused = seat->pending.exchange(*file, std::memory_order_acq_rel);
      if (unused != nullptr) abandon(unused);
      ++rings_replaced_;
    }
  }
  // Make producers look: a fast path that has room would go on in the unlinked ring. Repeated each second until they
  // have switched.
  const ProcessLock lock;
  for (const auto& seat : seats_)
    if (seat->pending.load(std::memory_order_relaxed) != nullptr)
      seat->hot->check_at.store(0, std::memory_order_relaxed);
}

void Journal::abandon(RingFile* file) {
  const std::lock_guard<std::mutex> guard(files_mutex_);
  for (const auto& held : files_)
    if (held->file.get() == file) held->abandoned.store(true, std::memory_order_release);
}

// Under files_mutex_. A recoverer that finds the ring gone has what it had accepted in all other rings, at whichever
// instant this process died: the stores are done in their order.
void Journal::announce_leaving(RingFile& leaving) {
  const uint64_t before = accepted_in_retired();
  const uint64_t then = before + leaving.header()->accepted.load();
  const uint64_t texts = retired_counts_.texts_accepted;
  for (const auto& held : files_) {
    if (held->file.get() == &leaving) continue;
    RingHeader* header = held->file->header();
    header->accepted_before.store(before, std::memory_order_release);
    header->texts_before.store(texts, std::memory_order_release);
    header->leaving.store(0, std::memory_order_release);
    header->accepted_before_then.store(then, std::memory_order_release);
    header->texts_before_then.store(texts + leaving.header()->texts.load(), std::memory_order_release);
    header->leaving.store(leaving.nonce(), std::memory_order_release);
  }
}

// Under files_mutex_; without `leaving`, which is unlinked after this, and those that a logout or a recoverer has: who
// finds fewer misses some.
void Journal::say_rings_held(const RingFile* leaving) {
  const auto stays = [&](const auto& held) {
    return held->file.get() != leaving && !held->file->path().empty() && held->file->still_linked();
  };
  const auto count = static_cast<uint64_t>(std::count_if(files_.begin(), files_.end(), stays));
  for (const auto& held : files_) held->file->header()->rings_held.store(count, std::memory_order_release);
}

// Under files_mutex_: forgets rings that no producer writes any more and whose every byte is committed or spilled.
void Journal::retire_files() {
  for (size_t i = 0; i < files_.size();) {
    HeldFile* held = files_[i].get();
    RingFile* file = held->file.get();
    RingHeader* header = file->header();
    const uint64_t tail = header->tail.load(std::memory_order_acquire);
    // The counts too must be committed or spilled, not only on their way in a frame: else a kill takes them with it.
    bool losses_kept = true;
    for (size_t k = 0; k < kLossSlots && header->losses[k].key.load() != 0; ++k)
      losses_kept &= header->losses[k].count.load() == file->losses_released[k];
    if (!held->abandoned.load(std::memory_order_acquire) || file->drained != tail || !losses_kept ||
        header->released.load(std::memory_order_acquire) < tail) {
      ++i;
      continue;
    }
    retired_.reserve(retired_.size() + 1 + kLossSlots);  // with the next lines the one thing here that may fail
    for (size_t k = 0; k < kLossSlots && header->losses[k].key.load() != 0; ++k)
      retired_losses_.try_emplace(header->losses[k].key.load(), 0);
    if (!is_unfiled(*file)) announce_leaving(*file);
    say_rings_held(file);
    file->unlink_file();
    if (is_unfiled(*file)) memory_rings_.fetch_sub(1), retired_unfiled_ += header->accepted.load();
    file_bytes_.fetch_sub(kRingHeaderBytes + file->data_bytes());
    retired_counts_.accepted += header->accepted.load();
    retired_counts_.texts_accepted += header->texts.load();
    for (size_t k = 0; k < kLossSlots; ++k) {
      add_dropped(header->losses[k], &retired_counts_);
      if (const uint64_t key = header->losses[k].key.load(); key != 0)
        retired_losses_[key] += header->losses[k].count.load();
    }
    retired_.push_back(file->nonce());
    for (size_t k = 0; k < kLossSlots && header->losses[k].key.load() != 0; ++k)
      retired_.push_back(file->nonce() | (k + 1));
    files_.erase(files_.begin() + static_cast<ptrdiff_t>(i));
  }
}

}  // namespace tracker::internal
