// SPDX-License-Identifier: MIT
// Ingest's second half: moves units from ingest.db into the files of their runs.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

#include "base/clock.h"
#include "codec/frame.h"
#include "server/ingest_writer.h"
#include "storage/writer/append_log.h"
#include "storage/writer/store_files.h"
#include "storage/writer/writer_reader.h"

namespace tracker::internal {
namespace {

// Limit: ms that a reader waits for the frames of a run that the server still has to store. Beyond it: the reader gets
// what is stored.
constexpr std::chrono::milliseconds kStoreWaitingMs{10'000};
constexpr int kFinishMs = 500;

bool has_end(const WaitingUnit& unit) {
  if (unit.kind == BatchUnitKind::kSegment) return true;  // its content is not needed until the writer is idle
  const auto frame = FrameView::parse(unit.bytes, false);
  return frame.ok() && std::any_of(frame->events().begin(), frame->events().end(),
                                   [](const Event& event) { return event.type == EventType::kEnd; });
}

bool is_bad_unit(const Status& status) {
  return status.code() == Code::kCorrupt || status.code() == Code::kVersion || status.code() == Code::kInvalid;
}

Status append_units(WriterStore* store, const std::vector<WaitingUnit>& units) {
  std::vector<FrameRecord> frames(units.size());
  std::vector<LogUnit> log;
  for (size_t i = 0; i < units.size(); ++i) {
    if (units[i].kind == BatchUnitKind::kFrame) {
      frames[i] = {units[i].first, units[i].bytes, {}};
      log.push_back({&frames[i], {}});
    } else {
      log.push_back({nullptr, units[i].bytes});
    }
  }
  return append_log(store, log, true).status();  // known numbers were compared when they arrived
}

}  // namespace

void Ingest::apply_loop() {
  int64_t swept_ns = monotonic_ns();
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const auto ready = std::find_if(queue_.begin(), queue_.end(), [now = monotonic_ns()](const WriterPtr& each) {
      return !each->applying && each->retry_ns <= now;
    });
    if (ready == queue_.end()) {
      work_.wait_for(lock, std::chrono::seconds(1));
    } else {
      const WriterPtr writer = *ready;
      queue_.erase(ready);
      writer->applying = true;
      lock.unlock();
      apply(writer);
      lock.lock();
    }
    if (monotonic_ns() - swept_ns < kApplyRetryNs) continue;
    swept_ns = monotonic_ns();
    lock.unlock();
    close_idle();
    lock.lock();
  }
}

void Ingest::apply(const WriterPtr& writer) {
  {
    const std::lock_guard lock(mutex_);
    writer->is_due = false;
  }
  const Status status = apply_units(writer.get());
  if (!status.ok()) drop_store(writer.get());
  const std::lock_guard lock(mutex_);
  writer->used_ns = monotonic_ns();
  if (!status.ok()) {
    writer->retry_ns = writer->used_ns + kApplyRetryNs;
    writer->is_due = true;
    if (!writer->has_failed)
      std::fprintf(stderr, "tracker: run %s cannot be stored now: %s; what was received waits in %s\n",
                   writer->run.hex().c_str(), status.to_string().c_str(), kIngestFile);
  }
  writer->has_failed = !status.ok();
  release(writer);
}

void Ingest::release(const WriterPtr& writer) {
  writer->applying = false;
  if (writer->is_due) queue_.push_back(writer);
  applied_.notify_all();
  if (writer->is_due) work_.notify_one();
}

void Ingest::drop_store(Writer* writer) {
  if (writer->store == nullptr) return;
  writer->store.reset();
  const std::lock_guard lock(mutex_);
  --open_stores_;
}

Status Ingest::open_store(Writer* writer) {
  if (writer->store != nullptr) return {};
  auto store = open_writer_store(writer->run_path, writer->identity, StoreFiles::kSqlite);
  if (!store.ok()) return store.status();
  (*store)->keep_heartbeat();  // the sign of life is the client's
  writer->store = std::move(*store);
  const std::lock_guard lock(mutex_);
  ++open_stores_;
  return {};
}

Status Ingest::apply_units(Writer* writer) {
  for (bool opened_again = false;;) {
    Result<std::vector<WaitingUnit>> units = [&] {
      const std::lock_guard lock(read_mutex_);
      return reading_.units(writer->row, writer->applied_id, kApplyBytesMax);
    }();
    if (!units.ok()) return units.status();
    if (!units->empty()) {
      TRACKER_RETURN_IF_ERROR(open_store(writer));
      const uint64_t held = writer->store->last_seq();
      if (writer->stored_seq.value_or(units->front().after) > held) return start_again(writer, held);
      const Status status = append(writer, *units);
      const bool is_changed = !status.ok() && writer->store->change() != PartChange::kNone;
      if (!is_changed || std::exchange(opened_again, true)) TRACKER_RETURN_IF_ERROR(status);
      if (!status.ok()) {
        drop_store(writer);  // the content of the file is determined when it is opened again
        continue;
      }
    }
    int64_t beat_us = 0;
    {
      const std::lock_guard lock(mutex_);
      beat_us = writer->heartbeat_us;
    }
    if (beat_us != writer->stored_beat_us) {
      TRACKER_RETURN_IF_ERROR(open_store(writer));
      TRACKER_RETURN_IF_ERROR(writer->store->heartbeat(beat_us));
      writer->stored_beat_us = beat_us;
    }
    if (units->empty()) break;
  }
  if (writer->store == nullptr) return {};
  if (writer->store->compaction_due(writer->store->durable_seq()))
    (void)writer->store->compact(writer->store->durable_seq());
  close_if_ended(writer);
  return {};
}

// Stores them and deletes them from ingest.db; damaged units go into quarantine.
Status Ingest::append(Writer* writer, const std::vector<WaitingUnit>& units) {
  Job job;
  job.writer = writer;
  Status status = append_units(writer->store.get(), units);
  if (is_bad_unit(status)) {
    status = {};
    for (const WaitingUnit& unit : units) {
      const Status one = append_units(writer->store.get(), {unit});
      if (one.ok()) continue;
      if (!is_bad_unit(one) || writer->store->change() != PartChange::kNone) {
        status = one;  // an error of the files: all units are tried again
        break;
      }
      std::fprintf(stderr, "tracker: run %s: a unit is kept aside: %s\n", writer->run.hex().c_str(),
                   one.to_string().c_str());
      job.quarantine.push_back({unit.kind, 0, unit.first, unit.last, 0, unit.bytes});
    }
  }
  if (!status.ok()) return status;
  writer->stored_seq = writer->store->last_seq();
  uint64_t bytes = 0;
  for (const WaitingUnit& unit : units) {
    bytes += unit.bytes.size();
    writer->may_have_ended = writer->may_have_ended || has_end(unit);
  }
  job.erase_up_to = units.back().id;
  TRACKER_RETURN_IF_ERROR(commit(&job));
  writer->applied_id = units.back().id;
  const std::lock_guard lock(mutex_);
  writer->waiting_bytes -= std::min(writer->waiting_bytes, bytes);
  waiting_bytes_ -= std::min(waiting_bytes_, bytes);
  return {};
}

// The files of a writer whose end has arrived become plain ones.
void Ingest::close_if_ended(Writer* writer) {
  if (!writer->may_have_ended) return;
  {
    const std::lock_guard lock(mutex_);
    if (writer->is_due) return;
  }
  writer->may_have_ended = false;
  const auto reader = WriterReader::open(writer->store->path());
  if (!reader.ok()) return;
  const auto snapshot = (*reader)->snapshot();
  if (!snapshot.ok() || !snapshot->end) return;
  (void)writer->store->finish(kFinishMs);
  drop_store(writer);
}

void Ingest::close_idle() {
  std::vector<WriterPtr> idle;
  {
    const std::lock_guard lock(mutex_);
    std::vector<WriterPtr> open;
    for (const auto& [key, writer] : writers_)
      if (!writer->applying && !writer->is_due && writer->store != nullptr) open.push_back(writer);
    std::sort(open.begin(), open.end(), [](const auto& a, const auto& b) { return a->used_ns < b->used_ns; });
    const int64_t idle_ns = monotonic_ns() - kIdleNs;
    for (const WriterPtr& writer : open) {
      const bool too_many = open_stores_ - idle.size() > open_max_;
      if (writer->used_ns > idle_ns && !too_many) break;
      writer->applying = true;
      idle.push_back(writer);
    }
  }
  for (const WriterPtr& writer : idle) {
    (void)writer->store->finish(kFinishMs);
    drop_store(writer.get());
    const std::lock_guard lock(mutex_);
    release(writer);
  }
}

void Ingest::store_waiting(const Id128& uid) {
  const auto end = std::chrono::steady_clock::now() + kStoreWaitingMs;
  std::unique_lock lock(mutex_);
  for (;;) {
    WriterPtr due, applying;
    for (auto at = writers_.lower_bound({uid, Id128{}}); at != writers_.end() && at->first.first == uid; ++at) {
      if (at->second->applying) applying = at->second;
      else if (at->second->is_due && at->second->retry_ns <= monotonic_ns()) due = at->second;
    }
    if (due != nullptr) {
      std::erase(queue_, due);
      due->applying = true;
      lock.unlock();
      apply(due);
      lock.lock();
    } else if (applying == nullptr || applied_.wait_until(lock, end) == std::cv_status::timeout) {
      return;
    }
    if (std::chrono::steady_clock::now() >= end) return;
  }
}

}  // namespace tracker::internal
