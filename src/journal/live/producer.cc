// SPDX-License-Identifier: MIT
// The producers' side of a journal off the fast path: the end of a lap, a full ring, large calls, events. A thread's
// first call finds its ring in seats.cc.
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/write_signals.h"
#include "journal/live/journal.h"
#include "journal/live/wait_scope.h"
#include "journal/ring/ring_room.h"
#include "journal/ring/wipe_memory.h"
#include "model/key.h"

namespace tracker::internal {

// Said once a process: a forked child that logs records nothing (P5, P8).
void say_forked_once() {
  static std::atomic<bool> said{false};
  if (said.exchange(true)) return;
  static constexpr char kText[] =
      "tracker: this forked process records nothing, its parent records the run; run.attach() (in C trk_attach) "
      "changes that\n";
  const NoWriteSignals guard;
  if (::write(STDERR_FILENO, kText, sizeof kText - 1) < 0) return;
}

void count_late(HotRun* run, uint64_t points, uint64_t texts) {
  run->late.fetch_add(points, std::memory_order_relaxed);
  run->late_texts.fetch_add(texts, std::memory_order_relaxed);
  uint32_t reports = 1;
  if (!run->tells_late.compare_exchange_strong(reports, 0)) return;
  static constexpr char kText[] =
      "tracker: something is logged after the end of its run; it is dropped and counted (status() has the count)\n";
  const NoWriteSignals guard;
  if (::write(STDERR_FILENO, kText, sizeof kText - 1) < 0) return;
}

JournalUse::JournalUse(HotRun* run) {
  if (run->journal.load(std::memory_order_acquire) == nullptr)
    return;  // before any lock: in a forked child it may be held for ever
  const ProcessLock lock;
  journal_ = run->journal.load(std::memory_order_relaxed);
  if (journal_ != nullptr) journal_->users_.fetch_add(1, std::memory_order_relaxed);
}

JournalUse::~JournalUse() {
  if (journal_ != nullptr) journal_->users_.fetch_sub(1, std::memory_order_release);
}

Code log_pairs_slow(HotRun* run, const ValuePair* pairs, size_t count, int64_t step, bool has_step, uint64_t before) {
  const JournalUse use(run);
  if (use.get() != nullptr) return use.get()->log_pairs(pairs, count, step, has_step, before);
  if (run->alive == 0) say_forked_once();
  else count_late(run, count);
  return Code::kClosed;
}

// `body` gives kBusy where it finds no room, and is called again after each wait; what it has done stays done. The
// last call gets kLast, and counts what it cannot log. Nothing is held while it waits, the ring that threads share
// neither.
template <typename Body>
Code Journal::with_ring(const Body& body) {
  Seat* seat = nullptr;
  bool shared = false;
  {
    const ProcessLock lock;
    try {
      seat = attach_thread();
    } catch (const std::bad_alloc&) {}  // a thread without a ring, as where the journal has no room
    shared = seat != nullptr && seat == shared_seat_;
  }
  if (seat == nullptr) return closed_.load() ? Code::kClosed : Code::kLimit;
  const auto attempt = [&](RingTry which) {
    if (!shared) return body(seat, thread_pointer(), which);
    const std::lock_guard<std::mutex> guard(shared_mutex_);
    return body(seat, kSharedOwner, which);
  };
  Code code = attempt(RingTry::kFirst);
  std::chrono::nanoseconds waited{0};
  while (code == Code::kBusy) code = attempt(wait_for_space(seat, &waited) ? RingTry::kAgain : RingTry::kLast);
  return code;
}

// --- space ---------------------------------------------------------------------------------------------------------

// Takes the next ring if the drain thread has prepared one. The old one is drained and retired by its readers.
bool Journal::switch_ring(Seat* seat) {
  RingFile* next = seat->pending.exchange(nullptr, std::memory_order_acq_rel);
  if (next == nullptr) return false;
  RingFile* old = seat->current;
  seat->cost.new_ring(seat->hot->position);
  seat->wanted_bytes.store(0, std::memory_order_relaxed);
  install(seat, next);
  const std::lock_guard<std::mutex> guard(files_mutex_);
  for (const auto& held : files_)
    if (held->file.get() == old) held->abandoned.store(true, std::memory_order_release);
  return true;
}

// Sets where the fast path has to come here again: at the end of the lap, of the room for numbers, or of half the ring
// (to wake the drain thread, which then also prepares a larger ring), and now and then to be timed.
void Journal::look_ahead(Seat* seat) {
  HotRing* hot = seat->hot;
  const uint64_t size = hot->mask + 1;
  const uint64_t released = hot->header->released.load(std::memory_order_acquire);
  const uint64_t lap_end = (hot->position / size + 1) * size;
  const uint64_t used = used_of(size);
  const uint64_t limit = ring_limit(RingUse::kNumbers, released, size, used);
  uint64_t check = std::min({lap_end, limit, std::max(seat->cost.next_sample(), hot->position)});
  const uint64_t wake_mark = ring_wake_mark(released, size, used);
  if (hot->position <= wake_mark) {
    hot->woken = 0;
    check = std::min(check, wake_mark);
  } else if (hot->woken == 0) {
    hot->woken = 1;
    event_.wake();
  }
  hot->check_at.store(refusing_.load() ? 0 : check, std::memory_order_relaxed);
}

bool Journal::may_spend_burst(int64_t now) {
  if (now - progress_at_ns_.load(std::memory_order_relaxed) > std::chrono::nanoseconds(kProgressAge).count())
    return false;
  const std::lock_guard<std::mutex> guard(burst_mutex_);
  // Up to here no call waited: a wait that is under way has reckoned until its last nap.
  burst_left_ns_ =
      std::min(options_.wait_burst.count(), burst_left_ns_ + std::max<int64_t>(0, now - burst_at_ns_) / kBurstRefill);
  burst_at_ns_ = std::max(burst_at_ns_, now);
  return burst_left_ns_ > 0;
}

// Threads that wait at the same time spend it once.
void Journal::spend_burst(int64_t from, int64_t until) {
  const std::lock_guard<std::mutex> guard(burst_mutex_);
  burst_left_ns_ -= std::max<int64_t>(0, until - std::max(from, burst_at_ns_));
  burst_at_ns_ = std::max(burst_at_ns_, until);
}

// Sleeps a little for space. False when this call or all calls together have waited enough (design 2, full ring), or
// who made the call asks for no more of it.
bool Journal::wait_for_space(Seat* seat, std::chrono::nanoseconds* waited) {
  constexpr std::chrono::nanoseconds kNap{100'000};
  if (undrained_.load(std::memory_order_relaxed)) {
    try {
      prepare_rings();
    } catch (const std::bad_alloc&) {
      return false;
    }
    return seat->pending.load(std::memory_order_acquire) != nullptr;
  }
  event_.wake();
  if (options_.on_full == OnFull::kDrop || closed_.load(std::memory_order_relaxed)) return false;
  // The drain thread may be long about what this call has just named: a ring that is still missing is made here, which
  // takes less than what is left of the wait (decision 0015).
  if (*waited >= kRingAwaited) {
    try {
      if (prepare_ring_of(seat)) return true;
    } catch (const std::bad_alloc&) {}
  }
  const int64_t before = monotonic_ns();
  const bool burst = options_.on_full == OnFull::kWait && *waited < options_.wait_burst_call && may_spend_burst(before);
  if (options_.on_full == OnFull::kWait && !burst) {
    if (*waited >= options_.wait_call || wait_left_ns_.load(std::memory_order_relaxed) <= 0) return false;
  }
  if (!WaitScope::may_wait()) return false;
  const timespec nap{0, static_cast<long>(kNap.count())};
  ::nanosleep(&nap, nullptr);
  const int64_t after = monotonic_ns();
  const std::chrono::nanoseconds slept(after - before);
  const auto asked = *waited / kWaitAskInterval;
  *waited += slept;
  if (burst) {
    spend_burst(before, after);
  } else {
    wait_left_ns_.fetch_sub(slept.count(), std::memory_order_relaxed);
  }
  return *waited / kWaitAskInterval == asked || WaitScope::ask();
}

namespace {

// The position has moved by anything but a record of values.
void store_accepted_without_values(HotRing* hot) {
  hot->accepted_at = (hot->accepted_at & ~uint64_t{1}) | (hot->position >> 3 & 1);
  store_accepted(hot->header, hot->accepted_at);
}

}  // namespace

// Finds `need` bytes in the seat's ring, in the room for `use`, and lets `write(hot)` publish a record there. Without
// room: kBusy, or kLimit at the last attempt and for what waits for nothing.
template <typename Write>
Code Journal::produce(Seat* seat, uintptr_t owner, RingUse use, uint64_t need, RingTry which, const Write& write) {
  HotRing* hot = seat->hot;
  for (;;) {
    hot->busy.store(1, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (hot->owner.load(std::memory_order_relaxed) != owner) {
      hot->busy.store(0, std::memory_order_release);
      return Code::kClosed;
    }
    // A prepared ring is taken at once, full or not: this one may have been unlinked, and then no recoverer finds it.
    if (seat->pending.load(std::memory_order_relaxed) != nullptr && switch_ring(seat)) {
      hot->busy.store(0, std::memory_order_release);
      continue;
    }
    const uint64_t size = hot->mask + 1;
    const uint64_t limit = ring_limit(use, hot->header->released.load(std::memory_order_acquire), size, used_of(size));
    const uint64_t lap_left = size - (hot->position & hot->mask);
    const bool fits_lap = need <= lap_left;
    if (hot->position + (fits_lap ? need : lap_left) <= limit) {
      if (fits_lap) {
        write(hot);
      } else {
        const uint32_t head = make_head(RecordKind::kPad, 0, 0);
        const uint64_t word = record_crc_begin(hot->seed, hot->position, head) | static_cast<uint64_t>(head) << 32;
        std::memcpy(hot->data + (hot->position & hot->mask), &word, 8);
        hot->position += lap_left;
        store_accepted_without_values(hot);
        hot->header->tail.store(hot->position, std::memory_order_release);
      }
      look_ahead(seat);
      hot->busy.store(0, std::memory_order_release);
      if (fits_lap) return Code::kOk;
      continue;
    }
    hot->busy.store(0, std::memory_order_release);
    if (use == RingUse::kConsole) return Code::kLimit;
    if (which == RingTry::kFirst) hot->header->waits.fetch_add(1, std::memory_order_relaxed);
    return which == RingTry::kLast ? Code::kLimit : Code::kBusy;
  }
}

// One record. Where a sample is due, what it takes to write it is one, unless the caller times whole calls.
Code Journal::log_part(Seat* seat, uintptr_t owner, const ValuePair* pairs, size_t count, int64_t step, bool has_step,
                       uint64_t tick, uint32_t flags, uint64_t before, RingTry which) {
  const uint64_t bytes = kRecordHeadBytes + count * sizeof(ValuePair);
  return produce(seat, owner, RingUse::kNumbers, bytes, which, [&](HotRing* hot) {
    const uint64_t fast = seat->cost.charge(hot->position);
    const uint64_t begin = ticks();
    publish_pairs(hot, pairs, count, step, has_step, tick, flags);
    const uint64_t took = ticks() - begin + before;
    seat->cost.skip(bytes);
    if (seat->cost.take_due(hot->position)) {
      if (hot_->caller_samples != 0) hot->sample_wanted = 1;
      else seat->cost.sample(bytes, took);
    }
    hot_->call_ticks.fetch_add(fast, std::memory_order_relaxed);
  });
}

bool wants_sample(HotRun* run, CallSample* before) {
  HotRing* ring = ring_of(run, thread_pointer());
  if (ring == nullptr || ring->sample_wanted == 0) return false;
  ring->sample_wanted = 0;
  *before = {ring, ring->position, run->call_ticks.load(std::memory_order_relaxed)};
  return true;
}

void add_sample(HotRun* run, const CallSample& before, uint64_t ticks) {
  const HotRing* ring = ring_of(run, thread_pointer());
  if (ring == nullptr || ring != before.ring || ring->position <= before.position) return;
  if (run->call_ticks.load(std::memory_order_relaxed) != before.slow_ticks) return;
  const JournalUse use(run);
  if (use.get() != nullptr) use.get()->add_sample(ring, ring->position - before.position, ticks);
}

void Journal::add_sample(const HotRing* ring, uint64_t bytes, uint64_t ticks) {
  const ProcessLock lock;
  for (const auto& seat : seats_)
    if (seat->hot == ring) seat->cost.sample(bytes, ticks);
}

Code Journal::log_pairs(const ValuePair* pairs, size_t count, int64_t step, bool has_step, uint64_t before) {
  if (count == 0) return Code::kOk;
  if (refusing_.load(std::memory_order_relaxed)) {
    for (size_t i = 0; i < count; ++i) count_loss(pairs[i].series, LossReason::kMaxDisk, 1);
    return Code::kLimit;
  }
  const uint64_t tick = ticks();
  size_t at = 0;
  const auto count_rest = [&](const auto& count_one) {
    for (size_t i = at; i < count; ++i) count_one(pairs[i].series);
  };
  bool counted = false;
  const Code code = with_ring([&](Seat* seat, uintptr_t owner, RingTry which) {
    const bool large = count * sizeof(ValuePair) > (seat->hot->mask + 1) / 2;
    if (large && which == RingTry::kFirst) {
      seat->wanted_bytes.store(count * sizeof(ValuePair), std::memory_order_relaxed);
      event_.wake();
    }
    while (at < count) {
      // At most a quarter of the ring at once; parts share step and tick, which is their call number.
      const uint64_t quarter = used_of(seat->hot->mask + 1) / 4;
      const size_t part = std::min<size_t>({count - at, (quarter - kRecordHeadBytes) / sizeof(ValuePair), kPairsAPart});
      const uint32_t flags = at + part < count ? kHeadContinues : 0;
      const Code written = log_part(seat, owner, pairs + at, part, step, has_step, tick, flags, before, which);
      if (written == Code::kLimit) {
        counted = true;
        count_rest([&](uint32_t series) { count_no_room(seat, series); });
      }
      if (written != Code::kOk) return written;
      if (is_unfiled(*seat->current)) count_unfiled(part);
      at += part;
    }
    if (large) seat->wanted_bytes.store(0, std::memory_order_relaxed);
    return Code::kOk;
  });
  // What the run's end has cut, or a thread without a ring could not log, is counted like what found no room.
  if (code == Code::kClosed) hot_->late.fetch_add(count - at, std::memory_order_relaxed);
  if (code == Code::kLimit && !counted)
    count_rest([this](uint32_t series) { count_loss(series, LossReason::kRingFull, 1); });
  hot_->call_ticks.fetch_add(ticks() - tick + before, std::memory_order_relaxed);
  return code;
}

Code Journal::log_event(EventType type, std::string_view payload, int64_t step, bool has_step) {
  const uint64_t padded = (payload.size() + 7) / 8 * 8;
  const uint64_t need = kRecordHeadBytes + 8 + padded;
  const uint64_t tick = ticks();
  const bool with_texts = type == EventType::kText || type == EventType::kMedia;
  const RingUse use = with_texts                    ? RingUse::kTexts
                      : type == EventType::kConsole ? RingUse::kConsole
                                                    : RingUse::kEntries;
  const bool is_text = type == EventType::kText;
  const uint32_t lost_as = is_text ? kTextLosses : kEntryLosses;
  // By who logs them: lines and media.
  bool counted = use == RingUse::kConsole || type == EventType::kMedia;
  const Code code = with_ring([&](Seat* seat, uintptr_t owner, RingTry which) {
    if (need > ring_event_max(used_of(seat->hot->mask + 1))) return Code::kUnsupported;
    const Code written = produce(seat, owner, use, need, which, [&](HotRing* hot) {
      char* at = hot->data + (hot->position & hot->mask);
      const uint32_t head = make_head(RecordKind::kEvent, 0, has_step ? kHeadHasStep : 0);
      uint32_t crc = write_record_words(at, record_crc_begin(hot->seed, hot->position, head), step, tick);
      const uint64_t word = static_cast<uint64_t>(type) | payload.size() << 32;
      std::memcpy(at + kRecordHeadBytes, &word, 8);
      std::memset(at + need - std::min<uint64_t>(8, need), 0, padded == 0 ? 0 : 8);
      std::memcpy(at + kRecordHeadBytes + 8, payload.data(), payload.size());
      for (uint64_t i = kRecordHeadBytes; i < need; i += 8) {
        uint64_t w;
        std::memcpy(&w, at + i, 8);
        crc = crc32c_word(crc, w);
      }
      const uint64_t word0 = crc | static_cast<uint64_t>(head) << 32;
      std::memcpy(at, &word0, 8);
      hot->position += need;
      store_accepted_without_values(hot);
      if (has_step && is_text && step > hot->step_max.load(std::memory_order_relaxed))
        hot->step_max.store(step, std::memory_order_relaxed);
      hot->header->tail.store(hot->position, std::memory_order_release);
      // After it: a process that dies in between leaves a text that is not counted, which recovery reads, and no
      // missing one.
      if (is_text) hot->header->texts.fetch_add(1, std::memory_order_release);
      seat->cost.skip(need);
    });
    if (written == Code::kLimit && !std::exchange(counted, true)) count_no_room(seat, lost_as);
    return written;
  });
  if (code == Code::kLimit && !counted) count_loss(lost_as, LossReason::kRingFull, 1);
  if (code == Code::kClosed && is_text) hot_->late_texts.fetch_add(1, std::memory_order_relaxed);
  hot_->call_ticks.fetch_add(ticks() - tick, std::memory_order_relaxed);
  return code;
}

void Journal::raise_step(int64_t step) {
  (void)with_ring([&](Seat* seat, uintptr_t, RingTry) {
    if (step > seat->hot->step_max.load(std::memory_order_relaxed))
      seat->hot->step_max.store(step, std::memory_order_relaxed);
    return Code::kOk;
  });
}

uint32_t Journal::series_id(std::string_view name, ValueType type) {
  const std::lock_guard<std::mutex> guard(defs_mutex_);
  if (const uint32_t known = series_.find(name, type); known != 0) return known;
  if (series_.size() >= kSeriesMax || name.size() > kKeyBytesMax) return 0;
  series_.make_room(name);
  // Before the id is used: rings can be recovered with nothing else. A full tmpfs refuses the series, not the run; and
  // names may take no more of it than rings and spill file together, for others live there too.
  const uint64_t room = std::max(place_.budget_bytes, kJournalBytesMin);
  if (defs_file_ && !append_def({series_.size() + 1, type, std::string(name)}, room).ok()) return 0;
  return series_.add(name, type);
}

// Under defs_mutex_. A file whose descriptor others have closed is made again here: until the drain thread does, points
// of new metrics would be lost.
Status Journal::append_def(const SeriesDef& series, uint64_t room) {
  Status status = defs_file_->append(series, room);
  if (status.ok() || status.code() == Code::kLimit || defs_file_->still_linked()) return status;
  status = make_defs_anew(std::move(status));
  return status.ok() ? defs_file_->append(series, room) : status;
}

Status Journal::set_run(const WriterIdentity& identity) {
  const std::lock_guard<std::mutex> guard(defs_mutex_);
  identity_.run = identity.run;
  identity_.run_dir = identity.run_dir;
  identity_.attempt = identity.attempt;
  identity_.store = identity.store;
  return defs_file_ ? make_defs_anew(Status(Code::kIo, "the journal cannot be given its run")) : Status();
}

// Under defs_mutex_. `why`: the error where that cannot even start.
Status Journal::make_defs_anew(Status why) {
  const std::string made_in = join_path(place_.root, ".new-" + identity_.writer.hex());
  if (::mkdir(made_in.c_str(), 0700) != 0 && errno != EEXIST) return why;
  Status status = replace_defs(made_in);
  ::rmdir(made_in.c_str());
  return status;
}

}  // namespace tracker::internal
