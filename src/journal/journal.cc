// SPDX-License-Identifier: MIT
// Opening and closing a journal, and the drain thread's side of it.
#include "journal/journal.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "journal/wipe_memory.h"

namespace tracker::internal {
namespace {

constexpr size_t kRowsAFrame = 65'536;
constexpr size_t kBytesAFrame = 4 * 1024 * 1024;
constexpr std::chrono::milliseconds kCloseWait{200};
constexpr int64_t kClockStepNs = 1'000'000'000;

void nap_us(long us) {
  const timespec nap{0, us * 1000};
  ::nanosleep(&nap, nullptr);
}

}  // namespace

Journal::Journal(const JournalOptions& options, JournalPlace place, HotRun* hot)
    : options_(options),
      place_(std::move(place)),
      hot_(hot),
      wait_left_ns_(options.wait_total.count()),
      spill_("", 0),
      last_anchor_(read_anchor()) {
  if (options_.budget_bytes != 0) place_.budget_bytes = options_.budget_bytes;
}

Result<std::unique_ptr<Journal>> Journal::open(const JournalOptions& options, WriterIdentity* identity, HotRun* hot) {
  std::string wanted = options.kind;
  std::string why;
  for (;;) {
    JournalPlace place = choose_place(wanted, options.store_path);
    if (place.why.empty()) place.why = why;
    std::unique_ptr<Journal> journal(new Journal(options, place, hot));
    identity->journal = journal_kind_name(place.kind);
    identity->journal_dir = place.root.empty() ? "" : join_path(place.root, identity->writer.hex());
    Status status = journal->make_files(*identity);
    if (status.ok()) status = journal->make_first_ring();
    if (status.ok()) {
      hot->journal.store(journal.get(), std::memory_order_release);
      return journal;
    }
    journal->remove_files();
    if (place.kind == JournalKind::kMemory) return status;
    why = status.message();
    wanted = place.kind == JournalKind::kShm ? "disk" : "memory";
  }
}

// The folder appears under its name only when lock and definitions are in it, so a recoverer never meets half a
// journal.
Status Journal::make_files(const WriterIdentity& identity) {
  identity_ = identity;
  dir_ = identity.journal_dir;
  if (!dir_.empty()) {
    const std::string made_in = join_path(place_.root, ".new-" + identity.writer.hex());
    if (::mkdir(made_in.c_str(), 0700) != 0 && errno != EEXIST)
      return Status::from_errno(errno, "cannot create", made_in);
    auto lock = OwnerLock::create(made_in, dir_);
    if (!lock.ok()) return lock.status();
    std::unique_ptr<DefinitionsFile> defs;
    TRACKER_RETURN_IF_ERROR(make_defs(made_in, &defs));
    if (::rename(made_in.c_str(), dir_.c_str()) != 0) return Status::from_errno(errno, "cannot create", dir_);
    defs_file_ = std::move(defs);
    lock_ = std::make_unique<OwnerLock>(std::move(*lock));
  }
  uint64_t nonce = 0;
  std::copy_n(identity.writer.bytes.data(), sizeof nonce, reinterpret_cast<uint8_t*>(&nonce));
  spill_.move_to(dir_, nonce);
  return {};
}

// A definitions file in `made_in` with everything that is known so far.
Status Journal::make_defs(const std::string& made_in, std::unique_ptr<DefinitionsFile>* out) {
  const std::string path = join_path(made_in, "defs");
  remove_file(path);
  auto defs = DefinitionsFile::create(path, identity_);
  if (!defs.ok()) return defs.status();
  for (const SeriesDef& series : defs_) TRACKER_RETURN_IF_ERROR(defs->append(series));
  *out = std::make_unique<DefinitionsFile>(std::move(*defs));
  return {};
}

Status Journal::make_first_ring() {
  const ProcessLock guard;
  Seat* first = new_seat(false);
  if (first == nullptr || (!dir_.empty() && first->current->path().empty()))
    return Status(Code::kIo,
                  fmt::format("no room for a ring of {} KiB in {}", options_.first_ring_bytes >> 10, place_.root));
  free_seats_.push_back(first);
  return {};
}

Result<RingFile*> Journal::add_file(Seat* seat, uint64_t bytes, bool private_memory) {
  auto file = RingFile::create(private_memory ? "" : dir_, identity_.writer, bytes);
  if (!file.ok()) return file.status();
  if (private_memory && !dir_.empty()) memory_rings_.fetch_add(1);
  auto held = std::make_unique<HeldFile>();
  held->file = std::move(*file);
  held->seat = seat;
  RingFile* added = held->file.get();
  file_bytes_.fetch_add(kRingHeaderBytes + bytes);
  const std::lock_guard<std::mutex> guard(files_mutex_);
  files_.push_back(std::move(held));
  return added;
}

Journal::~Journal() {
  const ProcessLock lock;
  for (const auto& seat : seats_) {
    seat->hot->journal = nullptr;
    free_hot_ring_locked(seat->hot);
  }
}

// --- the drain thread ---------------------------------------------------------------------------------------------

void Journal::begin_drain() {
  const std::lock_guard<std::mutex> guard(files_mutex_);
  retire_files();
  spans_.clear();
  span_files_.clear();
  for (const auto& held : files_) {
    RingFile* file = held->file.get();
    RingHeader* header = file->header();
    const uint64_t tail = header->tail.load(std::memory_order_acquire);
    for (size_t i = 0; i < kLossSlots && header->losses[i].key.load(std::memory_order_acquire) != 0; ++i)
      losses_pending_ |= header->losses[i].count.load(std::memory_order_relaxed) != file->losses_drained[i];
    if (tail == file->drained) continue;
    spans_.push_back({header, file->data(), file->data_bytes(), file->nonce(), file->drained, tail, 0, false});
    span_files_.push_back(held.get());
  }
  const TimeAnchor now = read_anchor();
  for (const auto& held : files_) {  // for the records that come next, should nobody be there to drain them
    RingHeader* header = held->file->header();
    const uint64_t n = header->anchor_count.load(std::memory_order_relaxed);
    header->anchors[n % kAnchorSlots] = now;
    header->anchor_count.store(n + 1, std::memory_order_release);
  }
  times_ = std::make_unique<TimeLine>(std::vector<TimeAnchor>{last_anchor_, now}, ticks_per_ns());
  const int64_t jump = (now.realtime_ns - last_anchor_.realtime_ns) - (now.monotonic_ns - last_anchor_.monotonic_ns);
  if (std::llabs(jump) > kClockStepNs)
    notes_.push_back(Value::Map{{"kind", "clock_step"}, {"seconds", static_cast<double>(jump) * 1e-9}});
  last_anchor_ = now;
}

bool Journal::next_frame(FrameBuilder* builder, std::vector<RingPosition>* positions) {
  {
    const std::lock_guard<std::mutex> guard(defs_mutex_);
    for (; defs_drained_ < defs_.size(); ++defs_drained_) {
      const SeriesDef& series = defs_[defs_drained_];
      builder->add_series(series);
      series_drained_.add(series);
    }
  }
  builder->use_series(&series_drained_);
  for (const Value& note : notes_)
    builder->add_event(EventType::kNote, 0, false, last_anchor_.realtime_ns / 1000, encode_cbor(note));
  notes_.clear();
  if (losses_pending_) {
    losses_pending_ = false;
    const std::lock_guard<std::mutex> guard(files_mutex_);
    for (const auto& held : files_) drain_losses(held->file.get(), builder, positions);
  }
  if (!spans_.empty()) {
    read_rings(&spans_, *times_, kRowsAFrame, kBytesAFrame, builder);
    for (size_t i = 0; i < spans_.size(); ++i) {
      RingSpan& span = spans_[i];
      RingFile* file = span_files_[i]->file.get();
      if (span.damaged) skip_damage(&span, file, builder);
      if (span.from == file->drained) continue;
      file->points_read += span.points;
      span.points = 0;
      file->drained = span.from;
      positions->push_back({span.nonce, span.from});
    }
  }
  return !builder->empty() || !positions->empty();
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
    file->losses_drained[i] = count;
    positions->push_back({file->nonce() | (i + 1), count});
  }
}

