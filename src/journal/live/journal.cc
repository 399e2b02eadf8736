// SPDX-License-Identifier: MIT
// Opening and closing a journal, and the store thread's side of it.
#include "journal/live/journal.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "journal/ring/wipe_memory.h"

namespace tracker::internal {
namespace {

constexpr std::chrono::milliseconds kCloseWait{200};
constexpr int kRemoveTriesMax = 100;  // of a journal's folder, while signals come

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
      burst_left_ns_(options.wait_burst.count()),
      burst_at_ns_(monotonic_ns()),
      heard_(options.read_clock()),
      held_(heard_),
      spill_("", 0),
      last_anchor_(heard_),
      now_(heard_),
      clock_(heard_) {
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
    // Once and for all: producers read them without a lock.
    journal->identity_ = *identity;
    journal->dir_ = identity->journal_dir;
    Status status = journal->make_files();
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
Status Journal::make_files() {
  if (!dir_.empty()) {
    const std::string made_in = join_path(place_.root, ".new-" + identity_.writer.hex());
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
  std::copy_n(identity_.writer.bytes.data(), sizeof nonce, reinterpret_cast<uint8_t*>(&nonce));
  spill_.move_to(dir_, nonce);
  return {};
}

// A definitions file in `made_in` with everything that is known so far.
Status Journal::make_defs(const std::string& made_in, std::unique_ptr<DefinitionsFile>* out) {
  const std::string path = join_path(made_in, "defs");
  remove_file(path);
  auto defs = DefinitionsFile::create(path, identity_);
  if (!defs.ok()) return defs.status();
  for (uint32_t id = 1; id <= series_.size(); ++id) TRACKER_RETURN_IF_ERROR(defs->append(series_.def(id)));
  if (end_) TRACKER_RETURN_IF_ERROR(defs->append_end(*end_));
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
  const std::lock_guard<std::mutex> guard(files_mutex_);
  held->file->header()->anchors[0] = hold(options_.read_clock());
  held->file->header()->accepted_unfiled.store(accepted_unfiled_, std::memory_order_relaxed);
  held->file->header()->highest_number.store(highest_number_, std::memory_order_relaxed);
  held->file->header()->accepted_before.store(accepted_in_retired(), std::memory_order_relaxed);
  held->file->header()->texts_before.store(retired_counts_.texts_accepted, std::memory_order_relaxed);
  files_.push_back(std::move(held));
  say_rings_held(nullptr);
  say_unfiled_texts();
  file_bytes_.fetch_add(kRingHeaderBytes + bytes);
  return added;
}

Journal::~Journal() {
  const ProcessLock lock;
  for (const auto& seat : seats_) {
    seat->hot->journal = nullptr;
    free_hot_ring_locked(seat->hot);
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

void Journal::set_refusing(bool on) {
  refusing_.store(on);
  if (on) make_producers_look();
}

void Journal::set_room(uint64_t bytes) {
  room_.store(bytes);
  if (bytes != UINT64_MAX) make_producers_look();
}

// Producers whose ring has room check nothing else: this makes them check. Done again each time, for one of them may
// have been in the slow path just now.
void Journal::make_producers_look() {
  const ProcessLock lock;
  for (const auto& seat : seats_) seat->hot->check_at.store(0, std::memory_order_relaxed);
}

uint64_t Journal::waiting_bytes(uint64_t room) const {
  const std::lock_guard<std::mutex> guard(files_mutex_);
  uint64_t out = 0;
  for (const auto& held : files_) {
    RingFile& file = *held->file;
    const uint64_t released = file.header()->released.load(std::memory_order_acquire);
    const uint64_t tail = file.header()->tail.load(std::memory_order_acquire);
    const uint64_t full = held->abandoned.load(std::memory_order_acquire) ? 0 : std::min(file.data_bytes(), room);
    out += std::max(tail > released ? tail - released : 0, full);
  }
  return out;
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

// Where the file is gone, or its descriptor, the end is in the one that takes its place.
Status Journal::keep_end(JournalEnd end) {
  const std::lock_guard<std::mutex> guard(defs_mutex_);
  end_ = std::move(end);
  if (!defs_file_) return {};
  Status status = defs_file_->append_end(*end_);
  if (status.ok() || defs_file_->still_linked()) return status;
  return make_defs_anew(std::move(status));
}

void Journal::remove_files() {
  const std::lock_guard<std::mutex> guard(files_mutex_);
  for (const auto& held : files_) held->file->unlink_file();
  spill_.unlink_file();
  if (dir_.empty()) return;
  for (const std::string& dir : {dir_, join_path(place_.root, ".new-" + identity_.writer.hex())}) {
    for (const char* name : {"defs", "lock"}) remove_file(join_path(dir, name));
    // A signal may make its file between the two; after the second it cannot.
    for (int tries = 0; tries < kRemoveTriesMax; ++tries) {
      remove_file(join_path(dir, kSigtermFile));
      if (::rmdir(dir.c_str()) == 0 || errno != ENOTEMPTY) break;
    }
  }
}

void Journal::let_go() {
  std::unique_ptr<OwnerLock> lock;  // destroyed after the mutexes are released: it takes ProcessLock
  {
    const std::lock_guard<std::mutex> guard(defs_mutex_);
    lock = std::move(lock_);
    defs_file_.reset();
  }
  const std::lock_guard<std::mutex> guard(files_mutex_);
  for (const auto& held : files_) held->file->drop_data();
}

// --- counts ---------------------------------------------------------------------------------------------------------

void Journal::add_dropped(const LossSlot& slot, JournalCounts* counts) {
  const uint64_t key = slot.key.load(std::memory_order_acquire);
  if (key == 0) return;
  const bool is_rejected = static_cast<LossReason>(key & 0xff) == LossReason::kRejected;
  uint64_t* into = is_rejected                ? &counts->rejected
                   : key >> 8 == kTextLosses  ? &counts->texts_dropped
                   : key >> 8 == kEntryLosses ? &counts->entries_dropped
                                              : &counts->dropped;
  *into += slot.count.load(std::memory_order_relaxed);
}

JournalCounts Journal::counts() const {
  const std::lock_guard<std::mutex> guard(files_mutex_);
  JournalCounts counts = retired_counts_;
  counts.bytes = file_bytes_.load() + spill_.bytes();
  counts.damaged = damaged_points_.load();
  counts.texts_damaged = damaged_texts_.load();
  for (const auto& held : files_) {
    const RingHeader* header = held->file->header();
    counts.accepted += header->accepted.load(std::memory_order_relaxed);
    counts.texts_accepted += header->texts.load(std::memory_order_relaxed);
    for (const LossSlot& slot : header->losses) add_dropped(slot, &counts);
  }
  return counts;
}

}  // namespace tracker::internal
