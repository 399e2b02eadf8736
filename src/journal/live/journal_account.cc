// SPDX-License-Identifier: MIT
// Where the points of each series are, as far as the journal knows: still in a ring, or dropped.
#include <cstring>

#include "journal/live/journal.h"

namespace tracker::internal {
namespace {

uint64_t word_at(const char* at) {
  uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// The bytes of the record at `from`, 0 for what is none: then something in this process wrote over the ring, which the
// drain finds by the CRC and counts.
uint64_t record_bytes(RingFile* file, uint64_t from, uint64_t tail) {
  const uint64_t left_in_lap = file->data_bytes() - (from & (file->data_bytes() - 1));
  const char* at = file->data() + (from & (file->data_bytes() - 1));
  const auto head = static_cast<uint32_t>(word_at(at) >> 32);
  if (head_kind(head) == RecordKind::kPad) return left_in_lap;
  if (left_in_lap < kRecordHeadBytes + 8) return 0;
  uint64_t bytes = 0;
  if (head_kind(head) == RecordKind::kValues) bytes = kRecordHeadBytes + head_count(head) * sizeof(ValuePair);
  if (head_kind(head) == RecordKind::kEvent)
    bytes = kRecordHeadBytes + 8 + ((word_at(at + kRecordHeadBytes) >> 32) + 7) / 8 * 8;
  return bytes <= left_in_lap && bytes <= tail - from ? bytes : 0;
}

// Published and not drained yet. It is not released meanwhile: the caller keeps the drain thread out.
void count_waiting(RingFile* file, SeriesCounts* counts) {
  const uint64_t tail = file->header()->tail.load(std::memory_order_acquire);
  for (uint64_t from = file->drained; from < tail;) {
    const uint64_t bytes = record_bytes(file, from, tail);
    if (bytes == 0) return;
    const char* at = file->data() + (from & (file->data_bytes() - 1));
    const auto head = static_cast<uint32_t>(word_at(at) >> 32);
    if (head_kind(head) == RecordKind::kValues)
      for (uint32_t i = 0; i < head_count(head); ++i) {
        const auto series = static_cast<uint32_t>(word_at(at + kRecordHeadBytes + i * sizeof(ValuePair) + 8));
        if (series < kSeriesMax + 1) counts->at(series).pending += 1;
      }
    from += bytes;
  }
}

void count_dropped(uint64_t key, uint64_t count, SeriesCounts* counts) {
  if (static_cast<LossReason>(key & 0xff) == LossReason::kRejected) return;  // never became a point
  const uint64_t series = key >> 8;
  if (series == kTextLosses || series == kEntryLosses) return;  // these are of no series
  counts->at(series <= kSeriesMax ? static_cast<uint32_t>(series) : 0).dropped += count;
}

}  // namespace

void Journal::account(SeriesCounts* counts) const {
  const std::lock_guard<std::mutex> guard(files_mutex_);
  for (const auto& [key, count] : retired_losses_) count_dropped(key, count, counts);
  counts->at(0).dropped += damaged_points_.load();
  for (const auto& held : files_) {
    for (const LossSlot& slot : held->file->header()->losses) {
      const uint64_t key = slot.key.load(std::memory_order_acquire);
      if (key != 0) count_dropped(key, slot.count.load(std::memory_order_relaxed), counts);
    }
    count_waiting(held->file.get(), counts);
  }
}

uint64_t Journal::call_ns() const {
  uint64_t ticks = hot_->call_ticks.load(std::memory_order_relaxed);
  {
    const std::lock_guard<std::mutex> guard(files_mutex_);
    for (const auto& held : files_)
      if (held->seat != nullptr && !held->abandoned.load(std::memory_order_acquire))
        ticks += held->seat->cost.uncharged(held->file->header()->tail.load(std::memory_order_relaxed));
  }
  return static_cast<uint64_t>(static_cast<double>(ticks) / ticks_per_ns());
}

std::vector<SeriesDef> Journal::definitions() const {
  const std::lock_guard<std::mutex> guard(defs_mutex_);
  std::vector<SeriesDef> out;
  for (uint32_t id = 1; id <= series_.size(); ++id) out.push_back(series_.def(id));
  return out;
}

std::vector<uint32_t> Journal::known_ids(std::string_view name) const {
  const std::lock_guard<std::mutex> guard(defs_mutex_);
  return series_.of(name);
}

// For the producer of `seat`, whose ring is full.
void Journal::count_no_room(Seat* seat, uint32_t series) {
  if (is_unfiled(*seat->current)) count_loss(series, LossReason::kRingFull, 1);
  else tracker::internal::count_loss(seat->hot->header, series, static_cast<uint8_t>(LossReason::kRingFull), 1);
}

// Points that a ring has taken which is no file: a recoverer will not find it, but how much it has taken.
void Journal::count_unfiled(uint64_t points) {
  const std::lock_guard<std::mutex> guard(files_mutex_);
  accepted_unfiled_ += points;
  for (const auto& held : files_)
    held->file->header()->accepted_unfiled.store(accepted_unfiled_, std::memory_order_relaxed);
}

// Without waiting for who holds the lock, under which files are unlinked: begin_drain() says it then.
void Journal::count_unfiled_text() {
  texts_unfiled_.fetch_add(1);
  if (const std::unique_lock<std::mutex> guard(files_mutex_, std::try_to_lock); guard.owns_lock()) say_unfiled_texts();
}

void Journal::count_committed_texts(uint64_t count) {
  const std::lock_guard<std::mutex> guard(files_mutex_);
  texts_committed_ += count;
  say_unfiled_texts();
}

// Under files_mutex_.
void Journal::say_unfiled_texts() {
  for (const auto& held : files_) {
    held->file->header()->texts_unfiled.store(texts_unfiled_.load(), std::memory_order_relaxed);
    held->file->header()->texts_committed.store(texts_committed_, std::memory_order_relaxed);
  }
}

void Journal::count_loss(uint32_t series, LossReason reason, uint64_t count) {
  if (series == kTextLosses && reason == LossReason::kDisk) texts_refused_.fetch_add(count, std::memory_order_relaxed);
  const std::lock_guard<std::mutex> guard(files_mutex_);
  RingHeader* header = nullptr;
  for (const auto& held : files_) {
    if (held->abandoned.load(std::memory_order_relaxed) || (header != nullptr && is_unfiled(*held->file))) continue;
    header = held->file->header();
    if (!is_unfiled(*held->file)) break;  // there the count survives the process
  }
  if (header != nullptr) {
    tracker::internal::count_loss(header, series, static_cast<uint8_t>(reason), count);
    return;
  }
  // No ring is left: counted without saying which, and of entries not at all.
  if (series == kTextLosses) hot_->late_texts.fetch_add(count, std::memory_order_relaxed);
  else if (is_of_points(series)) hot_->late.fetch_add(count, std::memory_order_relaxed);
}

}  // namespace tracker::internal