// Bytes that do not verify in a live ring mean that something in this process wrote where it should not. What follows
// up to the tail cannot be trusted; it is skipped, counted and said.
void Journal::skip_damage(RingSpan* span, RingFile* file, FrameBuilder* builder) {
  const uint64_t skipped = span->to - span->from;
  span->from = span->to;
  span->damaged = false;
  const uint64_t accepted = file->header()->accepted.load(std::memory_order_relaxed);
  const uint64_t read = file->points_read + span->points;
  const uint64_t lost = accepted > read ? accepted - read : 0;
  builder->add_loss(0, LossReason::kDamaged, lost);
  file->points_read += lost;
  damaged_points_.fetch_add(lost);
  builder->add_event(
      EventType::kNote, 0, false, last_anchor_.realtime_ns / 1000,
      encode_cbor(Value::Map{
          {"kind", "ring_damaged"}, {"bytes", static_cast<int64_t>(skipped)}, {"points", static_cast<int64_t>(lost)}}));
}

void Journal::prepare_rings() {
  std::vector<std::pair<Seat*, uint64_t>> wanted;
  {
    const std::lock_guard<std::mutex> guard(files_mutex_);
    for (const auto& held : files_) {
      RingFile* file = held->file.get();
      if (held->abandoned.load(std::memory_order_acquire) ||
          held->seat->pending.load(std::memory_order_acquire) != nullptr)
        continue;
      if (held->seat->newest.load(std::memory_order_relaxed) != file) continue;
      const uint64_t fill = file->header()->tail.load(std::memory_order_acquire) - file->header()->released.load();
      if (fill > file->data_bytes() / 2 && file->data_bytes() < options_.ring_bytes_max)
        wanted.emplace_back(held->seat, std::min(file->data_bytes() * 2, options_.ring_bytes_max));
    }
  }
  for (const auto& [seat, bytes] : wanted) {
    // One ring of the first size stays affordable for a thread that comes later.
    if (file_bytes_.load() + spill_.bytes() + bytes + options_.first_ring_bytes > place_.budget_bytes) continue;
    auto file = add_file(seat, bytes, dir_.empty());
    if (!file.ok()) continue;
    seat->newest.store(*file, std::memory_order_relaxed);
    seat->pending.store(*file, std::memory_order_release);
  }
}

