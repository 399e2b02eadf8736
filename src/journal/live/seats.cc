// SPDX-License-Identifier: MIT
// Which thread holds which ring of a journal: from its first call, which finds it a place, to its end, which hands the
// place back.
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>
#include <vector>

#include "base/throw_memory.h"
#include "journal/live/journal.h"
#include "journal/ring/wipe_memory.h"

namespace tracker::internal {

// Called by pthread at the end of a thread: its rings go back to their pools at once.
void release_places_of_thread(void* list) {
  auto* places = static_cast<std::vector<HotRing*>*>(list);
  const uintptr_t thread = thread_pointer();
  {
    const ProcessLock lock;
    for (HotRing* hot : *places) {
      // Not ours any more when its run has ended (or in a forked child, where it reads 0).
      if (hot->owner.load(std::memory_order_relaxed) != thread) continue;
      hot->owner.store(0, std::memory_order_release);
      Journal* journal = hot->journal;
      for (const auto& seat : journal->seats_)
        if (seat->hot == hot) journal->free_seats_.push_back(seat.get());
    }
  }
  delete places;
}

namespace {

void remember_place(HotRing* hot) {
  (void)take_throw_memory();
  static pthread_key_t key;
  static const bool ready = ::pthread_key_create(&key, release_places_of_thread) == 0;
  if (!ready) return;  // no key left: rings of dead threads are not reused, nothing else changes
  auto* places = static_cast<std::vector<HotRing*>*>(::pthread_getspecific(key));
  if (places == nullptr) {
    places = new (std::nothrow) std::vector<HotRing*>;
    if (places == nullptr) return;
    ::pthread_setspecific(key, places);
  }
  if (std::find(places->begin(), places->end(), hot) == places->end()) places->push_back(hot);
}

}  // namespace

HotRing* ring_of_neighbours(HotRun* run, uintptr_t thread) {
  for (size_t way = 1; way < kHotWays; ++way) {
    HotRing* ring = run->table[hot_slot(thread) ^ way].load(std::memory_order_acquire);
    if (ring != nullptr && ring->owner.load(std::memory_order_relaxed) == thread) return ring;
  }
  return nullptr;
}

// Into the first of its entries that no other thread finds its ring by. Where all are taken the last one has it, and
// the thread that had it takes the slow path once more.
static void enter(HotRun* run, uintptr_t thread, HotRing* ring) {
  const size_t slot = hot_slot(thread);
  for (size_t way = 0; way < kHotWays; ++way) {
    const HotRing* const there = run->table[slot ^ way].load(std::memory_order_relaxed);
    const uintptr_t owner = there == nullptr ? 0 : there->owner.load(std::memory_order_relaxed);
    if (there != ring && owner > kSharedOwner && hot_slot(owner) / kHotWays == slot / kHotWays) continue;
    run->table[slot ^ way].store(ring, std::memory_order_release);
    return;
  }
  run->table[slot].store(ring, std::memory_order_release);
}

void Journal::install(Seat* seat, RingFile* file) {
  HotRing* hot = seat->hot;
  seat->current = file;
  hot->header = file->header();
  hot->data = file->data();
  hot->mask = file->data_bytes() - 1;
  hot->seed = ring_seed(file->nonce());
  hot->position = 0;
  hot->accepted_at = 0;
  hot->woken = 0;
  hot->check_at.store(0, std::memory_order_relaxed);
}

// A place with a ring of its own, or nullptr when neither count nor budget allows one.
Journal::Seat* Journal::new_seat(bool shared) {
  const uint32_t limit = std::min<uint32_t>(options_.rings_max, kRingsMax);
  const bool reserve = !shared && shared_seat_ == nullptr;  // one ring is kept for the threads that find none
  if (seats_.size() + (reserve ? 1 : 0) >= limit) return nullptr;
  const uint64_t needed = options_.first_ring_bytes * (reserve ? 2 : 1);
  if (!shared && file_bytes_.load() + spill_.bytes() + needed > place_.budget_bytes) return nullptr;
  auto seat = std::make_unique<Seat>();
  seats_.reserve(seats_.size() + 1);       // what follows must not end in the middle
  free_seats_.reserve(seats_.size() + 1);  // nor the end of a thread, which gives the seat back
  seat->hot = allocate_hot_ring_locked();
  if (seat->hot == nullptr) return nullptr;
  RingFile* file = nullptr;
  try {
    auto made = add_file(seat.get(), options_.first_ring_bytes, false);
    if (!made.ok() && (shared || seats_.empty())) made = add_file(seat.get(), options_.first_ring_bytes, true);
    if (made.ok()) file = *made;
  } catch (const std::bad_alloc&) {}
  if (file == nullptr) {
    free_hot_ring_locked(seat->hot);
    return nullptr;
  }
  seat->hot->journal = this;
  seat->newest.store(file, std::memory_order_relaxed);
  install(seat.get(), file);
  hot_->rings[seats_.size()].store(seat->hot, std::memory_order_relaxed);
  seats_.push_back(std::move(seat));
  hot_->ring_count.store(static_cast<uint32_t>(seats_.size()), std::memory_order_release);
  return seats_.back().get();
}

void Journal::seat_thread(Seat* seat, uintptr_t thread) {
  seat->hot->check_at.store(0, std::memory_order_relaxed);
  seat->hot->owner.store(thread, std::memory_order_release);
  enter(hot_, thread, seat->hot);
  remember_place(seat->hot);
}

Journal::Seat* Journal::attach_thread() {
  if (closed_.load(std::memory_order_relaxed)) return nullptr;
  const uintptr_t thread = thread_pointer();
  for (const auto& seat : seats_) {
    if (seat->hot->owner.load(std::memory_order_relaxed) != thread) continue;
    enter(hot_, thread, seat->hot);
    return seat.get();
  }
  Seat* seat = nullptr;
  if (!free_seats_.empty()) {
    seat = free_seats_.back();
    free_seats_.pop_back();
  } else {
    seat = new_seat(false);
  }
  if (seat != nullptr) {
    seat_thread(seat, thread);
    return seat;
  }
  if (shared_seat_ == nullptr) {
    shared_seat_ = new_seat(true);
    if (shared_seat_ != nullptr) shared_seat_->hot->owner.store(kSharedOwner, std::memory_order_release);
  }
  return shared_seat_;
}

}  // namespace tracker::internal