// Lock and definitions: the folder anew when it is gone, else each file by a rename into it, so that the rings which
// are still there stay recoverable. What fails is tried again in a second.
Status Journal::replace_lost_files() {
  const std::lock_guard<std::mutex> guard(defs_mutex_);
  TRACKER_RETURN_IF_ERROR(check_private_dir(place_.root));
  if (!is_directory(dir_)) return make_files(identity_);
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
  if (!defs_file_->still_linked()) {
    std::unique_ptr<DefinitionsFile> defs;
    TRACKER_RETURN_IF_ERROR(make_defs(made_in, &defs));
    if (::rename(join_path(made_in, "defs").c_str(), join_path(dir_, "defs").c_str()) != 0)
      return Status::from_errno(errno, "cannot replace the definitions in", dir_);
    defs_file_ = std::move(defs);
  }
  ::rmdir(made_in.c_str());
  return {};
}

bool Journal::check_links() {
  if (dir_.empty()) return false;
  const bool spill_lost = !spill_.still_linked() || (spill_.bytes() > 0 && !is_directory(dir_));
  if (spill_lost) spill_.unlink_file();
  if (!is_directory(dir_) || !lock_->still_linked() || !defs_file_->still_linked()) {
    if (!replace_lost_files().ok()) return spill_lost;
    notes_.push_back(Value::Map{{"kind", "journal_replaced"}});
  }
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
  // Make producers look: a fast path that has room would go on in the unlinked ring. Repeated each second until they
  // have switched.
  const ProcessLock lock;
  for (const auto& seat : seats_)
    if (seat->pending.load(std::memory_order_relaxed) != nullptr)
      seat->hot->check_at.store(0, std::memory_order_relaxed);
  return spill_lost;
}

void Journal::abandon(RingFile* file) {
  const std::lock_guard<std::mutex> guard(files_mutex_);
  for (const auto& held : files_)
    if (held->file.get() == file) held->abandoned.store(true, std::memory_order_release);
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
    file->unlink_file();
    if (file->path().empty() && !dir_.empty()) memory_rings_.fetch_sub(1);
    file_bytes_.fetch_sub(kRingHeaderBytes + file->data_bytes());
    retired_accepted_ += header->accepted.load();
    for (size_t k = 0; k < kLossSlots; ++k) add_dropped(header->losses[k], &retired_dropped_, &retired_rejected_);
    retired_.push_back(file->nonce());
    for (size_t k = 0; k < kLossSlots && header->losses[k].key.load() != 0; ++k)
      retired_.push_back(file->nonce() | (k + 1));
    files_.erase(files_.begin() + static_cast<ptrdiff_t>(i));
  }
}

// --- the store thread ---------------------------------------------------------------------------------------------

void Journal::release(const std::vector<RingPosition>& positions) {
  bool moved = false;
  const std::lock_guard<std::mutex> guard(files_mutex_);
  for (const RingPosition& position : positions) {
    for (const auto& held : files_) {
      if (held->file->nonce() != (position.nonce & kNonceMask)) continue;
      if (const uint64_t slot = position.nonce & ~kNonceMask; slot != 0) {
        if (slot <= kLossSlots) held->file->losses_released[slot - 1] = position.position;
        break;
      }
      std::atomic<uint64_t>& released = held->file->header()->released;
      if (released.load(std::memory_order_relaxed) < position.position) {
        released.store(position.position, std::memory_order_release);
        moved = true;
      }
      break;
    }
  }
  if (moved) wait_left_ns_.store(options_.wait_total.count(), std::memory_order_relaxed);
}

std::vector<uint64_t> Journal::take_retired() {
  const std::lock_guard<std::mutex> guard(files_mutex_);
  return std::exchange(retired_, {});
}

uint64_t Journal::spill_room() const {
  if (dir_.empty()) return 0;
  const uint64_t rings = file_bytes_.load();
  return std::min(kSpillBytesMax, place_.budget_bytes > rings ? place_.budget_bytes - rings : 0);
}

// --- the end --------------------------------------------------------------------------------------------------------

bool Journal::close() {
  {
    const ProcessLock lock;
    closed_.store(true);
    hot_->journal.store(nullptr);
    for (const auto& seat : seats_) seat->hot->owner.store(0);
  }
  // After the barrier every producer either sees owner 0 or is seen to be busy.
  if (!barrier_all_threads()) nap_us(2000);
  const int64_t deadline = monotonic_ns() + std::chrono::nanoseconds(kCloseWait).count();
  for (;;) {
    bool busy = users_.load(std::memory_order_acquire) != 0;
    {
      const ProcessLock lock;
      for (const auto& seat : seats_) busy |= seat->hot->busy.load(std::memory_order_acquire) != 0;
    }
    if (!busy) return true;
    if (monotonic_ns() > deadline) return false;
    nap_us(50);
  }
}

void Journal::remove_files() {
  const std::lock_guard<std::mutex> guard(files_mutex_);
  for (const auto& held : files_) held->file->unlink_file();
  spill_.unlink_file();
  if (dir_.empty()) return;
  for (const std::string& dir : {dir_, join_path(place_.root, ".new-" + identity_.writer.hex())}) {
    remove_file(join_path(dir, "defs"));
    remove_file(join_path(dir, "lock"));
    ::rmdir(dir.c_str());
  }
}

// --- counts ---------------------------------------------------------------------------------------------------------

void Journal::add_dropped(const LossSlot& slot, uint64_t* dropped, uint64_t* rejected) {
  const uint64_t key = slot.key.load(std::memory_order_acquire);
  if (key == 0) return;
  const bool is_rejected = static_cast<LossReason>(key & 0xff) == LossReason::kRejected;
  *(is_rejected ? rejected : dropped) += slot.count.load(std::memory_order_relaxed);
}

JournalCounts Journal::counts() const {
  const std::lock_guard<std::mutex> guard(files_mutex_);
  JournalCounts counts{retired_accepted_, retired_dropped_, retired_rejected_, file_bytes_.load() + spill_.bytes(),
                       damaged_points_.load()};
  for (const auto& held : files_) {
    const RingHeader* header = held->file->header();
    counts.accepted += header->accepted.load(std::memory_order_relaxed);
    for (const LossSlot& slot : header->losses) add_dropped(slot, &counts.dropped, &counts.rejected);
  }
  return counts;
}

}  // namespace tracker::internal
